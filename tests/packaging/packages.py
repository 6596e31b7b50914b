#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""packages.py SOURCE: the packagings agree with the build files in version, dependencies, options and
symbols. packaging/dependencies.txt has the packages' names. TAP."""
import glob
import re
import sys

try:
    import yaml
except ImportError:
    yaml = None

TOP = sys.argv[1]
COLUMNS = ["meson", "option", "debian", "rpm", "spack", "conda"]
# What each packaging has beyond the table.
TOOLS = {"debian": {"debhelper-compat", "dh-python", "meson", "pkg-config"},
         "rpm": {"gcc", "gcc-c++", "meson", "ninja-build"},
         "spack": {"c", "meson", "pkgconfig"},
         "conda": {"compiler(c)", "compiler(cxx)", "stdlib(c)", "meson", "ninja", "pkg-config"}}
# Debian's essential packages for compiling, and those that packages/build.txt names beside.
ESSENTIAL = {"binutils", "g++", "gcc", "libc6-dev", "make", "ninja-build", "python3"}


def text(path):
    with open(f"{TOP}/{path}", encoding="utf-8") as file:
        return file.read()


def build_files():
    """The build files of what is installed."""
    for folder in ["src", "bindings", "docs", "python"]:
        for path in glob.glob(f"{TOP}/{folder}/**/meson.build", recursive=True):
            with open(path, encoding="utf-8") as file:
                yield file.read()


def used():
    """What the build files look for, with the least version."""
    found = {}
    for content in build_files():
        for name, rest in re.findall(r"\bdependency\('([\w.]+)'([^)\n]*)", content):
            version = re.search(r"version: '>=([\d.]+)'", rest)
            found[name] = version.group(1) if version else found.get(name)
        found.update((name, None) for name in re.findall(r"find_library\('(\w+)'", content))
        found.update((name, None) for name in re.findall(r"find_program\('(clang|bpftool|gfortran)'", content))
        if "find_installation(" in content:
            found["python"] = None
    for name in ["threads", "dl", "m"]: # of libc
        found.pop(name, None)
    return found


def table():
    lines = [line.split() for line in text("packaging/dependencies.txt").splitlines() if not line.startswith("#")]
    assert all(len(line) == len(COLUMNS) for line in lines), lines
    return [dict(zip(COLUMNS, line)) for line in lines]


def expected(packaging):
    """Names of the packages that a packaging needs, with the least version."""
    versions = used()
    names = {row[packaging]: versions[row["meson"]] for row in table() if row[packaging] != "-"}
    names.update((name, None) for name in TOOLS[packaging])
    names["meson"] = re.search(r"meson_version: '>=([\d.]+)'", text("meson.build")).group(1)
    return names


def short(version):
    """1.0.0 and 1.0 are one version, and so is Debian's with its epoch."""
    return re.sub(r"(\.0)+$", "", re.sub(r"^\d+:", "", version)) if version else None


def same(found, packaging, without=()):
    """What a packaging lists is what it needs; `without`: names whose versions are of no library."""
    want = {name: short(version) for name, version in expected(packaging).items()}
    have = {name: None if name in without else short(version) for name, version in found.items()}
    assert have == want, f"{packaging}: {set(have.items()) ^ set(want.items())}"


def debian_build_depends():
    field = re.search(r"^Build-Depends: (.*(?:\n .*)*)", text("debian/control"), re.M).group(1)
    items = re.findall(r"([\w.+-]+)(?: \(>?= ([\w.:]+)\))?(?: \[[^]]*\])?", field)
    return {name: version or None for name, version in items}


def features():
    return set(re.findall(r"option\('(\w+)', type: 'feature'", text("meson_options.txt")))


def test_table():
    assert {row["meson"] for row in table()} == set(used()), {row["meson"] for row in table()} ^ set(used())
    assert {row["option"] for row in table()} - {"-"} == features()


def test_version():
    version = re.search(r"version: '([\d.]+)'", text("meson.build")).group(1)
    places = {"debian/changelog": r"auger \(([^)]*)\)",
              "packaging/auger.spec": r"^Version: +(\S+)",
              "packaging/spack/package.py": r'version\("([^"]*)"',
              "packaging/conda/meta.yaml": r'set version = "([^"]*)"'}
    for path, pattern in places.items():
        found = re.search(pattern, text(path), re.M).group(1)
        assert found == version, f"{path}: {found}, not {version}"


def test_debian():
    same(debian_build_depends(), "debian", {"debhelper-compat"})
    listed = set(text("packages/build.txt").split())
    assert listed == (set(debian_build_depends()) | ESSENTIAL) - {"debhelper-compat", "dh-python"}, listed


def test_rpm():
    items = re.findall(r"^BuildRequires: +(\S+)(?: >= (\S+))?", text("packaging/auger.spec"), re.M)
    same({name: version or None for name, version in items}, "rpm")


def test_spack():
    items = re.findall(r'depends_on\("([a-z0-9-]+)(?:\+\w+)?(?:@([\d.]+):)?"', text("packaging/spack/package.py"))
    same(dict(sorted((name, version or None) for name, version in items)), "spack", {"python"})
    variants = set(re.findall(r'variant\("(\w+)"', text("packaging/spack/package.py")))
    assert variants == features(), variants ^ features()
    for row in table():
        if row["option"] != "-" and row["spack"] != "-":
            pattern = rf'depends_on\("{row["spack"]}\b.*when="\+{row["option"]}"'
            assert re.search(pattern, text("packaging/spack/package.py")), pattern


def test_conda():
    lists = re.search(r"requirements:\n(.*?)\n  run:", text("packaging/conda/meta.yaml"), re.S).group(1)
    items = re.findall(r"^    - (?:{{ (.*?) }}|([\w-]+))(?: >=(\S+))?", lists, re.M)
    same({name or call.replace('"', ""): version or None for call, name, version in items}, "conda")


def test_options():
    """A packaging says of each feature whether it has it: none is there or absent by chance."""
    for path, packaging in [("debian/rules", "debian"), ("packaging/auger.spec", "rpm"),
                            ("packaging/conda/build.sh", "conda")]:
        said = dict(re.findall(r"-D(\w+)=(enabled|disabled)", text(path)))
        assert set(said) == features(), f"{path}: {set(said) ^ features()}"
        for row in table():
            if row["option"] != "-" and row[packaging] == "-":
                assert said[row["option"]] == "disabled", f"{path}: {row['option']}"


def test_symbols():
    exports = set(re.findall(r"^libauger\.so\.0 (\w+)@@(\S+)$", text("tools/exports.txt"), re.M))
    found = set(re.findall(r"^ ([\w.]+)@(\S+) ", text("debian/libauger0.symbols"), re.M))
    nodes = {(node, node) for _, node in exports}
    assert found == exports | nodes, found ^ exports ^ nodes


def test_ci():
    """The workflows of both forges call the same targets, which exist."""
    targets = set(re.findall(r"^([\w-]+):", text("Makefile"), re.M)) | {""}
    called = [set(re.findall(r"^ +- (?:run: )?(?:\w+=\S+ )?make ?([\w-]*)$", text(path), re.M))
              for path in [".github/workflows/ci.yml", ".gitlab-ci.yml"]]
    assert called[0] == called[1] and {"check", "lint"} <= called[0], called
    assert called[0] <= targets, called[0] - targets
    for path in [".github/workflows/ci.yml", ".gitlab-ci.yml"] if yaml else []:
        assert yaml.safe_load(text(path)), path


def main():
    bad = 0
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {name}")
        except (AssertionError, AttributeError, OSError) as error:
            bad = 1
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            print(f"not ok {number} - {name}")
    print(f"1..{len(tests)}")
    return bad


sys.exit(main())

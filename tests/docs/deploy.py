#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""deploy.py AUGER SOURCE: the examples for administrators (docs/deploy.md, SECURITY.md, examples/slurm) have no
error of syntax, and name commands, options and files that exist. TAP."""
import glob
import json
import os
import re
import subprocess
import sys

try:
    import yaml
except ImportError:
    yaml = None

AUGER, TOP = sys.argv[1:3]
EXAMPLES = sorted(glob.glob(f"{TOP}/examples/slurm/*.sbatch"))


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def blocks(language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", text(f"{TOP}/docs/deploy.md"), re.M | re.S)
    assert found, language
    return found


def scripts():
    return blocks("sh") + [text(path) for path in EXAMPLES]


def complete(*words):
    done = subprocess.run([AUGER, *words, "--complete"], check=True, text=True, stdout=subprocess.PIPE)
    return done.stdout.splitlines()


def calls(script):
    """The words of each call of auger, up to the program that it runs."""
    script = re.sub(r"\\\n\s*", " ", script)
    script = re.sub(r"^\s*#(?!SBATCH).*$", "", script, flags=re.M)
    for found in re.findall(r'(?:\bauger|/bin/auger") ([a-z][^\n;|>)\']*)', script):
        yield re.split(r" -- | --$", found)[0].split()


def unknown(words):
    """The options of a call that the program does not have."""
    table = complete(words[0])
    if len(words) > 1 and words[1] in [line.split("\t")[0] for line in table if not line.startswith("-")]:
        table = complete(*words[:2])
    names = {name.split("=")[0] for line in table for name in line.split() if name.startswith("-")}
    return [word for word in words[1:] if re.match(r"--?[a-z]", word) and word.split("=")[0] not in names]


def test_shell():
    inside = re.findall(r"sh -c '([^']*)'", "\n".join(scripts()))
    assert inside
    for script in scripts() + inside:
        done = subprocess.run(["sh", "-n"], input=script, text=True, check=False, stderr=subprocess.PIPE)
        assert done.returncode == 0, f"{done.stderr}{script}"


def test_options():
    commands = {line.split("\t")[0] for line in complete()}
    count = 0
    for script in scripts() + [" ".join(json.dumps(part) for part in blocks("yaml"))]:
        for words in calls(script.replace("\\n", "\n")):
            assert words[0] in commands, words
            assert not unknown(words), (words, unknown(words))
            count += 1
    assert count > 15, count


def test_yaml():
    if not yaml:
        return "yaml for Python is not here"
    for block in blocks("yaml"):
        pod = yaml.safe_load(block)["spec"]["template"]["spec"]
        mounts = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
        assert mounts == {volume["name"] for volume in pod["volumes"]}, mounts
        script = pod["containers"][0]["args"][0]
        subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    return None


def test_modules():
    """Both module files set the same paths, which the installed package has."""
    lua, tcl = blocks("lua")[0], blocks("tcl")[0]
    in_lua = re.findall(r'^prepend_path\("(\w+)", pathJoin\(root, "([^"]*)"\)\)$', lua, re.M)
    in_tcl = re.findall(r"^prepend-path (\w+) \$root/(\S+)$", tcl, re.M)
    assert in_lua == in_tcl and len(in_lua) == 4, (in_lua, in_tcl)
    version = re.search(r"version: '([\d.]+)'", text(f"{TOP}/meson.build")).group(1)
    named = set(re.findall(r"auger[-/:](\d+\.\d+\.\d+)", text(f"{TOP}/docs/deploy.md")))
    assert named == {version}, named


def test_paths():
    """Sources and documents that the pages name exist."""
    for page in ["docs/deploy.md", "SECURITY.md"]:
        named = re.findall(r"`((?:src|docs|debian|packaging|examples|data)/[\w./-]+)`", text(f"{TOP}/{page}"))
        named += [os.path.join(os.path.dirname(page), path)
                  for path in re.findall(r"\]\(([\w./-]+)\)", text(f"{TOP}/{page}"))]
        assert named, page
        for path in named:
            assert os.path.exists(f"{TOP}/{path}"), f"{page}: {path}"


def main():
    bad = 0
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for number, (name, test) in enumerate(tests, 1):
        try:
            skipped = test()
            print(f"ok {number} - {name}{' # SKIP ' + skipped if skipped else ''}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            bad = 1
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            print(f"not ok {number} - {name}", flush=True)
    print(f"1..{len(tests)}")
    return bad


sys.exit(main())

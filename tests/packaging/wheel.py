#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""wheel.py SOURCE: what the backend of "pip install ." makes of an installation, here of a few files. TAP."""
import base64
import csv
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile

TOP = os.path.realpath(sys.argv[1])
sys.dont_write_bytecode = True
sys.path.insert(0, f"{TOP}/packaging/pip")
import auger_wheel # pylint: disable=wrong-import-position

STAGED = {"bin/auger": 0o755, "lib/libauger.so.0": 0o755, "lib/libauger.a": 0o644, "lib/auger/libauger-heap.so": 0o755,
          "include/auger/stage.h": 0o644, "python-package/auger/__init__.py": 0o644, "share/man/man1/auger.1": 0o644}


def stage(folder):
    for path, mode in STAGED.items():
        os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
        with open(f"{folder}/{path}", "w", encoding="utf-8") as file:
            file.write(path)
        os.chmod(f"{folder}/{path}", mode)


def test_wheel():
    version = auger_wheel.version()
    auger_wheel.stage = stage
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/facts")
        assert auger_wheel.prepare_metadata_for_build_wheel(f"{folder}/facts") == f"auger-{version}.dist-info"
        facts = {}
        for file in ("METADATA", "WHEEL"):
            with open(f"{folder}/facts/auger-{version}.dist-info/{file}", "rb") as text:
                facts[file] = text.read()
        name = auger_wheel.build_wheel(folder)
        assert name.startswith(f"auger-{version}-cp39-abi3-linux_"), name
        with zipfile.ZipFile(f"{folder}/{name}") as wheel:
            content = {info.filename: (wheel.read(info), info.external_attr >> 16 & 0o777) for info in wheel.infolist()}
    data, info = f"auger-{version}.data", f"auger-{version}.dist-info"
    assert set(content) == {
        f"{data}/scripts/auger", "auger/lib/libauger.so.0", f"{data}/data/lib/auger/libauger-heap.so", "auger/__init__.py",
        f"{data}/data/share/man/man1/auger.1", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/LICENSE", f"{info}/RECORD"}
    assert {file: content[f"{info}/{file}"][0] for file in facts} == facts
    assert content[f"{data}/scripts/auger"] == (b"bin/auger", 0o755)
    assert content["auger/__init__.py"][1] == 0o644
    rows = list(csv.reader(content[f"{info}/RECORD"][0].decode().splitlines()))
    assert {row[0] for row in rows} == set(content)
    for path, digest, size in rows:
        if path != f"{info}/RECORD":
            found = base64.urlsafe_b64encode(hashlib.sha256(content[path][0]).digest()).decode().rstrip("=")
            assert (digest, int(size)) == (f"sha256={found}", len(content[path][0])), path


def test_sources():
    if subprocess.run(["git", "rev-parse", "--git-dir"], check=False, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode != 0:
        return "no git folder"
    with tempfile.TemporaryDirectory() as folder:
        name = auger_wheel.build_sdist(folder)
        with tarfile.open(f"{folder}/{name}") as tar:
            names = set(tar.getnames())
    base = name[:-len(".tar.gz")]
    assert {f"{base}/PKG-INFO", f"{base}/pyproject.toml", f"{base}/meson.build", f"{base}/src/cli/main.c"} <= names
    return None


def main():
    os.chdir(TOP)
    bad = 0
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for number, (name, test) in enumerate(tests, 1):
        try:
            skipped = test()
            print(f"ok {number} - {name}{' # SKIP ' + skipped if skipped else ''}")
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            bad = 1
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            print(f"not ok {number} - {name}")
    print(f"1..{len(tests)}")
    return bad


sys.exit(main())

# SPDX-License-Identifier: MIT
"""Builds a wheel by Meson (PEP 517). It has no requirements of its own.

The wheel holds the package with libauger beside it, and in the environment's folders the program,
the libraries it preloads, man pages and completion. It is for the machine that builds it: the
program needs the libraries it was linked with.
"""

import base64
import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

BUILD = "build-wheel"
PYTHON_DIR = "python-package"  # below the prefix of the staged installation
EPOCH = (1980, 1, 1, 0, 0, 0)


def version():
    with open("meson.build", encoding="utf-8") as file:
        return re.search(r"version: '([\d.]+)'", file.read()).group(1)


def metadata():
    return (f"Metadata-Version: 2.1\nName: auger\nVersion: {version()}\n"
            "Summary: Profiler for programs, machines and batch jobs\nLicense: MIT\nRequires-Python: >=3.9\n")


def wheel_facts():
    """The file WHEEL."""
    return f"Wheel-Version: 1.0\nGenerator: auger\nRoot-Is-Purelib: false\nTag: {tag()}\n"


def tag():
    """One extension for the stable ABI of 3.9 and later."""
    return "cp39-abi3-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def run(*command, **environment):
    """Output goes where pip shows it."""
    subprocess.run(command, check=True, env={**os.environ, **environment})


def stage(folder):
    """Installs into folder."""
    if not os.path.exists(f"{BUILD}/build.ninja"):
        run("meson", "setup", BUILD, "--prefix", "/", "--libdir", "lib", "-Dpython=enabled", "-Dfortran=disabled",
            f"-Dpython_program={sys.executable}", f"-Dpython_dir=/{PYTHON_DIR}", "-Dpython_libauger=$ORIGIN/lib")
    run("ninja", "-C", BUILD)
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", folder)


def place(path, data):
    """Where a staged file is in the wheel; None: nowhere, as what compiling needs."""
    if path.startswith(f"{PYTHON_DIR}/"):
        return path[len(PYTHON_DIR) + 1:]
    if path == "lib/libauger.so.0":
        return "auger/lib/libauger.so.0"
    if path.startswith("bin/"):
        return f"{data}/scripts/{path[4:]}"
    if path.startswith(("lib/auger/", "share/man/", "share/fish/", "share/zsh/", "share/bash-completion/")):
        return f"{data}/data/{path}"
    return None


def staged_files(folder, data):
    """(name in the wheel, bytes, mode), in an order that is always the same."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(parent, name)
            where = place(os.path.relpath(path, folder), data)
            if where:
                with open(path, "rb") as file:
                    yield where, file.read(), os.stat(path).st_mode & 0o777


def write(wheel, records, name, content, mode=0o644):
    info = zipfile.ZipInfo(name, EPOCH)
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(info, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    records.append((name, f"sha256={digest}", len(content)))


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """PEP 517. Without it, pip builds all to learn the name, and calls that preparing."""
    del config_settings
    info = f"auger-{version()}.dist-info"
    os.mkdir(os.path.join(metadata_directory, info))
    for name, facts in (("METADATA", metadata()), ("WHEEL", wheel_facts())):
        with open(os.path.join(metadata_directory, info, name), "w", encoding="utf-8") as file:
            file.write(facts)
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517. The name of the wheel."""
    del config_settings, metadata_directory
    base = f"auger-{version()}"
    name = f"{base}-{tag()}.whl"
    records = []
    folder = tempfile.mkdtemp()
    try:
        stage(folder)
        with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
            for file in staged_files(folder, f"{base}.data"):
                write(wheel, records, *file)
            info = f"{base}.dist-info"
            write(wheel, records, f"{info}/METADATA", metadata().encode())
            write(wheel, records, f"{info}/WHEEL", wheel_facts().encode())
            with open("LICENSE", "rb") as file:
                write(wheel, records, f"{info}/LICENSE", file.read())
            table = io.StringIO()
            csv.writer(table, lineterminator="\n").writerows(records + [(f"{info}/RECORD", "", "")])
            write(wheel, [], f"{info}/RECORD", table.getvalue().encode())
    finally:
        shutil.rmtree(folder)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517. The files that git knows."""
    del config_settings
    base = f"auger-{version()}"
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(os.path.join(sdist_directory, f"{base}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(name.decode() for name in listed.split(b"\0") if name):
            tar.add(path, f"{base}/{path}", recursive=False)
        info = tarfile.TarInfo(f"{base}/PKG-INFO")
        info.size = len(metadata().encode())
        tar.addfile(info, io.BytesIO(metadata().encode()))
    return f"{base}.tar.gz"

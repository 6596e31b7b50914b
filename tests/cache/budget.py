#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""budget.py AUGER: eviction and reset free what is unused, and keep what a process uses."""
import os
import subprocess
import sys
import time

from views import main, run

MIB = 1 << 20
FOLDERS = 4000  # with a file in each: 2.8 MiB
PATIENCE_S = 20

IN_PLACE = """
import os, subprocess, sys
os.chdir(sys.argv[1])
for line in sys.stdin:
    print(os.getcwd(), os.path.samefile(".", sys.argv[1]), flush=True)
"""

# Mounts over a file and over a folder, in a mount namespace of its own.
COVERED = """
set -e
mount --bind "$0/other" "$1/0/file"
mount --bind "$0" "$1/1"
echo on
while read x; do cat "$1/0/file" "$1/1/other" | tr '\\n' ' '; echo; done
"""


def fill(bench):
    for folder in range(FOLDERS):
        os.mkdir(f"{bench.target}/{folder}")
        os.close(os.open(f"{bench.target}/{folder}/file", os.O_WRONLY | os.O_CREAT, 0o644))


def look_at_all(view):
    for folder in range(FOLDERS):
        assert os.stat(f"{view}/{folder}/file").st_size == 0


def used(view):
    row = run("stats", view).stdout.splitlines()[-1].split("|")
    return int(row[3])


def can_tell_used():
    """Is it root's view, on a kernel that can expire entries?"""
    return os.geteuid() == 0 and tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (6, 2)


def forget(bench):
    """By other paths that take the budget, and by a reset."""
    look_at_all(bench.view)
    yield
    assert run("reset", bench.view).returncode == 0
    yield


def test_paths(bench):
    """Unused files and folders are evicted, also those that the kernel knows."""
    if not can_tell_used():
        return
    fill(bench)
    bench.mount("--budget", "1M")
    for _ in range(3):
        look_at_all(bench.view)
        until = time.monotonic() + PATIENCE_S
        while used(bench.view) > MIB and time.monotonic() < until:
            time.sleep(0.01)
        assert used(bench.view) <= MIB, used(bench.view)


def test_place(bench):
    """A process keeps its working directory."""
    if not can_tell_used():
        return
    fill(bench)
    bench.mount("--budget", "1M")
    place = f"{bench.view}/7"
    with subprocess.Popen([sys.executable, "-c", IN_PLACE, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as inside:
        for _ in forget(bench):
            inside.stdin.write("\n")
            inside.stdin.flush()
            assert inside.stdout.readline() == f"{place} True\n"
        inside.stdin.close()


def test_mounted_on(bench):
    """A mount over a file or a folder of the view stays."""
    if not can_tell_used():
        return
    fill(bench)
    with open(f"{bench.dir}/other", "w", encoding="utf-8") as f:
        f.write("covered\n")
    bench.mount("--budget", "1M")
    with subprocess.Popen(["unshare", "-m", "sh", "-c", COVERED, bench.dir, bench.view], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as inside:
        if inside.stdout.readline() == "on\n":  # else there are no name spaces
            for _ in forget(bench):
                inside.stdin.write("\n")
                inside.stdin.flush()
                assert inside.stdout.readline() == "covered covered \n"
        inside.stdin.close()


def test_absent(bench):
    """After a reset, no negative entry is left, also in a folder in use."""
    os.mkdir(f"{bench.target}/folder")
    bench.mount()
    place = os.open(f"{bench.view}/folder", os.O_PATH)
    assert not os.path.exists(f"{bench.view}/folder/new")
    os.mkdir(f"{bench.target}/folder/new")
    assert run("reset", bench.view).returncode == 0
    assert os.path.exists(f"{bench.view}/folder/new")
    os.close(place)


sys.exit(main(globals()))

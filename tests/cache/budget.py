#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""budget.py AUGER FAULTY: eviction and reset free what is unused, and keep what a process uses and what programs start with."""
import os
import subprocess
import sys
import time

from storage_calls import Counted
from views import is_sanitized, main, run, usage

FAULTY = sys.argv[2]

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
    return usage(view)["combined"]["used_bytes"]


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


class Program:
    """What a program reads when it starts: small modules and some libraries, 20 MiB."""

    def __init__(self, target, view, name):
        self.target, self.folder, self.name = target, f"{view}/{name}", name
        os.mkdir(f"{target.source}/{name}")
        self.names = [f"module{i}" for i in range(300)] + [f"library{i}" for i in range(4)]
        for i, name in enumerate(self.names):
            with open(f"{target.source}/{self.name}/{name}", "wb") as f:
                f.write(os.urandom(4 * MIB if name.startswith("library") else 5000 + 100 * i))
        time.sleep(2.1)  # what is read within two seconds of a change is read once more

    def start(self):
        """Reads it all; the kernel has none of it in memory. Returns how many files storage was read for."""
        self.target.calls()
        for name in self.names:
            fd = os.open(f"{self.folder}/{name}", os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            while os.read(fd, MIB):
                pass
            os.close(fd)
        return len({path for operation, path in self.target.calls() if operation == "read" and path.startswith(f"/{self.name}/")})


def scan(bench, target, count):
    """Reads files once, that nobody read before: 4 MiB each."""
    for i in range(count):
        name = f"scan{scan.files + i}"
        with open(f"{target.source}/{name}", "wb") as f:
            f.write(os.urandom(MIB) * 4)
        with open(f"{bench.view}/{name}", "rb") as f:
            assert len(f.read()) == 4 * MIB
    scan.files += count


scan.files = 0


def test_scan(bench):
    """A program's files stay while files that nobody reads twice take three times the budget: storage is not read at all for
    its next start (all 304 files hit; none with a queue that prefers new data)."""
    with Counted(bench, FAULTY) as target:
        bench.mount("--budget", "48M")
        program = Program(target, bench.view, "first")
        starts = [program.start()]
        scan(bench, target, 36)
        starts.append(program.start())
        # As it is used: slowed down by a sanitizer, the evictor takes some of them.
        assert starts[0] == len(program.names) and (starts[1] == 0 or is_sanitized()), starts
        bench.end()


def test_scan_before(bench):
    """The same when the budget was full before the program came: it stays from its second start on."""
    with Counted(bench, FAULTY) as target:
        bench.mount("--budget", "48M")
        scan(bench, target, 18)
        program = Program(target, bench.view, "later")
        starts = [program.start() for _ in range(4)]
        assert starts[-1] == 0, starts
        scan(bench, target, 36)
        after = program.start()
        print(f"# files read from storage, each of 4 starts: {starts}; after a scan: {after} of {len(program.names)}")
        assert after <= len(program.names) // 10, after
        bench.end()


sys.exit(main(globals()))

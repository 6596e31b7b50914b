#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""leftovers.py begin: makes a folder for a run of tests, and prints its name.
leftovers.py end FOLDER: names what the run has left, ends and removes it; exit status 1 if anything.

A run has AUGER_TEST_RUN=FOLDER and TMPDIR=FOLDER/tmp in its environment. By these its processes,
mounts, files and network namespaces are told from those of others. With CI=true nobody else uses
the machine, and whatever is new anywhere belongs to the run."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

GRACE_S = 3  # daemons that were told to end may need a moment
PUBLIC = ("/tmp", "/var/tmp", "/dev/shm", "/run/netns")
BASE = "/tmp"  # a short path: names of sockets end after 108 bytes


def is_alone():
    return os.environ.get("CI") == "true"


def read(path, mode="r"):
    try:
        with open(path, mode) as file:
            return file.read()
    except OSError:
        return b"" if "b" in mode else ""


def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def names(folder):
    try:
        return sorted(f"{folder}/{name}" for name in os.listdir(folder))
    except OSError:
        return []


def is_below(path, folder):
    return path == folder or path.startswith(folder + "/")


def mounts():
    """ID and mount point of each, the last one first."""
    rows = [line.split() for line in read("/proc/self/mountinfo").splitlines()]
    return [(row[0], row[4]) for row in reversed(rows)]


def ancestors():
    pid = os.getpid()
    while pid > 0:
        yield pid
        stat = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        pid = int(stat[1]) if stat else 0


def processes(folder):
    """Those with the mark of the run, or at home below its folder, but not those that run this."""
    mark = f"AUGER_TEST_RUN={folder}".encode()
    ours = set(ancestors())
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        places = (link(f"/proc/{pid}/{name}") for name in ("cwd", "root", "exe"))
        if pid in ours or link(f"/proc/{pid}/exe") == "":
            continue
        if mark in read(f"/proc/{pid}/environ", "rb").split(b"\0") or \
                any(is_below(place, folder) for place in places):
            found.append(pid)
    return found


def net_namespaces():
    return {link(f"/proc/{name}/ns/net") for name in os.listdir("/proc") if name.isdigit()} - {""}


def survey():
    return {"mounts": [mount for mount, _ in mounts()], "namespaces": sorted(net_namespaces()),
            "files": [name for folder in PUBLIC for name in names(folder)]}


def words_of(pid):
    words = read(f"/proc/{pid}/cmdline", "rb").replace(b"\0", b" ").decode(errors="replace").strip()
    return words[:100] or read(f"/proc/{pid}/comm").strip()


def end_processes(folder):
    until = time.monotonic() + GRACE_S
    while processes(folder) and time.monotonic() < until:
        time.sleep(0.1)
    for pid in processes(folder):
        yield f"process {pid}: {words_of(pid)}"
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def end_mounts(folder, before):
    for mount, point in mounts():
        if is_below(point, folder) or (is_alone() and mount not in before["mounts"]):
            yield f"mount {point}"
            subprocess.run(["umount", "-l", point], check=False)


def end_namespaces(before):
    if is_alone():
        for name in sorted(net_namespaces() - set(before["namespaces"])):
            yield f"network namespace {name}"


def end_files(folder, before):
    yield from (f"file {name}" for name in names(f"{folder}/tmp"))
    if is_alone():
        old = set(before["files"]) | {folder}
        yield from (f"file {name}" for place in PUBLIC for name in names(place) if name not in old)


def begin():
    folder = tempfile.mkdtemp(prefix="ar-", dir=BASE)
    os.chmod(folder, 0o755)
    os.mkdir(f"{folder}/tmp")
    os.chmod(f"{folder}/tmp", 0o1777)
    with open(f"{folder}/before.json", "w", encoding="utf-8") as file:
        json.dump(survey(), file)
    print(folder)
    return 0


def end(folder):
    before = json.loads(read(f"{folder}/before.json"))
    left = [*end_processes(folder), *end_mounts(folder, before), *end_namespaces(before),
            *end_files(folder, before)]
    for words in left:
        print(f"left behind: {words}")
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if left else 0


def main():
    if sys.argv[1:] == ["begin"]:
        return begin()
    if len(sys.argv) == 3 and sys.argv[1] == "end":
        return end(sys.argv[2])
    print(__doc__, file=sys.stderr)
    return 2


sys.exit(main())

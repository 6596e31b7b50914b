#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""relocate.py AUGER STEADY: how long a job stands still while its files are moved between two ext4 file systems in
memory: `auger relocate`, with and without --trust-append (and how long it says that it took with it, and with what), against the recipe with gdb (fsync, cp, then open, lseek,
dup2, close by casted calls; without its `sync`, which flushes the whole machine). The pause is the longest time
between two records of the job itself (one every 0.3 ms), from before the command until after it, so that waiting for
a busy file system counts, too. Median of RUNS (environment, default 3); the total
time is that of the whole command, beside that of a plain `cp -a`. GDB=0 leaves the recipe out."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

AUGER, STEADY = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
RUNS = int(os.environ.get("RUNS", "3"))
HAS_GDB = shutil.which("gdb") and os.environ.get("GDB", "1") != "0"
INSIDE = "AUGER_BENCH_RELOCATE"
# files, MiB, threads, how; target of the pause in ms, with --trust-append where it says so
ROWS = [(1, 1, 1, "append", 20), (1, 100, 1, "append", 20), (1, 1024, 1, "append", 20), (100, 100, 1, "append", 20),
        (1, 100, 256, "append", 20), (1, 1024, 256, "append", 20), (100, 1024, 256, "append", 20), (1, 1024, 1, "map", 250)]
PARTS = ("stop", "look", "copy", "shift", "flush")


def sh(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


class Job:
    """Two file systems, and the program that writes to the first."""

    def __init__(self, top, files, mib, threads, how):
        self.old, self.new = f"{top}/old", f"{top}/new"
        for path in (self.old, self.new):
            with open(path + ".img", "wb") as f:
                f.truncate((mib * 5 // 4 + 64) << 20)
            sh("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1", path + ".img")
            os.makedirs(path, exist_ok=True)
            sh("mount", "-o", "loop", path + ".img", path)
        self.p = subprocess.Popen([STEADY, str(files), str(mib), str(threads), how], cwd=self.old, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.p.stdout.readline()
        self.files, self.fds = files, range(3, 3 + files)

    def gap_ms(self):
        self.p.stdin.write("\n")
        self.p.stdin.flush()
        return int(self.p.stdout.readline()) / 1e6

    def end(self):
        self.p.stdin.close()
        self.p.wait()
        self.p.stdout.close()
        for path in (self.old, self.new):
            sh("umount", "-l", path)
            os.unlink(path + ".img")


def by_auger(job, *words):
    r = subprocess.run([AUGER, "relocate", "--pid", str(job.p.pid), "--from", job.old, "--to", job.new, "-f", "json",
                        *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    sh("umount", job.old)
    sh("mount", "-o", "loop", job.old + ".img", job.old)
    return json.loads(r.stdout)


def by_gdb(job):
    lines = [f"call (int)fsync({fd})" for fd in job.fds]
    lines += [f"shell cp -a {job.old}/. {job.new}/", f'call (int)chdir("{job.new}")']
    for i, fd in enumerate(job.fds):
        lines += [f"set $flags = (int)fcntl({fd}, 3)", f'set $new = (int)open("{job.new}/{i}", $flags)',
                  f"set $at = (long)lseek({fd}, 0L, 1)", "call (long)lseek($new, $at, 0)",
                  f"call (int)dup2($new, {fd})", "call (int)close($new)"]
    words = ["gdb", "-q", "-batch", "-p", str(job.p.pid)]
    for line in lines:
        words += ["-ex", line]
    sh(*words)


def measure(top, row, move):
    """Medians in ms: the pause, the whole time, and the pause as it was told, with its parts."""
    pauses, totals, told = [], [], []
    for _ in range(RUNS):
        job = Job(top, *row)
        time.sleep(0.3)
        job.gap_ms()
        start = time.monotonic()
        out = move(job)
        told.append([out[name + "_ns"] / 1e6 for name in ("pause", *PARTS)] if out else [0])
        totals.append((time.monotonic() - start) * 1e3)
        pauses.append(job.gap_ms())
        job.end()
    return statistics.median(pauses), statistics.median(totals), sorted(told)[(RUNS - 1) // 2]


def by_cp(job):
    sh("cp", "-a", job.old + "/.", job.new)


def main():
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        print("needs root and mkfs.ext4")
        return
    if not os.environ.get(INSIDE):
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])
    top = tempfile.mkdtemp(prefix="auger-bench-")
    sh("mount", "-t", "tmpfs", "-o", "size=90%", "none", top)
    print("files   MiB  threads  how      pause ms: compared  trusted     told      gdb  ratio   total ms: auger      cp  told against target; parts")
    try:
        for *row, target in ROWS:
            pause, total, told = measure(top, row, by_auger)
            trusted = pause
            if row[3] == "append":
                trusted, _, told = measure(top, row, lambda job: by_auger(job, "--trust-append"))
            gdb = measure(top, row, by_gdb)[0] if HAS_GDB and row[3] == "append" else 0
            cp = measure(top, row, by_cp)[1]
            parts = ", ".join(f"{name} {ms:.1f}" for name, ms in zip(PARTS, told[1:]))
            print("%5d %5d  %7d  %-6s  %18.1f  %7.1f  %7.1f  %7s  %5s  %16.0f  %6.0f  %s; %s" % (
                *row, pause, trusted, told[0], "%.0f" % gdb if gdb else "-", "%.0f" % (gdb / trusted) if gdb else "-",
                total, cp, "ok" if told[0] <= target else "over %d" % target, parts), flush=True)
    finally:
        sh("umount", "-l", top)
        os.rmdir(top)


main()

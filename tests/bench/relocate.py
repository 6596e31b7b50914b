#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""relocate.py AUGER STEADY [ROW...]: measures how long a move between two ext4 file systems in memory stops a job.

It compares `auger relocate`, with and without --trust-append, with the known recipe for gdb: fsync, cp, then open,
lseek, dup2 and close by casted calls. The recipe runs without its `sync`, which flushes the whole machine. The
pause is the longest time between two records of the job (one every 0.3 ms), from before the command until after
it. So waiting for a CPU or a busy file system counts, too. For comparison it prints the same during a plain
`cp -a`, and during 2 s without a command. Each value is the median of RUNS runs (environment, default 3), with
the worst. The total time is that of the whole command, beside that of `cp -a`. GDB=0 omits the recipe.
ROW: a row's number, from 1; none: all rows. The last two are a tree of 100,000 files, and a job of 200 processes
with 50 files each: of these it prints the reported pause, and how often it was within the target."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench

AUGER, STEADY = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WANTED = {int(word) for word in sys.argv[3:]}
RUNS = int(os.environ.get("RUNS", "3"))
HAS_GDB = shutil.which("gdb") and os.environ.get("GDB", "1") != "0"
INSIDE = "AUGER_BENCH_RELOCATE"
# files, MiB, threads, how; target of the pause in ms with --trust-append
ROWS = [(1, 1, 1, "append", 20), (1, 100, 1, "append", 20), (1, 1024, 1, "append", 20), (100, 100, 1, "append", 20),
        (1, 100, 256, "append", 20), (1, 1024, 256, "append", 20), (100, 1024, 256, "append", 20), (1, 1024, 1, "map", 250)]
PARTS = ("freeze", "scan", "copy", "repoint", "flush")
NAMES, TREE_TARGET = 100000, 50
PROCESSES, FILES_EACH, CROWD_TARGET = 200, 50, 200
CROWD = f"""
import os, sys
told, tell = os.pipe()
for n in range({PROCESSES}):
    if os.fork() == 0:
        for i in range({FILES_EACH}): os.write(os.open(f"{{n}}-{{i}}", os.O_RDWR | os.O_CREAT | os.O_APPEND), b"first")
        os.write(tell, b".")
        sys.stdin.read()
        os._exit(0)
for n in range({PROCESSES}): os.read(told, 1)
print("ready", flush=True)
sys.stdin.read()
while True:
    try: os.wait()
    except ChildProcessError: break
"""


def sh(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


class Job:
    """Two file systems, and the program that writes to the first, which has names other files."""

    def __init__(self, top, files, mib, threads, how, names=0, words=None):
        self.old, self.new = f"{top}/old", f"{top}/new"
        for path in (self.old, self.new):
            if not os.path.exists(path + ".img"):
                with open(path + ".img", "wb") as f:
                    f.truncate((mib * 5 // 4 + 64 + names // 1000) << 20)
            # Keeps memory that exists already: allocating it takes seconds.
            sh("mkfs.ext4", "-q", "-F", "-N", str(20000 + names), "-E", "lazy_itable_init=1,nodiscard", path + ".img")
            os.makedirs(path, exist_ok=True)
            sh("mount", "-o", "loop", path + ".img", path)
        for i in range(names):
            if i % 1000 == 0:
                os.mkdir(f"{self.old}/names{i // 1000}")
            with open(f"{self.old}/names{i // 1000}/{i}", "wb"):
                pass
        self.p = subprocess.Popen(words or [STEADY, str(files), str(mib), str(threads), how], cwd=self.old, text=True,
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
            sh("umount", path)


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
    """Medians in ms: the pause, the worst pause, the total time, and the reported pause with its parts."""
    pauses, totals, reported = [], [], []
    for _ in range(RUNS):
        job = Job(top, *row)
        time.sleep(0.3)
        job.gap_ms()
        start = time.monotonic()
        out = move(job)
        reported.append([out[name + "_ns"] / 1e6 for name in ("pause", *PARTS)] if out else [0])
        totals.append((time.monotonic() - start) * 1e3)
        pauses.append(job.gap_ms())
        job.end()
    return statistics.median(pauses), max(pauses), statistics.median(totals), sorted(reported)[(RUNS - 1) // 2]


def by_cp(job):
    sh("cp", "-a", job.old + "/.", job.new)


def by_nobody(_):
    time.sleep(2)


def measure_row(top, row, target):
    compared, worst, total, reported = measure(top, row, by_auger)
    trusted, trusted_worst = compared, worst
    if row[3] == "append":
        trusted, trusted_worst, _, reported = measure(top, row, lambda job: by_auger(job, "--trust-append"))
    gdb = measure(top, row, by_gdb)[0] if HAS_GDB and row[3] == "append" else 0
    cp_pause, cp_worst, cp, _ = measure(top, row, by_cp)
    idle, idle_worst = measure(top, row, by_nobody)[:2]
    parts = ", ".join(f"{name} {ms:.1f}" for name, ms in zip(PARTS, reported[1:]))
    print("%5d %5d  %7d  %-6s %6.1f (%5.1f)  %6.1f (%5.1f)  %6.1f  %6.1f (%5.1f)  %6.1f (%5.1f)  %7s  %5s  %9.0f  %6.0f  %s; %s" % (
        *row, compared, worst, trusted, trusted_worst, reported[0], cp_pause, cp_worst, idle, idle_worst, "%.0f" % gdb if gdb else "-",
        "%.0f" % (gdb / trusted) if gdb else "-", total, cp, "ok" if trusted <= target else "over %d" % target, parts), flush=True)
    what = "pause, %d files of %d MiB, %d threads, %s" % tuple(row)
    bench.row(what, trusted, "ms", most=target)
    if gdb:
        bench.row(what, trusted, "ms", "recipe with gdb", gdb)
    for path in ("old.img", "new.img"):
        os.unlink(f"{top}/{path}")


def measure_reported(top, what, target, **job_words):
    pauses = []
    for _ in range(RUNS):
        job = Job(top, 1, 1, 1, "append", **job_words)
        out = by_auger(job)
        pauses.append(out["pause_ns"] / 1e6)
        job.end()
        parts = ", ".join(f"{name} {out[name + '_ns'] / 1e6:.1f}" for name in PARTS)
    print("%s: pause %.1f ms (%.1f), %d of %d within %d ms; the last: %s" % (
        what, statistics.median(pauses), max(pauses), sum(ms <= target for ms in pauses), RUNS, target, parts), flush=True)
    bench.row("pause, " + what, statistics.median(pauses), "ms", most=target)
    for path in ("old.img", "new.img"):
        os.unlink(f"{top}/{path}")


def main():
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        print("needs root and mkfs.ext4")
        return
    if not os.environ.get(INSIDE):
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])
    top = tempfile.mkdtemp(prefix="auger-bench-")
    sh("mount", "-t", "tmpfs", "-o", "size=90%", "none", top)
    print("files   MiB  threads  how    pause ms (worst): compared  trusted  reported  during cp      nothing            gdb  ratio  ms: auger      cp"
          "  trusted against target; reported parts of the pause")
    try:
        for number, (*row, target) in enumerate(ROWS, 1):
            if not WANTED or number in WANTED:
                measure_row(top, row, target)
        if not WANTED or len(ROWS) + 1 in WANTED:
            measure_reported(top, f"{NAMES} files", TREE_TARGET, names=NAMES)
        if not WANTED or len(ROWS) + 2 in WANTED:
            measure_reported(top, f"{PROCESSES} processes of {FILES_EACH} files", CROWD_TARGET, words=[sys.executable, "-c", CROWD])
    finally:
        sh("umount", "-l", top)
        os.rmdir(top)


main()

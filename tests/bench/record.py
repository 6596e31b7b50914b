#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""record.py AUGER DEEP [ROUNDS]: what recording costs, beside perf record at the same rate.

Runs are interleaved in random order. A program's slow-down is by its own CPU time, smallest
over smallest and median over median; what the tool costs besides is the CPU time of the whole
command less the program's.
"""

import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench

HZ = "999"
PYTHON = "/usr/bin/python3"
TELL = """
import resource
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(int(sum(u.ru_utime + u.ru_stime for u in used) * 1e9))
"""
FORKS = ("import os\nfor i in range(400):\n    p = os.fork()\n    p or os._exit(0)\n    os.wait()\n"
         + TELL)
REAL = """
import json, os, re, zlib
data = {str(i): [i, str(i) * 3, {"x": i / 7}] for i in range(3000)}
for i in range(30):
    text = json.dumps(data, indent=1)
    json.loads(text)
    re.findall(r"[0-9]+(?=\\.)", text)
    zlib.compress(text.encode(), 6)
""" + TELL


class Run:
    """One command: its own CPU time, that of all it started, and the most memory of one."""

    def __init__(self, command, folder, tells=True):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        child = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        out = child.stdout.read()
        _, self.status, usage = os.wait4(child.pid, 0)
        child.stdout.close()
        child.returncode = self.status
        if self.status:
            sys.exit("%s failed" % " ".join(command[:8]))
        self.wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.rss_mib = usage.ru_maxrss / 1024
        self.told = float(out.split()[-1]) / 1e9 if tells else 0.0


def modes(auger, folder):
    perf = ["perf", "record", "-q", "-F", HZ, "-o", f"{folder}/perf.data"]
    ours = [auger, "record", "-F", HZ, "-o", f"{folder}/p.pb.gz"]
    table = {
        "alone": [],
        "auger": [*ours, "--"],
        "auger -g fp": [*ours, "-g", "fp", "--"],
    }
    if shutil.which("perf"):
        table["perf -g"] = [*perf, "-e", "cpu-clock", "-g", "--"]
        table["perf dwarf"] = [*perf, "-e", "cpu-clock", "--call-graph", "dwarf", "--"]
    return table


def compare(title, program, table, folder, rounds):
    runs = {name: [] for name in table}
    for _ in range(rounds):
        for name in random.sample(list(table), len(table)):
            runs[name].append(Run([*table[name], *program], folder))
    own = {name: [run.told for run in of] for name, of in runs.items()}
    base = min(own["alone"]), statistics.median(own["alone"])
    print(f"{title}: {base[0]:.3f} s of CPU alone; {rounds} rounds, {HZ} Hz")
    print(f"  {'':12} slow-down min  median   tool CPU s   tool wall s   peak MiB")
    for name, of in runs.items():
        if name == "alone":
            continue
        cpu = min(run.cpu - run.told for run in of)
        wall = min(run.wall for run in of) - min(run.wall for run in runs["alone"])
        print(f"  {name:12} x{min(own[name]) / base[0]:.4f}       "
              f"x{statistics.median(own[name]) / base[1]:.4f}  {cpu:10.3f}   {wall:11.3f}"
              f"   {max(run.rss_mib for run in of):8.1f}")
        if name.startswith("auger"):
            bench.row(f"{title}, {name}", min(own[name]), "CPU s", "alone", base[0])
    return runs


def to_picture(auger, program, folder, rounds):
    """All that auger costs up to a flame graph; perf script alone for comparison."""
    ours, theirs = [], []
    for _ in range(rounds):
        record = Run([auger, "record", "-o", "p.pb.gz", "--", *program], folder)
        flame = Run([auger, "flame", "p.pb.gz", "-o", "p.svg"], folder, tells=False)
        ours.append(record.cpu - record.told + flame.cpu)
        if shutil.which("perf"):
            Run(["perf", "record", "-q", "-e", "cpu-clock", "-F", HZ, "--call-graph", "dwarf",
                 "-o", "perf.data", "--", *program], folder)
            theirs.append(Run(["perf", "script", "-i", "perf.data"], folder, tells=False).cpu)
    print(f"to the flame graph of a python program: auger {min(ours):.3f} s of CPU, recording included")
    if theirs:
        bench.row("python program to a flame graph", min(ours), "CPU s", "perf script alone", min(theirs))
        print(f"  perf script alone, of a dwarf recording: {min(theirs):.3f} s, "
              f"x{min(theirs) / min(ours):.1f}")


def busy_machine(auger, deep, folder):
    """Two programs a CPU, all of it at 4999 Hz: samples that are lost."""
    busy = [subprocess.Popen([deep, "10000000"], stdout=subprocess.DEVNULL)
            for _ in range(2 * os.cpu_count())]
    try:
        ours = subprocess.run([auger, "record", "-a", "-F", "4999", "-d", "5", "-o", "p.pb.gz"],
                              cwd=folder, text=True, stderr=subprocess.PIPE, check=True)
        print("machine with all CPUs busy, 4999 Hz, 5 s:")
        print("  " + next(line for line in ours.stderr.splitlines() if "samples of" in line))
        if shutil.which("perf"):
            subprocess.run(["perf", "record", "-q", "-a", "-F", "4999", "-e", "cpu-clock",
                            "--call-graph", "dwarf", "-o", "perf.data", "--", "sleep", "5"],
                           cwd=folder, stderr=subprocess.DEVNULL, check=True)
            stats = subprocess.run(["perf", "report", "--stats", "-i", "perf.data"], cwd=folder,
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   check=True).stdout.splitlines()
            print("  perf dwarf:", ", ".join(" ".join(line.split()[:4]) for line in stats
                                             if line.split()[:1] in (["SAMPLE"], ["LOST_SAMPLES"])
                                             and "(" not in line))
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main():
    auger, deep = (os.path.realpath(path) for path in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    folder = tempfile.mkdtemp(prefix="auger-bench-")
    program = [deep, "200000"]
    try:
        compare("CPU-bound", program, modes(auger, folder), folder, rounds)
        compare("400 forks", [PYTHON, "-c", FORKS], modes(auger, folder), folder, rounds)
        busy_machine(auger, deep, folder)
        to_picture(auger, [PYTHON, "-c", REAL], folder, max(2, rounds // 2))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()

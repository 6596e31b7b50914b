#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""offcpu.py TOOL PINGPONG CREW: what telling of waits costs.

PINGPONG does nothing but switch; CREW is threads that share a queue of work. Prints how many times
slower each is than alone (the least of interleaved runs on one CPU), and for PINGPONG what that is
for one wait, for auger by both methods and, where it is installed, perf.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import bench

ROUNDS = 5
TURNS = 40000  # of each of two processes
ITEMS = 30000
PEER = "perf record -e sched:sched_switch -g"


def cells(tool, pinned):
    record = [tool, "record", "-o", "p.pb.gz"]
    waits = [*record, "--off-cpu"]
    all_cells = {
        "alone": pinned,
        "auger record": [*record, "--", *pinned],
        "auger record --off-cpu, by BPF": [*waits, "--method", "bpf", "--", *pinned],
        "auger record --off-cpu -g fp, by BPF": [*waits, "--method", "bpf", "-g", "fp", "--",
                                                 *pinned],
        "auger record --off-cpu --user, by BPF": [*waits, "--method", "bpf", "--user", "--",
                                                  *pinned],
        "auger record --off-cpu, by perf": [*waits, "--method", "perf", "--", *pinned],
    }
    if shutil.which("perf"):
        perf = ["perf", "record", "-q", "-o", "perf.data", "-e", "sched:sched_switch"]
        all_cells[PEER] = [*perf, "-g", "--", *pinned]
        all_cells["perf record ... --call-graph dwarf"] = [*perf, "--call-graph", "dwarf", "--",
                                                           *pinned]
        all_cells["perf sched record"] = ["perf", "sched", "record", "-o", "perf.data", *pinned]
    return all_cells


def run(command, folder):
    """The program's own seconds, and how many waits were told; None: none."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = re.search(r"^(\d+\.\d+)$", done.stdout, re.MULTILINE)
    waits = re.search(r"in ([\d,]+) waits", done.stderr)
    return (float(seconds[1]) if seconds else None), (waits[1] if waits else None)


def measure(tool, pinned):
    """The least seconds of each cell, and the waits it told."""
    times, told = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for name, command in cells(tool, pinned).items():
                seconds, waits = run(command, folder)
                if seconds:
                    times[name] = min(times.get(name, seconds), seconds)
                if waits:
                    told[name] = waits
    return times, told


def show(words, times, told, waits):
    print(words)
    for name, least in times.items():
        row = f"  {name:38} {least:7.3f} s  x{least / times['alone']:5.2f}"
        if waits:
            row += f"  {(least - times['alone']) / waits * 1e6:6.2f} us a wait"
        if name in told:
            row += f"  waits told: {told[name]}"
        print(row)
        if name.startswith("auger"):
            bench.row(f"{words} {name}", least, "s", "alone", times["alone"])
    ours = times.get("auger record --off-cpu, by BPF")
    if ours and PEER in times:
        bench.row(f"{words} auger record --off-cpu, by BPF", ours, "s", PEER, times[PEER])


def main():
    tool, pingpong, crew = map(os.path.realpath, sys.argv[1:4])
    pin = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
    show("two processes that wake each other:", *measure(tool, [*pin, pingpong, str(TURNS)]),
         2 * TURNS)
    show("threads that share a queue:", *measure(tool, [*pin, crew, str(ITEMS)]), 0)


main()

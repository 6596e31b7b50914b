#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""offcpu.py TOOL PINGPONG: what telling of waits costs a program that does nothing but switch.

Prints how many times slower the program is than alone (the least of interleaved runs on one CPU),
and what that is for one switch, for auger and, where it is installed, perf.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROUNDS = 7
TURNS = 40000  # of each of two processes


def cells(tool, program):
    pinned = ["taskset", "-c", str(max(os.sched_getaffinity(0))), program, str(TURNS)]
    record = [tool, "record", "-o", "p.pb.gz"]
    all_cells = {
        "alone": pinned,
        "auger record": [*record, "--", *pinned],
        "auger record --off-cpu": [*record, "--off-cpu", "--", *pinned],
        "auger record --off-cpu -g fp": [*record, "--off-cpu", "-g", "fp", "--", *pinned],
    }
    if shutil.which("perf"):
        perf = ["perf", "record", "-q", "-o", "perf.data", "-e", "sched:sched_switch"]
        all_cells["perf record -e sched:sched_switch -g"] = [*perf, "-g", "--", *pinned]
        all_cells["perf record ... --call-graph dwarf"] = [*perf, "--call-graph", "dwarf", "--",
                                                           *pinned]
        all_cells["perf sched record"] = ["perf", "sched", "record", "-o", "perf.data", *pinned]
    return all_cells


def run(command, folder):
    """The program's own seconds, and how many waits are whole, in percent; None: none told."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = re.search(r"^(\d+\.\d+)$", done.stdout, re.MULTILINE)
    waits = re.search(r"in ([\d,]+) waits", done.stderr)
    told = 100 * int(waits[1].replace(",", "")) / (2 * TURNS) if waits else None
    return (float(seconds[1]) if seconds else None), told


def main():
    tool, program = map(os.path.realpath, sys.argv[1:3])
    times, told = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for name, command in cells(tool, program).items():
                seconds, share = run(command, folder)
                if seconds:
                    times.setdefault(name, []).append(seconds)
                if share:
                    told.setdefault(name, []).append(min(share, 100))
    alone = min(times["alone"])
    for name, seconds in times.items():
        least = min(seconds)
        switch_us = (least - alone) / (2 * TURNS) * 1e6
        words = f"{name:40} {least:7.3f} s  x{least / alone:5.2f}  {switch_us:6.2f} us a switch"
        if name in told:
            words += f"  waits told: {max(told[name]):.0f} %"
        print(words)
    peer = "perf record -e sched:sched_switch -g"
    if peer in times:
        ratio = min(times["auger record --off-cpu"]) / min(times[peer])
        print(f"auger record --off-cpu to {peer}: {ratio:.2f}")


main()

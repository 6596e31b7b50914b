#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stat.py TOOL: what auger stat costs a command, beside /usr/bin/time -v and perf stat.

Rounds are interleaved; the medians are of the elapsed time, and of the
CPU time of all; the ratio is of that to the command alone.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench

ROUNDS = 7
WORK = {
    "a process": ["true"],
    "500 processes": ["sh", "-c", "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done"],
    "0.5 s of computing": [sys.executable, "-c",
                           "import time\nwhile time.process_time() < 0.5: pass"],
}


def measure(command):
    """Elapsed and CPU seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (time.monotonic() - start,
            after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def main():
    tool = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        tools = {"alone": [], "time -v": ["/usr/bin/time", "-v", "-o", out],
                 "perf stat": ["perf", "stat", "-o", out], "auger stat": [tool, "stat", "-o", out, "--"]}
        tools = {name: prefix for name, prefix in tools.items()
                 if not prefix or shutil.which(prefix[0])}
        for title, work in WORK.items():
            took = {name: [] for name in tools}
            for _ in range(ROUNDS):
                for name, prefix in tools.items():
                    took[name].append(measure([*prefix, *work]))
            alone = None
            used = {}
            for name, runs in took.items():
                wall, cpu = (1000 * statistics.median(column) for column in zip(*runs))
                alone = alone or cpu
                used[name] = cpu
                print(f"{title:20} {name:12} {wall:8.1f} ms  {cpu:8.1f} ms of CPU  x{cpu / alone:.2f}")
            for name in used:
                if name != "auger stat":
                    bench.row(f"stat of {title}", used["auger stat"], "ms of CPU", name, used[name])


main()

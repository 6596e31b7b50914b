#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""heap.py TOOL PAIRS: what auger heap costs a program, beside heaptrack where it is installed.

Rounds are interleaved; the medians are of the CPU time of all processes, that of the tool
included; the ratio is of that to the program alone. Programs that are not installed are left out.
"""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import bench

ROUNDS = 3
PAIRS = "10000000"
PERL = "my %h; $h{$_} = 'v' x ($_ % 50) for 1..300000"
SOURCE = "".join(f"int f{i}(int n){{int s=0;for(int i=0;i<n;i++)s+=i*{i};return s;}}\n" for i in range(1500))


def cpu_seconds(command, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def has_pandas():
    return subprocess.run([sys.executable, "-c", "import pandas"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def works(pairs):
    """By name: the command, and the most that it may cost."""
    yield "malloc and free", [pairs, "1", PAIRS], 3
    yield "1,000 blocks kept", [pairs, "1", PAIRS, "1000"], 3
    yield "4 threads", [pairs, "4", PAIRS, "1000"], 3
    if shutil.which("perl"):
        yield "perl, a hash", ["perl", "-e", PERL], 1.3
    if shutil.which("cc"):
        yield "cc -O1", ["cc", "-O1", "-c", "-o", "big.o", "big.c"], 1.3
    if has_pandas():
        yield "import pandas", [sys.executable, "-c", "import pandas"], 1.3


def main():
    tool, pairs = (os.path.realpath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "big.c"), "w", encoding="ascii") as file:
            file.write(SOURCE)
        tools = {"alone": [], "auger heap": [tool, "heap", "-o", "out.pb.gz", "--"],
                 "sampled": [tool, "heap", "--sample", "512k", "-o", "out.pb.gz", "--"],
                 "heaptrack": ["heaptrack", "-o", "out"]}
        tools = {name: prefix for name, prefix in tools.items() if not prefix or shutil.which(prefix[0])}
        for title, work, most in works(pairs):
            took = {name: [] for name in tools}
            for _ in range(ROUNDS):
                for name, prefix in tools.items():
                    took[name].append(cpu_seconds([*prefix, *work], folder))
            cpu = {name: statistics.median(runs) for name, runs in took.items()}
            for name, seconds in cpu.items():
                print(f"{title:20} {name:12} {1000 * seconds:8.1f} ms of CPU  x{seconds / cpu['alone']:.2f}")
            bench.row(f"heap of {title}", 1000 * cpu["auger heap"], "ms of CPU", "the program alone",
                      1000 * cpu["alone"], most=most)
            if "heaptrack" in cpu:
                bench.row(f"heap of {title}", 1000 * cpu["auger heap"], "ms of CPU", "heaptrack",
                          1000 * cpu["heaptrack"])


main()

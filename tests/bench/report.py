#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report.py AUGER: how long `auger report` takes for a profile of 350,000 samples in 44,000 stacks
of 5,200 functions, and `go tool pprof -top` for the same file (where Go is installed).
Prints the least of some runs: CPU seconds, largest memory, ratio."""
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

import bench

AUGER = sys.argv[1]
FUNCTIONS, STACKS, RUNS = 5200, 44000, 5


def write_folded(path):
    """Stacks as programs have them: a call graph of a few callees each, the first ones hot."""
    rng = random.Random(1)
    names = ["ns%d::Class%d<std::string, %d>::method_%d(unsigned long, char const*)"
             % (i % 7, i % 97, i % 5, i) for i in range(FUNCTIONS)]
    callees = [[rng.randrange(FUNCTIONS) for _ in range(4)] for _ in range(FUNCTIONS)]
    stacks = {}
    while len(stacks) < STACKS:
        function = rng.randrange(3)
        stack = []
        for _ in range(rng.randrange(8, 45)):
            stack.append(function)
            function = callees[function][int(4 * rng.random() ** 4)]
        stacks[tuple(stack)] = stacks.get(tuple(stack), 0) + rng.randrange(1, 16)
    with open(path, "w", encoding="ascii") as out:
        for stack, count in stacks.items():
            out.write(";".join(names[f] for f in stack) + " %d\n" % count)


def measure(command):
    """The least CPU seconds of all runs, and the memory in MiB of the largest."""
    least, memory = None, 0
    for _ in range(RUNS):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit("%s failed" % " ".join(command))
        seconds = usage.ru_utime + usage.ru_stime
        least = seconds if least is None else min(least, seconds)
        memory = max(memory, usage.ru_maxrss / 1024)
    return least, memory


def show(what, seconds, memory, ratio=""):
    print("%-28s %6.3f CPU s %6.0f MiB %s" % (what, seconds, memory, ratio))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        folded, profile = os.path.join(folder, "x.folded"), os.path.join(folder, "x.pb.gz")
        write_folded(folded)
        subprocess.run([AUGER, "convert", folded, "-o", profile], check=True)
        base = measure([AUGER, "report", profile])
        show("auger report", *base)
        for view in (["--tree"], ["--callers", "method_1"], ["--by", "module"]):
            seconds, memory = measure([AUGER, "report", *view, profile])
            show("auger report " + " ".join(view), seconds, memory)
            bench.row("report " + " ".join(view), seconds, "CPU s")
        if shutil.which("go"):
            peer = measure(["go", "tool", "pprof", "-symbolize=none", "-top", profile])
            show("go tool pprof -top", *peer, "x%.1f" % (peer[0] / base[0]))
            bench.row("report of 44,000 stacks", base[0], "CPU s", "go tool pprof -top", peer[0])


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""syscalls.py TOOL GETPPID: what auger syscalls costs by each method, beside strace -c and perf trace -s.

CPU time of the command and the tool (wait4) over that of the command alone; the rounds of all tools are
interleaved, the medians are printed. A slow tool takes part in fewer rounds.
"""

import os
import shutil
import statistics
import sys

ROUNDS = 7
SLOW_ROUNDS = 3
DD = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=200000"]


def cpu(command):
    """Seconds of CPU of a command and all that it waited for."""
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        os.execvp(command[0], command)
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f"{' '.join(command)}: status {status}")
    return used.ru_utime + used.ru_stime


def main():
    tool, getppid = (os.path.realpath(path) for path in sys.argv[1:3])
    tools = {"alone": []}
    for method in ("bpf", "perf", "ptrace"):
        tools[f"auger {method}"] = [tool, "syscalls", "--method", method, "-o", os.devnull, "--"]
    tools["auger bpf thread"] = [*tools["auger bpf"][:-1], "--by", "thread", "--"]
    tools["auger bpf path"] = [*tools["auger bpf"][:-1], "--path", "--"]
    tools["strace -c -f"] = ["strace", "-c", "-f", "-o", os.devnull]
    tools["perf trace -s"] = ["perf", "trace", "-s", "-o", os.devnull]
    tools = {name: prefix for name, prefix in tools.items() if not prefix or shutil.which(prefix[0])}
    work = {"find /usr": ["find", "/usr", "-type", "f"], "getppid": [getppid, "300000"], "dd bs=1": DD,
            "python": ["/usr/bin/python3", "-c", "import json"]}
    cpu(work["find /usr"])
    for title, command in work.items():
        took = {name: [] for name in tools}
        for turn in range(ROUNDS):
            for name, prefix in tools.items():
                if turn < SLOW_ROUNDS or "trace" not in name:
                    took[name].append(cpu([*prefix, *command]))
        alone = statistics.median(took["alone"])
        for name, runs in took.items():
            print(f"{title:10} {name:17} {statistics.median(runs):8.3f} s  x{statistics.median(runs) / alone:.2f}",
                  flush=True)
        if "strace -c -f" in took:
            extra = {name: statistics.median(took[name]) - alone for name in ("auger bpf", "strace -c -f")}
            print(f"{title:10} strace's extra cost is {extra['strace -c -f'] / max(extra['auger bpf'], 1e-4):.0f} "
                  "times that of auger bpf", flush=True)


main()

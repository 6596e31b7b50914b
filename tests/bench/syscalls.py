#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""syscalls.py TOOL GETPPID: what auger syscalls costs by each method, beside strace -c and perf trace -s.

CPU time of the command and the tool (wait4), the least of rounds in which all tools take turns; a slow tool
takes part in fewer rounds. Each tool's start is what it adds to a command that does nothing.
"""

import os
import shutil
import sys

import bench

ROUNDS = 5
SLOW_ROUNDS = 1
SLOW = ("auger ptrace", "strace -c -f", "perf trace -s")
START = "true"
FIND = "find /usr"


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


def tools(tool):
    """{name: what goes before the command}, of those that are here."""
    auger = [tool, "syscalls", "-o", os.devnull]
    known = {"alone": []}
    for method in ("bpf", "perf", "ptrace"):
        known[f"auger {method}"] = [*auger, "--method", method, "--"]
    known["bpf thread"] = [*auger, "--method", "bpf", "--by", "thread", "--"]
    known["bpf path"] = [*auger, "--method", "bpf", "--path", "--"]
    known["strace -c -f"] = ["strace", "-c", "-f", "-o", os.devnull]
    known["perf trace -s"] = ["perf", "trace", "-s", "-o", os.devnull]
    return {name: prefix for name, prefix in known.items() if not prefix or shutil.which(prefix[0])}


def measure(title, command, prefixes):
    """{tool: least seconds}"""
    least = {}
    for turn in range(ROUNDS):
        for name, prefix in prefixes.items():
            if turn < SLOW_ROUNDS or name not in SLOW or title == START:
                least[name] = min(cpu([*prefix, *command]), least.get(name, 1e9))
    for name, seconds in least.items():
        print(f"{title:10} {name:14} {seconds:8.3f} s  x{seconds / least['alone']:.2f}", flush=True)
    return least


def judge(what, ours, peer, theirs, most):
    bench.row(what, ours, "CPU s", peer, theirs, most=most)


def main():
    tool, getppid = (os.path.realpath(path) for path in sys.argv[1:3])
    prefixes = tools(tool)
    work = {START: ["true"], FIND: ["find", "/usr", "-type", "f"], "getppid": [getppid, "300000"],
            "dd bs=1": ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=100000"],
            "python": ["/usr/bin/python3", "-c", "import json"]}
    cpu(work[FIND])
    least = {title: measure(title, command, prefixes) for title, command in work.items()}
    find = least[FIND]
    for name, most in (("auger bpf", 1.4), ("auger perf", 2.2)):
        judge(f"{FIND}: {name}", find[name], "alone", find["alone"], most)
    if "strace -c -f" not in prefixes:
        return
    for title in list(least)[1:]:
        took = least[title]
        judge(f"{title}: auger ptrace", took["auger ptrace"], "strace -c -f", took["strace -c -f"], 1)
    for title in (FIND, "getppid", "dd bs=1"):
        extra = {name: least[title][name] - least[title]["alone"] for name in ("auger bpf", "strace -c -f")}
        judge(f"{title}: what auger bpf adds", extra["auger bpf"], "what strace -c -f adds", extra["strace -c -f"], 1 / 50)


main()

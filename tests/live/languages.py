#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""languages.py TOOL WORKLOADS [CASE...]: functions of JIT compilers, by the switches of docs/languages.md."""

import contextlib
import os
import shutil

import live
from live import Skip

NODE = """
function hotLoop(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
let t = 0;
for (let i = 0; i < 150; i++) t += hotLoop(1000000);
console.log(process.pid);
"""
JAVA = """
public class Work {
    static long hotLoop(int n) { long s = 0; for (int i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
    public static void main(String[] words) {
        long t = 0;
        for (int i = 0; i < 150; i++) t += hotLoop(1000000);
        System.out.println(ProcessHandle.current().pid());
    }
}
"""


def record(bench, name, source, *command):
    """Share of functions with hotLoop in their names. The program prints its process ID."""
    if not shutil.which(command[0]):
        raise Skip(f"no {command[0]}")
    with open(bench.path(name), "w", encoding="ascii") as file:
        file.write(source)
    pid = bench.record("--python", "off", *command, name).stdout.split()[0]
    with contextlib.suppress(FileNotFoundError):
        os.remove(f"/tmp/perf-{pid}.map")
    return sum(share for name, share in live.totals(bench.report()).items() if "hotLoop" in name)


def node(bench):
    for switch in "--perf-basic-prof", "--perf-basic-prof-only-functions", "--perf-prof":
        share = record(bench, "work.js", NODE, "node", switch)
        bench.check(share > 0.1, f"{switch}: {share}")


def java(bench):
    share = record(bench, "Work.java", JAVA, "java", "-XX:+UnlockDiagnosticVMOptions",
                   "-XX:+DumpPerfMapAtExit")
    bench.check(share > 0.1, f"{share}")


live.main([node, java])

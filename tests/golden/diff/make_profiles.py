#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes before.pb.gz, after.pb.gz and bytes.pb.gz next to this file: a program before and after
a change, sampled at 1 kHz and at 2 kHz, and a profile of something else."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "report"))
sys.dont_write_bytecode = True
from make_profiles import MS, Profile, block, number  # noqa: E402


def write(name, period_ns, duration_ms, requests, stacks):
    p = Profile([("requests", "count"), ("samples", "count"), ("cpu", "nanoseconds")])
    main = p.location("/bin/work", [("main", "main.c", 3)])
    for count, comm, frames in stacks:
        stack = [main] + [p.location("/bin/work", [(f, "work.c", 9)]) for f in frames]
        p.sample(stack, [0, count, count * period_ns], [("comm", comm), ("pid", len(comm))])
    p.sample([main], [requests, 0, 0], [("comm", "work")])
    p.comment("command: ./work " + name)
    cpu = number(1, p.text("cpu")) + number(2, p.text("nanoseconds"))
    p.extra = number(10, duration_ms * MS) + block(11, cpu) + number(12, period_ns)
    p.write(os.path.join(HERE, name + ".pb.gz"))


write("before", MS, 2000, 100, [
    (900, "work", ["parse", "scan"]),
    (400, "work", ["parse", "copy"]),
    (300, "io", ["write"]),
    (50, "io", ["flush"]),
    (250, "work", ["old"]),
    (10, "work", ["rare"]),
])
write("after", MS // 2, 1500, 120, [
    (900, "work", ["parse", "scan"]),
    (820, "work", ["parse", "copy"]),
    (590, "io", ["write"]),
    (105, "io", ["flush"]),
    (200, "work", ["fast"]),
    (26, "work", ["rare"]),
])
p = Profile([("alloc", "bytes")])
p.sample([p.location("", [("main", "", 0)])], [4096])
p.write(os.path.join(HERE, "bytes.pb.gz"))

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""top.py TOOL WORKLOADS [CASE...]: what auger top keeps is bounded."""

import json
import resource
import signal
import time

import live

LIMIT = 64  # MiB: RLIMIT_DATA, of which half is kept


def anonymous(pid):
    """MiB of a process, without files and rings; 0: it ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(("RssAnon", "VmSwap"))) // 1024
    except (FileNotFoundError, ProcessLookupError):
        return 0


def endless(bench):
    """A program that makes paths, names and processes without end: older samples are forgotten, later ones are shown."""
    with open(bench.path("out"), "w", encoding="utf-8") as out, open(bench.path("err"), "w", encoding="utf-8") as err:
        top = bench.start(bench.tool, "top", "-f", "json", "--interval", "0.5", "-F", "4999", "--", bench.workload("endless"),
                          stdout=out, stderr=err,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (LIMIT << 20, LIMIT << 20)))
        sizes, later, end = [], 0, time.time() + 90
        while top.poll() is None and time.time() < end and later < 10:
            sizes.append(anonymous(top.pid))
            with open(bench.path("err"), encoding="utf-8") as file:
                later += "full" in file.read()
            time.sleep(0.05)
        top.send_signal(signal.SIGINT)
        top.wait(30)
    with open(bench.path("err"), encoding="utf-8") as file:
        said = file.read()
    bench.equal(said.count(f"{LIMIT // 2} MiB are full: older samples are forgotten"), 1, f"{said}{sizes}")
    bench.check(LIMIT * 0.4 < max(sizes) < LIMIT and min(sizes[-10:]) < LIMIT * 0.45, sizes)
    with open(bench.path("out"), encoding="utf-8") as file:
        text = file.read()
    looks = json.loads("[" + text.replace("}\n{", "},\n{") + "]")
    bench.check(looks and looks[-1]["samples"] > 0 and len(looks[-1]["rows"]) > 0, text[-1000:])


if __name__ == "__main__":
    live.main([endless])

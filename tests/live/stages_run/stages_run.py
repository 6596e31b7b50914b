#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stages_run.py AUGER WORKLOADS [CASE...]: `auger stages run` on a program that knows what it did."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from live import main  # noqa: E402

MIB = 1 << 20


def run_stages(bench, *command, status=0, options=()):
    """The table as an object, its rows by stage; and what the command printed."""
    done = bench.run(bench.tool, "stages", "run", "-f", "json", *options, "--", *command,
                     status=status)
    table = json.loads(done.stdout)
    return table, {row["stage"]: row for row in table["rows"]}, done.stderr


def run_one_process(bench):
    table, rows, words = run_stages(bench, bench.workload("truth_table"), "7", "3", status=3)
    bench.equal(table["records"], 1, "records")
    bench.equal(set(rows), {"parent", "parent.child", "parent.big", "sleep"}, "stages")
    bench.check("calls 7" in words, "the program's words go to standard error")
    for name, row in rows.items():
        bench.equal(row["calls"], 7, "calls of " + name)
        bench.equal(row["errors"], 0, "errors of " + name)
    bench.check(rows["sleep"]["wall_ns"] >= 7 * 2000000, "sleep is shorter than it was")
    bench.check(rows["sleep"]["cpu_thread_ns"] < rows["sleep"]["wall_ns"], "sleeping costs CPU")
    inside = rows["parent.child"]["wall_ns"] + rows["parent.big"]["wall_ns"]
    bench.check(abs(rows["parent"]["self_ns"] + inside - rows["parent"]["wall_ns"]) < 100000,
                "self and what is inside are not all")


def run_heap_peaks(bench):
    """A child's window takes nothing from its parent's."""
    _, rows, _ = run_stages(bench, bench.workload("truth_table"), "1")
    for name, want in (("parent", 20), ("parent.child", 1), ("parent.big", 20), ("sleep", 0)):
        peak = rows[name]["heap_peak_bytes"]
        bench.check(peak is not None and abs(peak - want * MIB) < MIB // 4,
                    "heap peak of %s: %r, not %d MiB" % (name, peak, want))
        bench.equal(rows[name]["heap_delta_bytes"], 0, "heap growth of " + name)
    bench.equal(rows["parent"]["allocs"], 3, "allocations")


def run_time_only(bench):
    _, rows, _ = run_stages(bench, bench.workload("truth_table"), "2", options=["--level", "time"])
    bench.equal(rows["parent"]["calls"], 2, "calls")
    bench.equal(rows["parent"]["rss_delta_bytes"], None, "RSS, which is not measured")


def run_many_processes(bench):
    script = "for i in 1 2 3 4 5; do ./truth_table $i & done; wait"
    os.symlink(bench.workload("truth_table"), bench.path("truth_table"))
    table, rows, _ = run_stages(bench, "sh", "-c", script, options=["--reports", "kept"])
    bench.equal(table["records"], 5, "records")
    bench.equal(rows["parent"]["calls"], 15, "calls")
    bench.equal(len(os.listdir(bench.path("kept"))), 5, "reports that are kept")
    again = json.loads(bench.run(bench.tool, "stages", "-f", "json", bench.path("kept")).stdout)
    bench.equal(again["rows"], table["rows"], "the same reports again")


def run_profile(bench):
    """Stages as stacks: the tree of the profile has the times of the table."""
    bench.run(bench.tool, "stages", "run", "--reports", "kept", "-o", "s.pb.gz", "--",
              bench.workload("truth_table"), "3")
    table = json.loads(bench.run(bench.tool, "stages", "-f", "json", "kept").stdout)
    want = {row["stage"].split(".")[-1]: row["self_ns"] for row in table["rows"]}
    got = {row["function"]: row["self"] for row in bench.report(output="s.pb.gz")["rows"]}
    bench.equal(got, want, "self times")


if __name__ == "__main__":
    main([run_one_process, run_heap_peaks, run_time_only, run_many_processes, run_profile])

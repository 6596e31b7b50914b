#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""faults.py TOOL FOLDER [CASE...]: page faults of a program that knows how many it has, and where."""

import os
import shutil

import live
from live import Skip

SLACK = 40  # of the loader and the C library, in memory of all kinds


def regions(bench, paths):
    """What the kinds of the workload are called."""
    return {"anon": "[anon]", "shared": "[shared]", "heap": "[heap]", "stack": "[stack]",
            "thread": "[thread stack]", "bss": f"{os.path.realpath(bench.workload('faults'))} [bss]",
            "file": paths[0], "shm": paths[1]}


def record(bench, *args, prefix=()):
    """The ranges of the workload: name to (start, end, pages)."""
    paths = (bench.path("data"), f"/dev/shm/auger-faults-{os.getpid()}")
    done = bench.record(*args, "--", bench.workload("faults"), *paths, prefix=prefix)
    if done.returncode and "perf_event_open(2)" in done.stderr:
        raise Skip(done.stderr.strip())
    rows = (line.split() for line in done.stdout.splitlines())
    return {row[0]: tuple(map(int, row[1:])) for row in rows if len(row) == 4}, paths


def told(bench, *args, output="p.pb.gz"):
    """The faults of each region, and how many are lost: 60,000 a second come, each with its stack."""
    report = bench.report("--by", "data", *args, output=output)
    return {row["data"]: row["total"] for row in report["rows"]}, report["lost"]


def check_count(bench, got, pages, lost, words):
    bench.check(pages - 2 - lost <= got <= pages + SLACK, f"{words}: {got}, want {pages}, {lost} lost")


def check_regions(bench, truth, paths, told_of):
    got, lost = told_of
    for name, region in regions(bench, paths).items():
        check_count(bench, got.get(region, 0), truth[name][2], lost, f"{region} of {got}")


def by_region(bench):
    """Each page is one fault, in the memory that it is of; all three events; perf.data, too."""
    truth, paths = record(bench, "-e", "page-faults", "-c", "1", "--raw", "raw.data")
    check_regions(bench, truth, paths, told(bench))
    check_regions(bench, truth, paths, told(bench, output="raw.data"))
    truth, paths = record(bench, "-e", "minor-faults", "-c", "1")
    check_regions(bench, truth, paths, told(bench))
    record(bench, "-e", "major-faults", "-c", "1")
    report = bench.report("--by", "data")
    bench.check(report["total"] < SLACK and report["type"] == "major-faults", report)


def stacks(bench):
    """Who touches it: each function of the workload, with the faults of its memory."""
    truth, paths = record(bench, "-e", "page-faults", "-c", "1")
    for function, name in (("touch_anon", "anon"), ("touch_heap", "heap"), ("run_thread", "thread")):
        got, lost = told(bench, "--focus", f"^{function}$")
        region = regions(bench, paths)[name]
        check_count(bench, got.get(region, 0), truth[name][2], lost, f"{function}: {got}")


def addresses(bench):
    """Each address lies in the memory that its sample says."""
    truth, paths = record(bench, "-e", "page-faults", "-c", "1", "--label", "address")
    names = {region: name for name, region in regions(bench, paths).items()}
    for region, name in names.items():
        rows = bench.report("--by", "label:address", "--label", f"data={region.replace('[', '.').replace(']', '.')}")
        start, end, pages = truth[name]
        inside = {row["address"] // 4096 for row in rows["rows"] if start <= row["address"] < end}
        bench.check(len(inside) >= pages - 2 - rows["lost"], f"{region}: {len(inside)} of {pages} pages")
        outside = sum(row["total"] for row in rows["rows"] if not start <= row["address"] < end)
        bench.check(outside <= SLACK, f"{region}: {outside} elsewhere")


def by_period(bench):
    """Each one is a sample; with -c N each Nth stands for N."""
    truth, _ = record(bench, "-e", "page-faults")
    want = truth["anon"][2]
    got, lost = told(bench, "--focus", "^touch_anon$")
    check_count(bench, got.get("[anon]", 0), want, lost, "touch_anon")
    report = bench.report("--by", "data")
    bench.equal(report["samples"], report["total"], "samples of each")
    record(bench, "-e", "page-faults", "-c", "20", "--raw", "raw.data")
    for output in ("p.pb.gz", "raw.data"):
        report = bench.report("--by", "data", output=output)
        bench.equal(report["samples"] * 20, report["total"], output)
        got = sum(row["total"] for row in report["rows"] if row["data"] == "[anon]")
        bench.check(want - 20 - report["lost"] <= got <= want + 20 + SLACK, f"{output}: {got}, want {want}")


def at_a_rate(bench):
    """At a frequency a sample stands for several faults: their sum is the number of faults."""
    record(bench, "-e", "page-faults", "-F", "999", "-g", "fp")
    report = bench.report("--by", "data")
    bench.check(0 < report["samples"] < report["total"], report["samples"])


def unprivileged(bench):
    """Also without privileges."""
    if os.geteuid() != 0:
        raise Skip("only root becomes another user")
    for name in ("auger", "faults"):
        shutil.copy(bench.tool if name == "auger" else bench.workload(name), bench.path(name))
    done = bench.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
                     "--bounding-set=-all", bench.path("auger"), "record", "-e", "page-faults", "-c", "1", "-o",
                     bench.path("p.pb.gz"), "--", bench.path("faults"), bench.path("data"),
                     f"/dev/shm/auger-faults-{os.getpid()}", status=None)
    if done.returncode:
        raise Skip(done.stderr.strip().splitlines()[-1])
    report = bench.report("--by", "data")  # little memory may be locked: some are lost
    bench.check(report["total"] + report["lost"] >= 2400, report)
    bench.check(any(row["data"] == "[anon]" for row in report["rows"]), report)


if __name__ == "__main__":
    live.main([by_region, stacks, addresses, by_period, at_a_rate, unprivileged])

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cache_aggregate.py AUGER: what putting the files of a job's ranks together costs: `auger cache aggregate`
against a script of Python that makes the same sums of metrics, operations and paths. RANKS (environment,
default 10000) ranks of three CSV files each, in a folder that is warm; the paths of most of them are the same. Prints
seconds, files a second, and the ratio to auger; then auger with twice the ranks. It gets ADDRESS_MIB of address
space whatever the ranks."""
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

import bench

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cache"))
sys.dont_write_bytecode = True
import ranks  # noqa: E402 # pylint: disable=wrong-import-position

AUGER = sys.argv[1]
RANKS = int(os.environ.get("RANKS", "10000"))
VARIANTS = 50 # ranks that are made; the others are copies by hard links
PATHS, TOP = 2000, 20
ADDRESS_MIB = 64
PEER = r"""
import csv, glob, os, sys
metrics, operations, paths = {}, {}, {}
def read(base):
    for name in glob.iglob(os.path.join(sys.argv[1], "profiling/final", "*-profiling_" + base + ".csv")):
        with open(name, newline="") as text:
            yield list(csv.DictReader(text))
for rows in read("aggregate"):
    for row in rows:
        metrics[row["metric"]] = metrics.get(row["metric"], 0.0) + float(row["value"])
columns = ["total_calls", "cache_hits", "cache_misses", "negative_results", "total_latency_s"]
for rows in read("operations"):
    for row in rows:
        sums = operations.setdefault(row["operation"], [0.0] * 5)
        for i, column in enumerate(columns):
            sums[i] += float(row[column])
for rows in read("top_paths"):
    for row in rows:
        key = row["category"], row["path"]
        paths[key] = paths.get(key, 0) + int(row["total_events"])
print(len(metrics), len(operations), sum(paths.values()))
"""


def make_job(job):
    """Each variant once; then its files under other names."""
    rng = random.Random(1)
    names = sorted({"/lus/env/lib/python3.12/site-packages/p%d/m%d.py" % (rng.randrange(200), i)
                    for i in range(PATHS)})
    for i in range(VARIANTS):
        rank = ranks.Rank(rng, "nid%06d-%d" % (i, 1000 + i), names)
        ranks.write_rank(job, rank, TOP, False)
    add_ranks(job, VARIANTS, RANKS)


def add_ranks(job, first, end):
    folder = f"{job}/profiling/final"
    for i in range(first, end):
        like = i % VARIANTS
        for base in ("aggregate", "operations", "top_paths"):
            os.link(f"{folder}/nid{like:06d}-{1000 + like}-profiling_{base}.csv",
                    f"{folder}/nid{i:06d}-{1000 + i}-profiling_{base}.csv")


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_MIB << 20, ADDRESS_MIB << 20))


def measure(command):
    """Seconds of the better of two runs: the first one warms."""
    best = None
    for _ in range(2):
        start = os.times().elapsed
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                          preexec_fn=limit_memory if command[0] == AUGER else None).returncode:
            sys.exit("%s failed" % command[0])
        took = os.times().elapsed - start
        best = took if best is None else min(best, took)
    return best


def show(what, count, seconds, base=None):
    print("%-28s %7.2f s %8.0f files/s %s"
          % (what, seconds, 3 * count / seconds, "x%.1f" % (seconds / base) if base else ""))
    return seconds


def limit_words():
    return f"within {ADDRESS_MIB} MiB"


def main():
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    job = tempfile.mkdtemp()
    try:
        make_job(job)
        base = show("auger, %d ranks" % RANKS, RANKS, measure([AUGER, "cache", "aggregate", job]))
        peer = show("python, the sums only", RANKS, measure([python, "-c", PEER, job]), base)
        bench.row(f"aggregate of {RANKS} ranks, {limit_words()}", base, "s", "python, the sums only", peer)
        add_ranks(job, RANKS, 2 * RANKS)
        twice = show("auger, %d ranks" % (2 * RANKS), 2 * RANKS, measure([AUGER, "cache", "aggregate", job]), base)
        bench.row(f"aggregate of {2 * RANKS} ranks, {limit_words()}", twice, "s")
    finally:
        shutil.rmtree(job)


if __name__ == "__main__":
    main()

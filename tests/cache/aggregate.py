#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aggregate.py AUGER: `auger cache aggregate` of random ranks, compared with sums computed here."""
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile

import ranks

AUGER = sys.argv[1]
ROUNDS = 12
COLUMNS = ["total_calls", "cache_hits", "cache_misses", "negative_results"]


def check_equal(what, got, want):
    if got != want:
        lacking = [row for row in want if row not in got][:5] if isinstance(want, list) else want
        surplus = [row for row in got if row not in want][:5] if isinstance(want, list) else got
        print("# %s: lacks %r, has %r" % (what, lacking, surplus), file=sys.stderr)
    return got == want


def read_csv(job, name):
    with open(f"{job}/profiling/cluster/x-profiling_{name}.csv", encoding="utf-8", newline="") as text:
        rows = list(csv.reader(text))
    # A cell that a spreadsheet would take for a formula has a ' in front.
    return [[cell[1:] if cell[:2] in ("'=", "'+", "'-", "'@") else cell for cell in row] for row in rows]


def seconds(us):
    return "%d.%06d" % divmod(us, 10 ** 6)


def by_host(rank):
    host, pid = rank.name.rsplit("-", 1)
    return os.fsencode(host), len(pid), pid


def metrics(all_ranks):
    rows = [("metric", "value"), ("ranks_with_aggregate_files", str(len(all_ranks)))]
    for name in sorted(ranks.METRICS + ["total_measured_latency_seconds"]):
        if name in ranks.METRICS:
            rows.append((name, str(sum(r.metrics[name] for r in all_ranks))))
        else:
            rows.append((name, seconds(sum(r.latency_us for r in all_ranks))))
    return [list(row) for row in rows]


def operations(all_ranks):
    rows = []
    for op in sorted({op for r in all_ranks for op in r.operations}):
        sums = [sum(r.operations.get(op, [0] * 5)[i] for r in all_ranks) for i in range(5)]
        rows.append([op, *map(str, sums[:4]), "%.2f" % (sums[4] / sums[0]), seconds(sums[4])])
    return rows


def ranges(all_ranks):
    """Minimum and maximum, with their ranks if only one rank has that value."""
    rows = {}
    for name in ranks.METRICS:
        rows[name, ""] = [r.metrics[name] for r in all_ranks]
    for op in {op for r in all_ranks for op in r.operations}:
        for i, column in enumerate(COLUMNS):
            rows[column, op] = [r.operations.get(op, [0] * 5)[i] for r in all_ranks]
    return {key: [str(len(v)), str(sum(v)), str(min(v)), "%.2f" % (sum(v) / len(v)), str(max(v))] +
            (["%.3f" % (max(v) * len(v) / sum(v))] if sum(v) else [""]) +
            ([all_ranks[v.index(max(v))].name] if min(v) != max(v) else [""]) for key, v in rows.items()}


def listed(rank, category, top, has_tables):
    """The rows that the rank reports, and the least events of a list that may be incomplete."""
    if has_tables:
        return rank.top(category, len(rank.paths)), 0
    counts = {c: min(top, sum(one == c for one, _ in rank.paths)) for c in ranks.TABLES}
    rows = rank.top(category, top)
    return rows, rows[-1][1][0] if rows and counts[category] == max(counts.values()) else 0


def costs(all_ranks, has_tables, category, path):
    """Time and bytes of ranks with tables that made such a request for the path."""
    its = [rank.cost(category, path) for rank, has in zip(all_ranks, has_tables) if has and path in rank.costs]
    if not any(cost[0] for cost in its):
        return ["", ""]
    ns, size = (sum(cost[i] for cost in its) for i in range(2))
    return ["%d.%03d" % divmod(ns, 1000), str(size)]


def top_paths(all_ranks, top, has_tables):
    rows = []
    for category in ranks.TABLES:
        sums, told, floors, floor = {}, {}, {}, 0
        for i, rank in enumerate(all_ranks):
            its_rows, least = listed(rank, category, top, has_tables[i])
            floor += least
            for path, row in its_rows:
                sums[path] = [a + b for a, b in zip(sums.get(path, [0] * 8), row)]
                told.setdefault(path, []).append(row[0])
                floors[path] = floors.get(path, 0) + least
        for path in sorted(sums, key=lambda path: (-sums[path][0], os.fsencode(path))):
            rows.append([category, path, *map(str, sums[path]), str(len(told[path])), str(min(told[path])),
                         str(max(told[path])), str(floor - floors[path]), *costs(all_ranks, has_tables, category, path)])
    return rows


def check_round(job, seed):
    rng = random.Random(seed)
    all_ranks = ranks.make_ranks(seed, rng.randrange(1, 25), rng.randrange(1, 60))
    top = rng.randrange(1, 30)
    has_tables = [rng.random() < 0.4 for _ in all_ranks]
    for i, rank in enumerate(all_ranks):
        ranks.write_rank(job, rank, top, has_tables[i], rng.choice(["final", "final", "pre-destroy", "ioctl-snapshot"]))
    result = subprocess.run([AUGER, "cache", "aggregate", "-n", "0", job, "x"], capture_output=True, check=False)
    if result.returncode or b"left out" in result.stderr:
        print("# %s" % result.stderr.decode(), file=sys.stderr)
        return False
    order = sorted(range(len(all_ranks)), key=lambda i: by_host(all_ranks[i]))
    all_ranks, has_tables = [all_ranks[i] for i in order], [has_tables[i] for i in order]
    got = {(row[0], row[1]): row[2:8] + row[9:] for row in read_csv(job, "ranges")[1:] if "latency" not in row[0]}
    paths = [row[:10] + row[11:14] + row[15:] for row in read_csv(job, "top_paths")[1:]]
    return all([check_equal("metrics", read_csv(job, "aggregate"), metrics(all_ranks)),
                check_equal("operations", read_csv(job, "operations")[1:], operations(all_ranks)),
                check_equal("ranges", sorted(got.items()), sorted(ranges(all_ranks).items())),
                check_equal("paths", paths, top_paths(all_ranks, top, has_tables))])


def main():
    failed = False
    for seed in range(1, ROUNDS + 1):
        job = tempfile.mkdtemp()
        try:
            ok = check_round(job, seed)
        finally:
            shutil.rmtree(job)
        failed |= not ok
        print("%sok %d - random ranks, seed %d" % ("" if ok else "not ", seed, seed))
    print("1..%d" % ROUNDS)
    sys.exit(failed)


main()

# SPDX-License-Identifier: MIT
"""Writes profiling files of generated ranks, with Copper's columns."""
import csv
import os
import random

OPERATIONS = ["getattr", "readlink", "open", "read", "statfs", "flush", "release", "opendir", "readdir", "init",
              "ioctl", "lseek"]
METRICS = ["total_counted_fuse_operations", "total_cache_hits", "total_cache_misses", "total_negative_results",
           "estimated_cache_served_operations_saved_by_copper", "metadata_enoent_ttl_stores",
           "metadata_enoent_ttl_serves", "metadata_enoent_ttl_expires",
           "metadata_enoent_ttl_clears_on_success_or_non_enoent",
           "estimated_repeated_metadata_lookups_avoided_by_ttl"]
TABLES = {"metadata": ("md_table_cache_event", "Metadata Cache"), "data": ("data_table_cache_event", "Data Cache"),
          "tree": ("tree_table_cache_event", "Tree Cache"),
          "metadata_ttl": ("md_ttl_cache_event", "Metadata ENOENT TTL")}
PATH_COLUMNS = ["total_events", "cache_hits", "cache_misses", "negative_results", "ttl_stores", "ttl_serves",
                "ttl_expires", "ttl_clears"]
HOSTS = ["nid%06d", "x4000-c%d-s0-b0-n0", "node-%d.site.example", "10.0.0.%d", "-%d-", "login%d"]


def random_path(rng):
    parts = ["lus", "flare", "conda_env", "lib", "python3.12", "site-packages", "torch", "lib", "x\ny", 'q"uo"te',
             "a,b", "sp ace", "gl*b", "|bar`", "é", "numpy", "__pycache__", "core.pyc", "libm.so.6", "$(id)"]
    return "/" + "/".join(rng.choice(parts) for _ in range(rng.randrange(1, 7)))


class Rank:
    """One rank: operations {name: [calls, hits, misses, negative, us]}, paths {(category, path): counts}."""

    def __init__(self, rng, name, paths):
        self.name = name
        chosen = rng.sample(OPERATIONS, rng.randrange(1, len(OPERATIONS)))
        self.operations = {op: [1 + rng.randrange(10 ** 7) for _ in range(4)] + [rng.randrange(10 ** 12)]
                           for op in OPERATIONS if op in chosen}
        self.metrics = {m: rng.randrange(10 ** 12) for m in METRICS}
        self.latency_us = rng.randrange(10 ** 13)
        self.paths = {}
        for category in TABLES:
            for path in rng.sample(paths, rng.randrange(len(paths) + 1)):
                few = rng.random() < 0.3
                counts = [0 if few else rng.randrange(1000) for _ in range(4 if category == "metadata_ttl" else 3)]
                counts[-1] += 1
                self.paths[category, path] = counts

        self.costs = {path: [rng.randrange(10 ** 9) if (category, path) in self.paths else 0
                             for category in ("metadata", "data", "tree", "data")] for _, path in self.paths}

    def row(self, category, path):
        counts = self.paths[category, path]
        if category == "metadata_ttl":
            return [sum(counts), 0, 0, 0, *counts]
        return [sum(counts), *counts, 0, 0, 0, 0]

    def cost(self, category, path):
        """Nanoseconds and bytes."""
        costs, at = self.costs[path], list(TABLES).index(category)
        return [costs[at] if at < 3 else 0, costs[3] if category == "data" else 0]

    def top(self, category, count):
        rows = [(path, self.row(c, path)) for c, path in self.paths if c == category]
        return sorted(rows, key=lambda row: (-row[1][0], row[0]))[:count]


def write_csv(path, head, rows):
    with open(path, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def write_table(path, title, blocks, labels):
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.write(f"{title} Events {{\n")
        for name, counts in blocks:
            out.write(f"{name} {{\n" + ",\n".join(f"{label}: {n}" for label, n in zip(labels, counts)) + "\n}\n")
        out.write("}")


def write_rank(job, rank, top, has_tables, tag="final"):
    """top: rows of a category in the list of top paths; 0: no list."""
    mark = "" if tag == "final" else f"-{tag}"
    start = f"{job}/profiling/{tag}/{rank.name}{mark}-"
    os.makedirs(f"{job}/profiling/{tag}", exist_ok=True)
    write_csv(start + "profiling_aggregate.csv", ["metric", "value"],
              [*rank.metrics.items(), ("total_measured_latency_seconds", "%d.%06d" % divmod(rank.latency_us, 10 ** 6))])
    write_csv(start + "profiling_operations.csv",
              ["operation", "total_calls", "cache_hits", "cache_misses", "negative_results", "avg_latency_us",
               "total_latency_s"],
              [[op, *v[:4], "%.2f" % (v[4] / v[0]), "%d.%06d" % divmod(v[4], 10 ** 6)]
               for op, v in rank.operations.items()])
    if top:
        write_csv(start + "profiling_top_paths.csv", ["category", "path", *PATH_COLUMNS],
                  [[category, path, *row] for category in TABLES for path, row in rank.top(category, top)])
    if not has_tables:
        return
    write_csv(start + "profiling_paths.csv",
              ["path", "getattr_calls", "cache_hits", "bytes", "getattr_us", "read_us", "readdir_us"],
              [[path, 1, 2, costs[3], *("%d.%03d" % divmod(ns, 1000) for ns in costs[:3])]
               for path, costs in getattr(rank, "costs", {}).items()])
    os.makedirs(f"{job}/tables/{tag}", exist_ok=True)
    for category, (base, title) in TABLES.items():
        labels = ["stores", "serves", "expires", "clears"] if category == "metadata_ttl" else \
            ["cache hits", "cache misses", "neg"]
        write_table(f"{job}/tables/{tag}/{rank.name}{mark}-{base}.output", title,
                    [(path, counts) for (c, path), counts in rank.paths.items() if c == category], labels)


def make_ranks(seed, count, path_count):
    rng = random.Random(seed)
    paths = sorted({random_path(rng) for _ in range(path_count)})
    return [Rank(rng, rng.choice(HOSTS) % i + "-%d" % (100 + i), paths) for i in range(count)]

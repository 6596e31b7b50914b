#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report_truth.py AUGER: what `auger report` says of random profiles must be what counting stack by
stack says, and what `go tool pprof` says of the same file (where Go is installed)."""
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "golden", "report"))
sys.dont_write_bytecode = True
from make_profiles import Profile  # noqa: E402

FUNCTIONS = 12
AUGER = sys.argv[1]


def name_of(number):
    return "f%d" % number


class Truth:
    """A random profile: its file, and the same stacks as lists of names."""

    def __init__(self, seed, path):
        rng = random.Random(seed)
        self.path = path
        self.stacks = []  # (names, outermost first; value; labels)
        profile = Profile([("samples", "count")])
        # One function a line, so that equal names are one function for every reader.
        locations = [[rng.randrange(FUNCTIONS) for _ in range(rng.choice((1, 1, 2, 3)))]
                     for _ in range(30)]
        for _ in range(200):
            chosen = [rng.choice(locations) for _ in range(rng.randrange(1, 15))]
            labels = [("pid", rng.randrange(3) + 1), ("comm", rng.choice("ab"))]
            value = rng.randrange(1, 1000)
            ids = [profile.location("/bin/x", [(name_of(f), "x.c", 1) for f in lines])
                   for lines in chosen]
            profile.sample(ids, [value], labels)
            names = [name_of(f) for lines in chosen for f in reversed(lines)]
            self.stacks.append((names, value, dict(labels)))
        profile.write(path)
        self.total = sum(value for _, value, _ in self.stacks)

    def functions(self):
        self_of, total_of = collections.Counter(), collections.Counter()
        for names, value, _ in self.stacks:
            self_of[names[-1]] += value
            for name in set(names):
                total_of[name] += value
        return {name: (self_of[name], total_of[name]) for name in total_of}

    def calls(self):
        edges = collections.Counter()
        for names, value, _ in self.stacks:
            for edge in set(zip(["[outermost]"] + names[:-1], names)):
                edges[edge] += value
        return dict(edges)

    def paths(self):
        totals = collections.Counter()
        for names, value, _ in self.stacks:
            for depth in range(len(names) + 1):
                totals[tuple(names[:depth])] += value
        return dict(totals)

    def labels(self, key):
        values = collections.Counter()
        for _, value, labels in self.stacks:
            values[labels[key]] += value
        return dict(values)


def report(path, *options):
    out = subprocess.run([AUGER, "report", "-f", "json", *options, path], check=True,
                         stdout=subprocess.PIPE).stdout
    return json.loads(out)


def same(what, got, want):
    if got == want:
        return True
    if isinstance(got, dict):
        keys = [key for key in got.keys() | want.keys() if got.get(key) != want.get(key)][:5]
        got, want = [{key: side.get(key) for key in keys} for side in (got, want)]
    print("%s: got %r, want %r" % (what, got, want), file=sys.stderr)
    return False


def check_functions(truth):
    data = report(truth.path)
    rows = {row["function"]: (row["self"], row["total"]) for row in data["rows"]}
    return (same("functions", rows, truth.functions()) and
            same("total", data["total"], truth.total) and
            same("sum of self", sum(row["self"] for row in data["rows"]), truth.total) and
            all(row["total"] >= row["self"] for row in data["rows"]))


def check_calls(truth):
    edges = {}
    selves = {}
    for row in report(truth.path, "--callers", ".", "--callees", ".")["rows"]:
        if row["relation"] == "caller":
            edges[row["function"], row["about"]] = row["value"]
        elif row["relation"] == "callee" and row["function"] == "[self]":
            selves[row["about"]] = row["value"]
        elif row["relation"] == "callee":
            edges.setdefault((row["about"], row["function"]), row["value"])
            if not same("both ends of an edge", row["value"],
                        edges[row["about"], row["function"]]):
                return False
    want = {name: values[0] for name, values in truth.functions().items() if values[0]}
    return same("calls", edges, truth.calls()) and same("selves", selves, want)


def check_tree(truth):
    """A row stands for some nested calls of one function, with the total of the outermost."""
    want, paths, path, selves = truth.paths(), {}, [], 0
    for row in report(truth.path, "--tree", "--min-percent", "0")["rows"]:
        del path[max(row["depth"] - 1, 0):]
        if row["depth"]:
            path.append(row["function"])
        # Inlined and called by the same caller are two nodes.
        paths[tuple(path)] = paths.get(tuple(path), 0) + row["total"]
        selves += row["self"]
        for _ in range(row["repeats"] - 1):
            path.append(row["function"])
            paths.setdefault(tuple(path), want.get(tuple(path)))
    return same("tree", paths, want) and same("selves of the tree", selves, truth.total)


def check_labels(truth):
    return all(
        same(key, {row[key]: row["total"] for row in report(truth.path, "--by", key)["rows"]},
             truth.labels(key)) for key in ("pid", "comm"))


def check_filter(truth):
    kept = [s for s in truth.stacks if "f3" in s[0] and "f5" not in s[0] and s[2]["comm"] == "a"]
    data = report(truth.path, "--focus", "^f3$", "--ignore", "^f5$", "--comm", "a")
    return (same("filtered", data["total"], sum(value for _, value, _ in kept)) and
            same("unfiltered", data["unfiltered_total"], truth.total))


def pprof(*options):
    return subprocess.run(["go", "tool", "pprof", "-nodecount=10000", "-nodefraction=0",
                           "-edgefraction=0", "-symbolize=none", *options],
                          check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          universal_newlines=True).stdout


def check_pprof_top(truth):
    rows = {}
    for line in pprof("-top", truth.path).splitlines():
        found = re.match(r" *(\d+) +\S+% +\S+% +(\d+) +\S+% +(\S+)", line)
        if found:
            rows[found[3]] = (int(found[1]), int(found[2]))
    data = report(truth.path)["rows"]
    return same("pprof -top", {row["function"]: (row["self"], row["total"]) for row in data}, rows)


def pprof_calls(text):
    """The edges of -peek: each block has callers, the function with its flat value, callees."""
    edges = {}
    for block in text.split("-" * 20):
        about, callers = None, []
        for line in block.splitlines():
            edge = re.match(r" +(\d+) +\S+% \| +(\S+)", line)
            node = re.match(r" *\d+ +\S+% +\S+% +\d+ +\S+% +\| (\S+)", line)
            if node:
                about = node[1]
                edges.update({(caller, about): value for caller, value in callers})
            elif edge and about is None:
                callers.append((edge[2], int(edge[1])))
            elif edge:
                edges[about, edge[2]] = int(edge[1])
    return edges


def check_pprof_peek(truth):
    want = pprof_calls(pprof("-peek=.", truth.path))
    got = {}
    for row in report(truth.path, "--callers", ".")["rows"]:
        # pprof has no edges from a function to itself
        if row["relation"] == "caller" and row["function"] not in ("[outermost]", row["about"]):
            got[row["function"], row["about"]] = row["value"]
    return same("pprof -peek", got, want)


def main():
    checks = [check_functions, check_calls, check_tree, check_labels, check_filter,
              check_pprof_top, check_pprof_peek]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        truths = [Truth(seed, os.path.join(folder, "%d.pb.gz" % seed)) for seed in range(4)]
        for number, check in enumerate(checks, 1):
            if "pprof" in check.__name__ and not shutil.which("go"):
                print("ok %d - %s # SKIP no go" % (number, check.__name__))
                continue
            passed = all([check(truth) for truth in truths])
            failed += not passed
            print("%s %d - %s" % ("ok" if passed else "not ok", number, check.__name__))
    print("1..%d" % len(checks))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

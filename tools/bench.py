#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench.py BUILD [NAME...]: runs the benches of tests/bench one after the other, or those named, and
sums up what they measured in one table: what, ours, peer, ratio (ours to the peer's), goal. The rows
are also written to BUILD/bench.json. A bench says them as `bench: {...}` on standard output; what
else it prints is in BUILD/meson-logs/bench.txt. Exit status 1: a bench failed; a goal that is
missed is no failure, for times are those of this machine."""
import json
import os
import subprocess
import sys

MARK = "bench: "


def run(build, names):
    """What Meson tells of each bench."""
    log = os.path.join(build, "meson-logs", "bench.json")
    if os.path.exists(log):
        os.unlink(log)
    subprocess.run(["meson", "test", "-C", build, "--benchmark", "--logbase", "bench", "--num-processes", "1", *names],
                   check=False, stdout=sys.stderr)
    with open(log, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def rows_of(test):
    """Its rows, with the name of the bench."""
    name = test["name"].split(" / ")[-1]
    return [{"bench": name, **json.loads(line[len(MARK):])}
            for line in test.get("stdout", "").splitlines() if line.startswith(MARK)]


def number(value):
    return "–" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def goal(row):
    text = f"≤ {number(row['most'])}" if row["most"] is not None else \
        f"≥ {number(row['least'])}" if row["least"] is not None else "–"
    return text + ("" if row["holds"] else " missed")


def cells(row):
    peer = "–" if row["peer"] is None else row["peer"] if row["peer_value"] is None else \
        f"{row['peer']} {number(row['peer_value'])}"
    return [f"{row['bench']}: {row['what']}", f"{number(row['value'])} {row['unit']}", peer,
            number(row["ratio"]), goal(row)]


def show(rows):
    table = [["what", "auger", "peer", "ratio", "goal"], *map(cells, rows)]
    widths = [max(map(len, column)) for column in zip(*table)]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def main():
    build, *names = sys.argv[1:]
    tests = run(build, names)
    rows = [row for test in tests for row in rows_of(test)]
    with open(os.path.join(build, "bench.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1, ensure_ascii=False)
        file.write("\n")
    show(rows)
    failed = [test["name"] for test in tests if test["result"] != "OK"]
    for name in failed:
        print(f"bench: {name} failed; see {build}/meson-logs/bench.txt", file=sys.stderr)
    return 1 if failed or not rows else 0


sys.exit(main())

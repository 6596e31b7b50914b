#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What perf records, read by auger and by perf. usage: perf.py AUGER SAME_STACKS LOAD

The samples must be as many, lie in the same files, and have the same stacks, address by address. TAP.
"""
import csv
import io
import os
import re
import subprocess
import sys
import tempfile

AUGER, SAME_STACKS, LOAD = (os.path.realpath(path) for path in sys.argv[1:4])
# Build ids only where asked for: perf 6.1 dies of them now and then on kernel 6.18.
NO_BUILD_IDS = ["-B"]
FIELDS = "comm,pid,tid,time,period,event,ip,sym,dso"

# name: what perf record is told, how perf script tells stacks, allowed difference in permille
CASES = {
    "frame pointers": (["-g", "-F", "999"], "fp", 10),
    "build ids": (["-N", "-g", "-F", "999"], "fp", 10),
    "one event a sample": (["-g", "-e", "page-faults", "-c", "1"], "fp", 10),
    "compressed": (["-g", "-z", "-F", "999"], "fp", 10),
    "a pipe": (["-g", "-F", "999", "-o", "-"], "fp", 10),
    "several events": (["-g", "-e", "cpu-clock,page-faults,context-switches", "-F", "999"], "fp", 10),
    "a group": (["-g", "-e", "{cpu-clock,page-faults}:S", "-F", "999"], "group", 10),
    "the whole machine": (["-g", "-a", "-F", "999"], "fp", 10),
    "more kinds of records": (["-g", "-F", "999", "--switch-events", "--namespaces", "-d"], "fp", 10),
    "build ids in the records": (["-g", "-F", "999", "--buildid-mmap"], "fp", 10),
    "no call chains": (["-F", "999"], "flat", 0),
    "copies of the stack": (["--call-graph", "dwarf,16384", "-F", "499"], "dwarf", 50),
    "a folder, by threads": (["--threads=cpu", "-g", "-F", "999"], "flat", 10),
    "a folder, packed": (["--threads=cpu", "-z", "-F", "999"], "flat", 10),
    "packed copies of the stack": (["--call-graph", "dwarf", "-F", "499", "-z"], "dwarf", 50),
}


def run(*args, **kwargs):
    return subprocess.run(args, capture_output=True, text=True, errors="replace", **kwargs)


def record(path, options):
    """None, or why perf cannot."""
    with open(path if "-" in options else os.devnull, "wb") as out:
        place = [] if "-" in options else ["-o", path]
        options = options if "-N" in options else [*NO_BUILD_IDS, *options]
        done = subprocess.run(["perf", "record", "-q", *options, *place, "--", LOAD], stdout=out,
                              stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if done.returncode == 0 and os.path.getsize(path):
        return None
    return (done.stderr.strip().splitlines() or ["perf record failed"])[-1]


def count_samples(path):
    """By perf, by auger. perf None: it cannot read what it wrote (6.1 dies of some pipes)."""
    script = run("perf", "script", "-i", path, "-G", "-F", "time,event")
    words = run(AUGER, "report", path, "-n", "1").stdout
    found = re.search(r"^# samples: (\d+)", words, re.M)
    by_perf = sum(1 for line in script.stdout.splitlines() if line.strip())
    return by_perf if script.returncode == 0 else None, int(found.group(1)) if found else 0


def shares_by_perf(path):
    """Percent by file; of the first event."""
    text = run("perf", "report", "-i", path, "--stdio", "--no-children", "-g", "none", "--sort", "dso", "-F",
               "overhead,dso", "--no-inline").stdout
    shares = {}
    for line in text.splitlines():
        found = re.match(r"\s*([\d.]+)%\s+(\S.*?)\s*$", line)
        if found:
            shares.setdefault(found.group(2).removesuffix(" (deleted)"), float(found.group(1)))
        elif line.startswith("# Samples:") and shares:
            break
    return shares


def shares_by_auger(path):
    text = run(AUGER, "report", path, "--by", "module", "-f", "csv", "-n", "0").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    total = sum(float(row["self"]) for row in rows) or 1
    return {row["module"]: 100 * float(row["self"]) / total for row in rows}


def judge(path, kind, permille):
    """Words on what is wrong, one a line."""
    by_perf, by_auger = count_samples(path)
    if by_perf is None:
        if not by_auger:
            yield "auger finds no sample"
        return
    if by_perf != by_auger:
        yield f"perf tells {by_perf} samples, auger {by_auger}"
    # perf report has a column for each event of a group
    perf, auger = ({}, {}) if kind == "group" else (shares_by_perf(path), shares_by_auger(path))
    for name, share in perf.items():
        if share >= 0.5 and abs(share - auger.get(name, 0)) > 0.1 + permille / 10:
            yield f"{name}: {share:.2f} % by perf, {auger.get(name, 0):.2f} % by auger"
    if kind == "flat":
        return
    with open(path + ".txt", "wb") as out:
        subprocess.run(["perf", "script", "-i", path, "-F", FIELDS, "--no-inline"], stdout=out,
                       stderr=subprocess.DEVNULL, check=True)
    same = run(SAME_STACKS, path, path + ".txt", str(permille), *(["dwarf"] if kind == "dwarf" else []))
    if same.returncode != 0:
        yield same.stdout.strip()


def main():
    failed = False
    print(f"1..{len(CASES)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="auger-perf-") as folder:
        for number, (name, (options, kind, permille)) in enumerate(CASES.items(), 1):
            path = os.path.join(folder, f"{number}.data")
            try:
                refused = record(path, options)
            except FileNotFoundError:
                refused = "there is no perf (linux-perf)"
            if refused:
                print(f"ok {number} - {name} # SKIP {refused}", flush=True)
                continue
            wrong = list(judge(path, kind, permille))
            for words in wrong:
                print(f"{name}: {words}", file=sys.stderr)
            failed |= bool(wrong)
            print(f"{'not ' if wrong else ''}ok {number} - {name}", flush=True)
    return failed


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""fuzz_long.py [--minutes N] [--total N] [--each N] [--table] BUILD [TARGET...]: runs the fuzz targets
of BUILD (configured with -Dfuzz=true) in slices of time, until all of them together had --total
executions [1e8] and each had --each [1e6], or for --minutes.

Executions are counted on from run to run in BUILD/fuzz-long/counts.json, and the inputs that reach
new code are kept in BUILD/fuzz-long/TARGET/corpus. A finding is kept in BUILD/fuzz-long/TARGET/found;
its target rests until the next run. --table prints the counts as Markdown and runs nothing. Exit
status: 1 with a finding, else 0."""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

SLICE = 60  # seconds of one target at a time
HERE = os.path.dirname(os.path.realpath(__file__))
FUZZ = os.path.join(HERE, "..", "tests", "fuzz")


def targets(build):
    """The program and the corpus of each target, by its name."""
    text = subprocess.run(["meson", "introspect", "--tests", build], check=True, stdout=subprocess.PIPE).stdout
    return {test["name"]: (os.path.join(build, test["cmd"][1]), test["cmd"][2]) for test in json.loads(text)
            if any(suite.endswith(("fuzz", "fuzz-peers")) for suite in test["suite"])}


class Counts:
    """Executions, seconds and findings of each target, in a file."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "counts.json")
        self.all = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.all = json.load(file)

    def of(self, name):
        return self.all.setdefault(name, {"executions": 0, "seconds": 0, "findings": 0})

    def add(self, name, executions, seconds, findings):
        count = self.of(name)
        count["executions"] += executions
        count["seconds"] += seconds
        count["findings"] += findings
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.all, file, indent=1, sort_keys=True)
        os.replace(self.path + ".new", self.path)

    def total(self):
        return sum(count["executions"] for count in self.all.values())


def run_slice(folder, name, program, corpus, seconds):
    """Returns executions and what was found: the end of the fuzzer's output, or ''."""
    kept, found = (os.path.join(folder, name, kind) for kind in ("corpus", "found"))
    os.makedirs(kept, exist_ok=True)
    os.makedirs(found, exist_ok=True)
    command = [program, f"-max_total_time={seconds}", "-timeout=60", "-rss_limit_mb=2048", "-close_fd_mask=1",
               "-reload=0", "-print_final_stats=1", f"-artifact_prefix={found}/"]
    words = os.path.join(FUZZ, "dict", name)
    if os.path.exists(words):
        command.append("-dict=" + words)
    fuzzer = subprocess.Popen([*command, kept, corpus], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
    try:
        text = fuzzer.communicate()[1]
    finally:
        fuzzer.kill()
    text = text.decode(errors="replace")
    stated = re.search(r"stat::number_of_executed_units: *(\d+)", text)
    numbered = re.findall(r"^#(\d+)\s", text, re.MULTILINE)
    executions = int(stated[1]) if stated else int(numbered[-1]) if numbered else 0
    return executions, "" if fuzzer.returncode == 0 else text[-4000:]


def show_table(counts):
    print("| target | executions | hours | a second |\n|---|--:|--:|--:|")
    for name in sorted(counts.all):
        count = counts.all[name]
        print(f"| {name} | {count['executions']:,} | {count['seconds'] / 3600:.2f} | "
              f"{count['executions'] / max(count['seconds'], 1):,.0f} |")
    hours = sum(count["seconds"] for count in counts.all.values()) / 3600
    print(f"| all | {counts.total():,} | {hours:.2f} | |")


def choose(counts, names, each):
    """Those below their number come first, then those that ran least."""
    return min(names, key=lambda name: (counts.of(name)["executions"] >= each, counts.of(name)["seconds"]))


def is_done(counts, names, args):
    return counts.total() >= args.total and all(counts.of(name)["executions"] >= args.each for name in names)


def campaign(args, folder, counts):
    programs = targets(args.build)
    names = [name for name in programs if not args.targets or name in args.targets]
    subprocess.run(["ninja", "-C", args.build, *(os.path.relpath(programs[name][0], args.build) for name in names)],
                   check=True, stdout=subprocess.DEVNULL)
    resting = set()
    until = time.monotonic() + 60 * args.minutes
    while len(resting) < len(names) and not is_done(counts, names, args):
        left = until - time.monotonic()
        if left < 1:
            break
        name = choose(counts, [name for name in names if name not in resting], args.each)
        began = time.monotonic()
        executions, finding = run_slice(folder, name, *programs[name], int(min(left, SLICE)))
        counts.add(name, executions, round(time.monotonic() - began), bool(finding))
        print(f"{name}: {executions:,}; {counts.of(name)['executions']:,} in all, {counts.total():,} of all targets",
              flush=True)
        if finding:
            print(f"{name}: a finding, kept in {folder}/{name}/found:\n{finding}", flush=True)
            resting.add(name)
    return 1 if resting else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--total", type=float, default=1e8)
    parser.add_argument("--each", type=float, default=1e6)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("build")
    parser.add_argument("targets", nargs="*")
    args = parser.parse_args()
    folder = os.path.realpath(os.path.join(args.build, "fuzz-long"))
    os.makedirs(folder, exist_ok=True)
    counts = Counts(folder)
    if args.table:
        show_table(counts)
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return campaign(args, folder, counts)
    except KeyboardInterrupt:
        return 130


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""fuzz_long.py [--minutes N] [--total N] [--each N] [--save] BUILD [TARGET...]: runs the fuzz targets of
BUILD (configured with -Dfuzz=true) in slices of time, until all of them together had --total executions
[1e8] and each had --each [1e6], or for --minutes.

Executions are counted on from run to run, by the commit that was run: those of BUILD in
BUILD/fuzz-long/counts.json, those of all machines in tests/fuzz/counts.json. --save moves the former to
the latter, also while another process counts, renews the table of docs/quality.md, and runs nothing.
Inputs that reach new code are kept in BUILD/fuzz-long/TARGET/corpus. A finding is kept in
BUILD/fuzz-long/TARGET/found; its target rests until the next run. Exit status: 1 with a finding, else 0."""
import argparse
import contextlib
import fcntl
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

SLICE = 60  # seconds of one target at a time
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
FUZZ = os.path.join(ROOT, "tests", "fuzz")
SAVED = os.path.join(FUZZ, "counts.json")
DOCUMENT = os.path.join(ROOT, "docs", "quality.md")
NUMBERS = ("executions", "seconds", "cpu_executions", "cpu_seconds", "findings")


def targets(build):
    """The program and the corpus of each target, by its name."""
    text = subprocess.run(["meson", "introspect", "--tests", build], check=True, stdout=subprocess.PIPE).stdout
    return {test["name"]: (os.path.join(build, test["cmd"][1]), test["cmd"][2]) for test in json.loads(text)
            if any(suite.endswith(("fuzz", "fuzz-peers")) for suite in test["suite"])}


def sources_commit():
    """Of the sources that are run: the last commit that main has, with a + for changes since."""
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], check=False, stdout=subprocess.PIPE)

    base = git("merge-base", "HEAD", "main")
    commit = base.stdout.decode().strip() if base.returncode == 0 else "HEAD"
    short = git("rev-parse", "--short=9", commit).stdout.decode().strip()
    return short + ("+" if git("diff", "--quiet", commit, "--", "src").returncode else "")


def load(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def store(path, value):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1, sort_keys=True)
        file.write("\n")
    os.replace(path + ".new", path)


def add(counts, commit, name, more):
    count = counts.setdefault(commit, {}).setdefault(name, dict.fromkeys(NUMBERS, 0))
    for key in more:
        count[key] += more[key]


class Counts:
    """NUMBERS by commit and target. Those with "cpu" are of runs whose CPU time is known."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "counts.json")

    @contextlib.contextmanager
    def locked(self):
        with open(self.path + ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def add(self, commit, name, more):
        with self.locked():
            here = load(self.path)
            add(here, commit, name, more)
            store(self.path, here)

    def save(self):
        with self.locked():
            saved = load(SAVED)
            for commit, of_targets in load(self.path).items():
                for name, count in of_targets.items():
                    add(saved, commit, name, count)
            store(SAVED, saved)
            store(self.path, {})

    def sums(self):
        """By target, of all commits, and of "all"."""
        sums = {}
        with self.locked():
            for counts in load(SAVED), load(self.path):
                for of_targets in counts.values():
                    for name, count in of_targets.items():
                        add(sums, "", name, count)
                        add(sums, "", "all", count)
        return sums.get("", {})


def show_number(number):
    return f"{number:,.0f}"


def put_table(sums):
    """Into the document, where there is one already."""
    lines = ["| target | executions | hours | a CPU second | findings |", "|---|--:|--:|--:|--:|"]
    for name in sorted(sums, key=lambda name: (name == "all", name)):
        count = sums[name]
        speed = show_number(count["cpu_executions"] / count["cpu_seconds"]) if count["cpu_seconds"] else "–"
        lines.append(f"| {name} | {show_number(count['executions'])} | {count['seconds'] / 3600:.2f} | {speed} | "
                     f"{count['findings']} |")
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"\| target \| executions .*?\n\n", lambda match: "\n".join(lines) + "\n\n", text, count=1,
                  flags=re.DOTALL)
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(text)


def run_slice(folder, name, program, corpus, seconds):
    """Returns executions and what was found: the end of the fuzzer's output, or ''."""
    kept, found = (os.path.join(folder, name, kind) for kind in ("corpus", "found"))
    os.makedirs(kept, exist_ok=True)
    os.makedirs(found, exist_ok=True)
    command = [os.path.join(FUZZ, "fuzzer.sh"), program, f"-max_total_time={seconds}", "-timeout=60",
               "-print_final_stats=1", f"-artifact_prefix={found}/"]
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


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def campaign(args, folder, counts):
    programs = targets(args.build)
    names = [name for name in programs if not args.targets or name in args.targets]
    subprocess.run(["ninja", "-C", args.build, *(os.path.relpath(programs[name][0], args.build) for name in names)],
                   check=True, stdout=subprocess.DEVNULL)
    commit = sources_commit()
    resting = set()
    until = time.monotonic() + 60 * args.minutes
    while len(resting) < len(names):
        sums = counts.sums()
        none = dict.fromkeys(NUMBERS, 0)
        lacking = {name for name in names if sums.get(name, none)["executions"] < args.each}
        left = until - time.monotonic()
        if left < 1 or not lacking and sums["all"]["executions"] >= args.total:
            break
        # those below their number come first, then those that ran least
        name = min((name for name in names if name not in resting),
                   key=lambda name: (name not in lacking, sums.get(name, none)["seconds"]))
        began, cpu_began = time.monotonic(), cpu_seconds()
        executions, finding = run_slice(folder, name, *programs[name], int(min(left, SLICE)))
        counts.add(commit, name, {"executions": executions, "cpu_executions": executions,
                                  "seconds": round(time.monotonic() - began),
                                  "cpu_seconds": round(cpu_seconds() - cpu_began), "findings": int(bool(finding))})
        print(f"{name}: {executions:,}; {counts.sums()[name]['executions']:,} in all, "
              f"{counts.sums()['all']['executions']:,} of all targets", flush=True)
        if finding:
            print(f"{name}: a finding, kept in {folder}/{name}/found:\n{finding}", flush=True)
            resting.add(name)
    return 1 if resting else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--total", type=float, default=1e8)
    parser.add_argument("--each", type=float, default=1e6)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("build")
    parser.add_argument("targets", nargs="*")
    args = parser.parse_args()
    folder = os.path.realpath(os.path.join(args.build, "fuzz-long"))
    os.makedirs(folder, exist_ok=True)
    counts = Counts(folder)
    if args.save:
        counts.save()
        put_table(counts.sums())
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return campaign(args, folder, counts)
    except KeyboardInterrupt:
        return 130


sys.exit(main())

# SPDX-License-Identifier: MIT
"""TAP cases around programs that tell their own truth.

A case is a function that is given a Bench; check() fails it and goes on. Nothing here asserts
on time: shares are compared within what a sample of that size may differ.
"""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile

SIGMAS = 5  # by chance, one comparison in a million is off by more


class Skip(Exception):
    """The machine lacks something: the case says what."""


class Bench:
    """A folder of its own, the tool, and the workloads."""

    def __init__(self, tool, workloads):
        self.tool = os.path.realpath(tool)
        self.workloads = os.path.realpath(workloads)
        self.folder = tempfile.mkdtemp(prefix="auger-live-")
        os.chmod(self.folder, 0o777)  # other users write here, too
        self.failed = False

    def path(self, name):
        return os.path.join(self.folder, name)

    def workload(self, name):
        return os.path.join(self.workloads, name)

    def check(self, condition, words):
        if not condition:
            self.failed = True
            print(words, file=sys.stderr)
        return condition

    def equal(self, got, want, words):
        return self.check(got == want, f"{words}: got {got!r}, want {want!r}")

    def run(self, *command, status=0, stdin=None, prefix=()):
        """Runs a command to its end, with output as text."""
        done = subprocess.run(
            [*prefix, *command],
            cwd=self.folder,
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        if status is not None and done.returncode != status:
            self.check(False, f"{command}: exit status {done.returncode}: {done.stderr}")
        return done

    def start(self, *command, **options):
        return subprocess.Popen(command, cwd=self.folder, text=True, **options)

    def record(self, *args, status=0, stdin=None, prefix=(), output="p.pb.gz"):
        return self.run(self.tool, "record", "-o", output, *args, status=status, stdin=stdin,
                        prefix=prefix)

    def report(self, *args, output="p.pb.gz"):
        """What auger report says of a profile, as an object."""
        done = self.run(self.tool, "report", output, "-f", "json", *args)
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            self.check(False, f"report {args}: {error}: {done.stdout[:200]} {done.stderr}")
            return {"rows": [], "total": 0, "samples": 0, "lost": 0, "comment": []}

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def truth(text):
    """The lines "NAME ... NUMBER" of a workload, by name."""
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: int(row[-1]) for row in rows if len(row) > 1}


def totals(report, key="function"):
    """The total of each name, as a share of the whole."""
    whole = report["total"] or 1
    shares = {}
    for row in report["rows"]:
        shares[row[key]] = shares.get(row[key], 0) + row["total"] / whole
    return shares


def within(got, want, samples, slack=0.01):
    """May a share that is want be got from so many samples?"""
    if samples == 0:
        return False
    spread = math.sqrt(max(want * (1 - want), 1 / samples) / samples)
    return abs(got - want) <= SIGMAS * spread + slack


def main(cases):
    """main(cases): runs them with "TOOL WORKLOADS [CASE...]" of the command line."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
    os.environ.pop("DEBUGINFOD_URLS", None)
    tool, workloads, *names = sys.argv[1:]
    number = 0
    bad = False
    for case in cases:
        name = case.__name__
        if names and name not in names:
            continue
        number += 1
        bench = Bench(tool, workloads)
        skipped = ""
        try:
            case(bench)
        except Skip as reason:
            skipped = f" # SKIP {reason}"
        except (OSError, subprocess.SubprocessError, KeyError, IndexError, ValueError) as error:
            bench.check(False, f"{name}: {type(error).__name__}: {error}")
        finally:
            bench.close()
        bad |= bench.failed
        print(f"{'not ok' if bench.failed else 'ok'} {number} - {name}{skipped}", flush=True)
    print(f"1..{number}")
    sys.exit(bad)

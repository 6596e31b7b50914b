#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""runner.py TOOLS: what runs the tests, tested: counts, flaky tests, and what a run leaves. TAP."""
import json
import os
import subprocess
import sys
import tempfile

TOOLS = os.path.realpath(sys.argv[1])
GOOD = {"result": "OK", "stdout": "ok 1 - a\nok 2 - b # SKIP none\n1..2\n"}
BAD = {"result": "FAIL", "stdout": "not ok 1 - a\nok 2 - b # SKIP none\n1..2\n", "stderr": "got 1, want 2\n"}
CRASH = {"result": "ERROR", "stdout": "ok 1 - a\n", "stderr": ""}


def count(option, *logs):
    """What count_tests.py prints for logs, a list of (test, how it ended) each."""
    with tempfile.TemporaryDirectory() as build:
        os.mkdir(f"{build}/meson-logs")
        paths = [f"{build}/meson-logs/{number}.json" for number in range(len(logs))]
        for path, log in zip(paths, logs):
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps({"name": name, **run}) + "\n" for name, run in log)
        done = subprocess.run([f"{TOOLS}/count_tests.py", option, *paths], check=True, text=True,
                              stdout=subprocess.PIPE)
        return done.stdout.replace(build, "BUILD")


def test_totals():
    assert count("--totals", [("p:unit / x", GOOD), ("p:unit / y", CRASH)]) == "2 1 1\n"
    assert count("--totals", []) == "0 0 0\n"


def test_repeated():
    """The later run counts."""
    first, second = [("p:live / x", BAD), ("p:unit / y", BAD)], [("p:live / x", GOOD)]
    assert count("--failed-live", first) == "x\n"
    assert count("--totals", first, second) == "1 1 2\n"
    assert count("--failed", first, second) == "BUILD: p:unit / y: not ok 1 - a\n    got 1, want 2\n"


def test_flaky():
    first, second = [("p:live / x", BAD), ("p:live / y", BAD)], [("p:live / x", GOOD), ("p:live / y", BAD)]
    assert count("--flaky", first, second) == \
        "flaky: BUILD: p:live / x: not ok 1 - a\n    got 1, want 2\n1 flaky: x (BUILD)\n"
    assert count("--flaky", [("p:live / x", GOOD)]) == ""


class Run:
    """A run of tests that has done nothing so far."""

    def __init__(self):
        self.env = {**os.environ, "CI": ""}
        self.folder = subprocess.run([f"{TOOLS}/leftovers.py", "begin"], check=True, text=True, env=self.env,
                                     stdout=subprocess.PIPE).stdout.strip()
        self.tmp = f"{self.folder}/tmp"

    def start(self, mark, cwd="/"):
        return subprocess.Popen(["sleep", "1000"], env={"AUGER_TEST_RUN": mark, "PATH": os.environ["PATH"]}, cwd=cwd)

    def end(self):
        done = subprocess.run([f"{TOOLS}/leftovers.py", "end", self.folder], check=False, text=True, env=self.env,
                              stdout=subprocess.PIPE)
        assert not os.path.exists(self.folder)
        return done.returncode, done.stdout


def test_nothing_left():
    run = Run()
    assert os.stat(run.tmp).st_mode & 0o7777 == 0o1777
    with run.start("another run") as other:
        assert run.end() == (0, "")
        assert other.poll() is None
        other.kill()


def test_left():
    """Processes by mark and by place, files, mounts."""
    run = Run()
    os.mkdir(f"{run.tmp}/folder")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "none", f"{run.tmp}/folder"], check=False,
                             stderr=subprocess.DEVNULL).returncode == 0
    with run.start(run.folder) as marked, run.start("", run.tmp) as placed:
        status, words = run.end()
        assert status == 1, words
        assert (marked.wait(), placed.wait()) == (-9, -9)
    for what in (f"process {marked.pid}: sleep 1000", f"process {placed.pid}: sleep 1000", f"file {run.tmp}/folder",
                 *([f"mount {run.tmp}/folder"] if mounted else [])):
        assert f"left behind: {what}\n" in words, (what, words)


def main():
    bad = 0
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            bad = 1
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            print(f"not ok {number} - {name}", flush=True)
    print(f"1..{len(tests)}")
    return bad


sys.exit(main())

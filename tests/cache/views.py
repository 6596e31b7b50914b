# SPDX-License-Identifier: MIT
"""Shared by tests of views: folders, mounts that end with the test, and the loop over tests."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

AUGER = os.path.abspath(sys.argv[1])
LONGEST_S = 100  # of a test; five times that with a sanitizer


def run(*words, **more):
    return subprocess.run([AUGER, "cache", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, **more)


def daemon_of(view):
    """The process that serves the view."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return next(int(line.split(" auger:")[1].split(":")[0]) for line in f if f" {view} " in line)


def guardian_of(daemon):
    """The process that ends the view if the daemon is killed. It may just have been forked, and have its parent's name."""
    until = time.monotonic() + 20
    while True:
        with open(f"/proc/{daemon}/task/{daemon}/children", encoding="ascii") as f:
            found = [int(p) for p in f.read().split() if comm(p) == "auger-guardian"]
        if found:
            return found[0]
        assert time.monotonic() < until, "no guardian"
        time.sleep(0.01)


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return ""


def usage(view):
    """The memory of each table, as `auger cache stats` reports it."""
    return {row["table"]: row for row in json.loads(run("stats", "-f", "json", view).stdout)["rows"]}


def is_sanitized():
    """Sanitizers keep what was freed."""
    with open(AUGER, "rb") as f:
        return re.search(rb"__[at]san_init", f.read()) is not None


def outcome(call, *args):
    try:
        return call(*args)
    except OSError as e:
        return e.errno
    except ValueError as e:  # an empty file cannot be mapped
        return str(e)


class Bench:
    """A folder with a target, and a view of it."""

    def __init__(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="auger-cache-"))
        self.target, self.view = f"{self.dir}/target", f"{self.dir}/view"
        os.mkdir(self.target)
        os.mkdir(self.view)
        self.daemons = []

    def mount(self, *options, target=None, view=None, **more):
        """Mounts in the foreground, so that the test can end the daemon."""
        view = view or self.view
        daemon = subprocess.Popen([AUGER, "cache", "mount", "--foreground", "--target", target or self.target, *options, view],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)
        self.daemons.append((daemon, view))
        line = daemon.stderr.readline()
        while "ready after" not in line:
            assert line.startswith("auger: cache: "), line
            line = daemon.stderr.readline()
        return daemon

    def end(self):
        """Unmounts all, and returns the last messages of the daemons. A view may live on in another mount namespace:
        SIGTERM ends that, too."""
        words = ""
        for daemon, view in self.daemons:
            subprocess.run(["umount", "-l", view], stderr=subprocess.DEVNULL, check=False)
            try:
                words += daemon.communicate(timeout=10)[1]
            except subprocess.TimeoutExpired:
                daemon.terminate()
                words += self.end_slow(daemon)
        self.daemons = []
        return words

    @staticmethod
    def end_slow(daemon):
        try:
            return daemon.communicate(timeout=120)[1]
        except subprocess.TimeoutExpired:
            daemon.kill()
            return "the daemon did not end" + daemon.communicate()[1]

    def close(self):
        self.end()
        shutil.rmtree(self.dir)


def end_quietly(bench, name, may_speak):
    words = bench.end()
    assert not words or name in may_speak, words


def give_up(*_):
    raise TimeoutError("the test did not end in time")


def run_tests(tests, make_bench, after=lambda bench, name: None):
    """Runs (name, test) pairs, each with a bench of its own. Prints TAP, returns the exit status."""
    signal.signal(signal.SIGALRM, give_up)
    longest = LONGEST_S * (5 if is_sanitized() else 1)
    if not os.path.exists("/dev/fuse") or not shutil.which("fusermount3"):
        print("1..0 # SKIP no FUSE here")
        return 0
    bad = 0
    for i, (name, test) in enumerate(tests):
        bench = make_bench()
        signal.alarm(longest)
        try:
            test(bench)
            after(bench, name)
            print(f"ok {i + 1} - {name}", flush=True)
        except Exception as e:  # pylint: disable=broad-except
            bad += 1
            traceback.print_tb(e.__traceback__)
            print(f"{name}: {type(e).__name__}: {e}", file=sys.stderr)
            print(f"not ok {i + 1} - {name}", flush=True)
            print(bench.end() or "", end="", file=sys.stderr)  # what the daemons have printed
        finally:
            signal.alarm(0)
            bench.close()
    print(f"1..{len(tests)}")
    return 1 if bad else 0


def main(names, may_speak=()):
    """Runs all functions test_*, each with a Bench of its own. Only certain daemons may print at the end."""
    tests = [(n, t) for n, t in names.items() if n.startswith("test_")]
    return run_tests(tests, Bench, lambda bench, name: end_quietly(bench, name, may_speak))

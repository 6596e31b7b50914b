#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py AUGER: a command that finds its files through a cache, for its life and no longer."""
import glob
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import views

AUGER = views.AUGER


class Bench:
    """A target with a program and a library of Python, and a folder for all that is temporary."""

    def __init__(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="auger-run-"))
        self.target, self.tmp, self.job = (f"{self.dir}/{name}" for name in ("target", "tmp", "job"))
        os.makedirs(f"{self.target}/bin")
        os.makedirs(f"{self.target}/lib")
        os.mkdir(self.tmp)
        with open(f"{self.target}/lib/answer.py", "w", encoding="ascii") as f:
            f.write("VALUE = 42\n")
        with open(f"{self.target}/bin/where", "w", encoding="ascii") as f:
            f.write("#!/bin/sh\necho \"$0\"\n")
        os.chmod(f"{self.target}/bin/where", 0o755)
        self.env = dict(os.environ, TMPDIR=self.tmp, PATH=f"{self.target}/bin:{os.environ['PATH']}",
                        PYTHONPATH=f"{self.target}/lib:/elsewhere", MORE=f"{self.target}/lib", PYTHONDONTWRITEBYTECODE="1")

    def run(self, *words):
        return subprocess.run([AUGER, "cache", "run", "--target", self.target, *words], env=self.env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)

    def start(self, *words):
        return subprocess.Popen([AUGER, "cache", "run", "--target", self.target, *words], env=self.env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def mounts(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            return [line.split()[4] for line in f if f" {self.dir}/" in line]

    def daemon(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            return int(re.search(rf" {re.escape(self.tmp)}/.* auger:(\d+) ", f.read())[1])

    def check_gone(self):
        assert not self.mounts(), self.mounts()
        assert not os.listdir(self.tmp), os.listdir(self.tmp)

    def close(self):
        for view in self.mounts():
            subprocess.run(["umount", "-l", view], check=False)
        shutil.rmtree(self.dir)


def test_through(bench):
    """Programs and modules come from the view; standard output is the command's alone; its status is ours."""
    done = bench.run("--env", "MORE", "--", "/usr/bin/python3", "-c",
                     "import answer, os, sys; print(answer.__file__, answer.VALUE, os.environ['MORE']); sys.exit(7)")
    assert done.returncode == 7, done
    file, value, more = done.stdout.split()
    view = file.removesuffix("/lib/answer.py")
    assert view.startswith(bench.tmp) and view.endswith("/view") and value == "42" and more == f"{view}/lib", done
    assert f"auger cache: PYTHONPATH={view}/lib:/elsewhere\n" in done.stderr, done
    assert f"auger cache: PATH={view}/bin:{os.environ['PATH']}\n" in done.stderr, done
    assert "# Copper Profiling Summary" in done.stderr and "| `getattr` |" in done.stderr, done
    bench.check_gone()
    done = bench.run("--", "where")
    assert done.stdout.endswith("/view/bin/where\n"), done
    done = bench.run("--", f"{bench.target}/bin/where")
    assert done.stdout.endswith("/view/bin/where\n") and "auger cache: runs " in done.stderr, done
    bench.check_gone()


def test_job(bench):
    done = bench.run("--job-dir", bench.job, "--profile-paths", "--", "where")
    assert done.returncode == 0 and f"the profile is in {bench.job}/profiling/final" in done.stderr, done
    with open(glob.glob(f"{bench.job}/tables/final/*-md_table_cache_event.output")[0], encoding="utf-8") as f:
        assert f"\n{bench.target}/bin/where {{\n" in f.read()
    bench.check_gone()


def test_wrong(bench):
    done = bench.run("--", "no-such-program")
    assert done.returncode == 127 and "no-such-program" in done.stderr, done
    done = bench.run("--", f"{bench.target}/lib/answer.py")
    assert done.returncode == 126, done
    assert bench.run("--").returncode == 2
    assert bench.run("--budget", "1", "--", "true").returncode == 2
    done = subprocess.run([AUGER, "cache", "run", "--target", "/nowhere", "true"], env=bench.env, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 1 and "/nowhere" in done.stderr, done
    bench.check_gone()


def test_signals(bench):
    """The command gets the signal; then all is unmounted and told as ever."""
    for number in (signal.SIGTERM, signal.SIGINT):
        with bench.start("--", "/bin/sh", "-c", "cat \"$MORE\"/answer.py; exec sleep 100") as job:
            assert job.stdout.readline() == "VALUE = 42\n"
            job.send_signal(number)
            words = job.communicate(timeout=60)[1]
            assert job.returncode == 128 + number and "Profiling Summary" in words, (job.returncode, words)
        bench.check_gone()


def test_killed(bench):
    """When we are killed, the view goes, too."""
    with bench.start("--", "/bin/sh", "-c", "echo on; exec sleep 100 >&- 2>&-") as job:
        assert job.stdout.readline() == "on\n"
        pid_fd = os.pidfd_open(bench.daemon())
        child = int(open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="ascii").read().split()[-1])
        job.kill()
        job.wait()
        assert select.select([pid_fd], [], [], 60)[0]
        os.close(pid_fd)
        os.kill(child, signal.SIGKILL)
    assert not bench.mounts(), bench.mounts()


def test_left(bench):
    """Who stays in the view does not keep it."""
    done = bench.run("--env", "MORE", "--", "/bin/sh", "-c", "cd \"$MORE\" && { sleep 100 >/dev/null 2>&1 & echo $!; }")
    try:
        assert done.returncode == 0 and "unmounted all the same" in done.stderr and "Profiling Summary" in done.stderr, done
    finally:
        os.kill(int(done.stdout), signal.SIGKILL)
    begin = time.monotonic()
    while bench.mounts() and time.monotonic() - begin < 60:
        time.sleep(0.05)
    bench.check_gone()


sys.exit(views.run_tests([(n, t) for n, t in list(globals().items()) if n.startswith("test_")], Bench))

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""hung.py TOOL WORKLOADS [CASE...]: storage that does not reply any more holds no recorder.

The workload lies in a file system of tests/cache/faulty, which hangs for as long as its rules say."""

import os
import re
import shutil
import signal
import subprocess
import time

import live
from live import Skip, totals

SOON_S = 60  # for what takes two or three seconds on an idle machine


class Hanging:
    """A folder whose file "prog" (bulky.c) hangs, or not."""

    def __init__(self, bench):
        self.bench, self.rules = bench, bench.path("rules")
        self.source, self.mount = bench.path("source"), bench.path("mount")
        self.prog = os.path.join(self.mount, "prog")

    def __enter__(self):
        faulty = os.path.join(self.bench.workloads, "..", "cache", "faulty")
        if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
            raise Skip("needs root and FUSE")
        for folder in (self.source, self.mount):
            os.mkdir(folder)
        shutil.copy(self.bench.workload("bulky"), os.path.join(self.source, "prog"))
        self.rule("")
        self.server = subprocess.Popen([faulty, self.source, self.rules, self.mount], stdin=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        self.started = []
        self.bench.check(wait_for(lambda: os.path.ismount(self.mount)), "the file system is mounted")
        return self

    def __exit__(self, *_):
        for process in self.started:
            process.kill()
        self.rule("")
        subprocess.run(["umount", "-l", self.mount], stderr=subprocess.DEVNULL, check=False)
        self.server.kill()
        self.server.wait()
        for process in self.started:
            process.wait()

    def rule(self, line):
        with open(self.rules + ".new", "w", encoding="ascii") as file:
            file.write(line + "\n")
        os.rename(self.rules + ".new", self.rules)

    def start(self, *command):
        """A program that runs until the end of the case; with the files that it prints into."""
        number = len(self.started)
        out, err = (self.bench.path(f"{name}{number}") for name in ("out", "err"))
        with open(out, "wb") as out_file, open(err, "wb") as err_file:
            process = self.bench.start(*command, stdin=subprocess.DEVNULL, stdout=out_file, stderr=err_file)
        process.out, process.err = out, err
        self.started.append(process)
        return process

    def spin(self, program):
        process = self.start(program)
        self.bench.check(wait_for(lambda: content(process.out) == "runs\n"), "a spinning program")
        return process


def wait_for(condition, seconds=SOON_S):
    last = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > last:
            return False
        time.sleep(0.02)
    return True


def is_pending(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search("ShdPnd:\t(.*)", file.read()).group(1), 16) >> number - 1 & 1


def content(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def end(bench, process, *numbers):
    """Ends it by these signals. Returns what it printed on standard error."""
    for i, number in enumerate(numbers):
        if i:  # the one before is taken, and passed on
            wait_for(lambda: not is_pending(process.pid, numbers[0]))
        process.send_signal(number)
    try:
        process.wait(SOON_S)
    except subprocess.TimeoutExpired:
        bench.check(False, f"{process.args} does not end")
    return content(process.err)


def named(bench):
    """As long as it replies it is storage like any other, also for a naming process of another user."""
    with Hanging(bench) as storage:
        program = storage.spin(storage.prog)
        auger = storage.start(bench.tool, "record", "-p", str(program.pid), "-d", "1", "-o", "p.pb.gz")
        said = end(bench, auger)
        bench.equal(auger.returncode, 0, said)
        bench.check(totals(bench.report()).get("hot", 0) > 0.5, said)


def opens(bench):
    """A file that cannot be opened or read any more: all else is recorded and named, and one line says so."""
    with Hanging(bench) as storage:
        hung, other = storage.spin(storage.prog), storage.spin(bench.workload("bulky"))
        both = ["-p", f"{hung.pid},{other.pid}"]
        for operation, kind, which in (("open", "hang", ["-a"]), ("read", "inner", both)):
            storage.rule(f"{operation} prog {kind}")
            auger = storage.start(bench.tool, "record", *which, "-d", "1", "-o", operation + ".pb.gz")
            said = end(bench, auger)
            bench.equal(auger.returncode, 0, operation)
            bench.equal(said.count(f"{storage.prog}: its storage does not reply"), 1, said)
            storage.rule("")
            report = bench.report("--pid", str(other.pid), output=operation + ".pb.gz")
            bench.check(totals(report).get("hot", 0) > 0.5, report["rows"][:5])
            report = bench.report("--pid", str(hung.pid), output=operation + ".pb.gz")
            bench.check(report["samples"] > 0, "samples of the program whose file hangs")


def execs(bench):
    """A program that hangs in its exec: a signal ends the recorder, which says so."""
    with Hanging(bench) as storage:
        storage.rule("open prog hang")
        for words, status in ((["record", "-o", "p.pb.gz"], 126), (["stat"], 126), (["syscalls", "--method", "perf"], 126)):
            auger = storage.start(bench.tool, *words, "--", storage.prog)
            bench.check(wait_for(lambda: in_exec(auger.pid)), f"{words}: the program is in its exec")
            said = end(bench, auger, signal.SIGINT)
            bench.check("a signal came before it was executed" in said, said)
            bench.equal(auger.returncode, status, words)
        auger = storage.start(bench.tool, "syscalls", "--method", "ptrace", "--", storage.prog)
        bench.check(wait_for(lambda: in_exec(auger.pid)), "ptrace: the program is in its exec")
        end(bench, auger, signal.SIGINT, signal.SIGINT)
        bench.check(not os.path.exists(bench.path("p.pb.gz")), "a profile")


def relocated(bench):
    """A job whose program hangs is not moved, and the reason is told."""
    with Hanging(bench) as storage:
        hung = storage.spin(storage.prog)
        os.mkdir(bench.path("old"))
        storage.rule("open prog hang")
        auger = storage.start(bench.tool, "relocate", "--dry-run", "-p", str(hung.pid), "--from", bench.path("old"), "--to",
                              f"/dev/shm/{os.path.basename(bench.folder)}")
        said = end(bench, auger)
        bench.equal(auger.returncode, 1, said)
        bench.check("the storage of its program does not reply" in said, said)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def in_exec(pid):
    """Does a child of it wait for the storage? In execve(2), the 59th call of x86-64, the 221st of others."""
    number = "59" if os.uname().machine == "x86_64" else "221"
    for child in children(pid):
        try:
            with open(f"/proc/{child}/syscall", encoding="ascii") as file:
                if file.read().split()[0] == number:
                    return True
        except (OSError, IndexError):
            pass
    return False


live.main([named, opens, execs, relocated])

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""scale.py TOOL MATRICES [CASE...]: auger stat --scale, with programs of which is known what grows."""

import json
import os
import subprocess
import sys

import live
from live import Skip

POOL = "/proc/sys/vm/nr_hugepages"
POOL_PAGES = 100  # for the 24 matrices of one copy
SPIN = "import time\nwhile time.process_time() < 0.3: pass"


def python(words):
    return ("/usr/bin/python3", "-c", words)


def scale(bench, *args, status=0, prefix=()):
    """The rows of each table by its name; story: its lines."""
    bench.run(bench.tool, "stat", "-f", "json", "-o", "s.json", *args, status=status, prefix=prefix)
    with open(bench.path("s.json"), encoding="utf-8") as file:
        told = json.load(file)
    tables = {name: part["rows"] for name, part in told.items()}
    tables["story"] = [row["story"] for row in tables["story"]]
    tables["files"] = [row["file"] for row in tables["files"]]
    return tables


class Pool:
    """Huge pages, as long as it lasts."""

    def __enter__(self):
        with open(POOL, encoding="ascii") as file:
            self.before = file.read()
        try:
            self.set(str(int(self.before) + POOL_PAGES))
        except OSError as error:
            raise Skip(f"vm.nr_hugepages: {error}") from error
        with open(POOL, encoding="ascii") as file:
            if int(file.read()) < int(self.before) + POOL_PAGES:
                self.set(self.before)
                raise Skip("no huge pages to be had")
        return self

    @staticmethod
    def set(text):
        with open(POOL, "w", encoding="ascii") as file:
            file.write(text)

    def __exit__(self, *_):
        self.set(self.before)


def can_sample():
    return os.geteuid() == 0


def matrices(bench):
    """The story of the document: copies take one another's large pages, and fault under initprm."""
    if not can_sample():
        raise Skip("only root sees the kernel's part")
    with Pool():
        told = scale(bench, "-r", "1", "--scale", "1,2,4", "--", bench.workloads, "3", "huge")
    bench.equal([row["copies"] for row in told["efficiency"]], [1, 2, 4], "steps")
    first, last = told["memory"][0], told["memory"][-1]
    bench.check(last["minor_faults"] > 20 * first["minor_faults"], told["memory"])
    bench.check(last["most"] > 100 * last["least"], f"spread: {last}")
    bench.check(told["efficiency"][-1]["by_CPU_time"] < 90, told["efficiency"])
    system = [row["system_percent"] for row in told["efficiency"]]
    bench.check(system[-1] > system[0] + 5, f"system time: {system}")
    faults = [row for row in told["cpu_growth"] if row["what"] == "page faults"]
    bench.equal(faults[0]["function"], "initprm", "what grew most of page faults")
    share = told["fault_growth"][0]
    bench.equal((share["function"], share["what"]), ("initprm", "page faults"), "faults")
    bench.check(share["of_growth_percent"] > 50, share)
    for words in ("page faults under initprm", "system time", "minor faults", "the copies are not alike"):
        bench.check(any(words in line for line in told["story"]), f"{words}: {told['story']}")


def files(bench):
    """Profiles that report reads, and a picture; a folder is new unless it is named."""
    told = scale(bench, "-r", "1", "--scale", "1,2", "--", bench.workloads, "1")
    bench.equal(told["files"], ["auger-scale/1.pb.gz", "auger-scale/2.pb.gz", "auger-scale/diff.svg"],
                "files")
    whole = bench.report("--focus", "initprm", output=told["files"][1])
    rows = whole["rows"]
    for words in ("command: ", "processes: ", "host: ", "recorded by: auger", "samples: ", "stacks: "):
        bench.check(any(line.startswith(words) for line in whole["comment"]), f"{words}: {whole['comment']}")
    bench.check(whole["duration_ns"] > 0 and whole["time_ns"] > 0, "when it was")
    bench.check(any(row["function"] == "initprm" for row in rows), rows)
    with open(bench.path(told["files"][2]), encoding="utf-8") as file:
        bench.check("initprm" in file.read(), "the picture has no initprm")
    told = scale(bench, "-r", "1", "--scale", "1", "--", *python(""))
    bench.equal(told["files"], ["auger-scale-2/1.pb.gz"], "a new folder")
    for wrong in ("s.json", "no/such"):
        done = bench.run(bench.tool, "stat", "--profiles", wrong, "--scale", "1", "--", "sh", "-c", "echo >>ran",
                         status=1)
        bench.equal(done.stderr.count("\n"), 1, done.stderr)
    bench.check(not os.path.exists(bench.path("ran")), "it ran although the folder cannot be made")
    bench.run(bench.tool, "stat", "--profiles", "none", "--scale", "1", "--", "/no/such", status=127)
    bench.check(not os.path.exists(bench.path("none")), "an empty folder was left")
    told = scale(bench, "-r", "1", "--profiles", "auger-scale", "--scale", "1", "--", *python(""))
    bench.equal(told["files"], ["auger-scale/1.pb.gz"], "the folder by its name")


def one_cpu(bench):
    """Where copies share a CPU, the time that is lost is waiting for it."""
    told = scale(bench, "-r", "1", "--scale", "1,3", "--", *python(SPIN), prefix=("taskset", "-c", "0"))
    lost = told["lost"][-1]
    bench.check(lost["waiting_for_a_CPU_ns"] > 0.6 * lost["longer_ns"] > 0, lost)
    last = told["efficiency"][-1]
    bench.check(abs(last["core_adjusted"] - 3 * last["efficiency"]) < 0.5, last)
    bench.check(any("more copies (3) than CPUs to run on (1)" in line for line in told["story"]),
                told["story"])


def blocked(bench):
    """Sleep is neither time on a CPU nor waiting for one; the copies sleep at the same time."""
    words = ("import fcntl, os, time\nfile = open('lock', 'w')\nfcntl.flock(file, fcntl.LOCK_EX)\n"
             "time.sleep(0.4)\n")
    told = scale(bench, "-r", "1", "--scale", "1,3", "--", *python(words))
    lost = told["lost"][-1]  # they wait for one another: the mean is 0.8 s instead of 0.4
    bench.check(lost["blocked_ns"] > 0.3e9, lost)
    bench.check(lost["blocked_ns"] > 0.5 * lost["longer_ns"], lost)


def threads(bench):
    """What several threads waited for CPUs is told of all; blocked is not told."""
    words = ("import hashlib, threading\n"
             "def work():\n for _ in range(60): hashlib.sha256(bytes(4 << 20))\n"
             "all = [threading.Thread(target=work) for _ in range(3)]\n"
             "[t.start() for t in all]; [t.join() for t in all]\n")
    told = scale(bench, "-r", "1", "--scale", "1", "--", *python(words), prefix=("taskset", "-c", "0"))
    bench.run(bench.tool, "stat", "-f", "json", "-o", "t.json", "--", *python(words),
              prefix=("taskset", "-c", "0"))
    with open(bench.path("t.json"), encoding="utf-8") as file:
        rows = {row["figure"]: row["value"] for row in json.load(file)["figures"]["rows"]}
    # Three on one CPU: two of them wait at any time.
    bench.check(rows["run-queue wait"] > rows["user"] + rows["system"], f"{rows}")
    bench.equal(told["story"], [], "one step tells no story")


def pinned(bench):
    """Each copy has a CPU of its own."""
    words = "import os\nos.write(2, b'%d\\n' % next(iter(os.sched_getaffinity(0))))"
    count = len(os.sched_getaffinity(0))
    done = bench.run(bench.tool, "stat", "-r", "1", "--pin", "--scale", str(count), "--", *python(words))
    seen = [line for line in done.stderr.splitlines() if line.isdigit()]
    # Three runs: one that does not count, one that is measured, one that is recorded.
    bench.equal(sorted(map(int, seen)), sorted(3 * sorted(os.sched_getaffinity(0))), "CPUs")


def statuses(bench):
    """What a copy prints goes nowhere; its failure is told; nothing is left running."""
    done = bench.run(bench.tool, "stat", "-r", "1", "--scale", "1,2", "--", "sh", "-c", "echo out; exit 7",
                     status=7)
    bench.equal(done.stdout, "", "standard output")
    bench.check("ended with status 7" in done.stderr, done.stderr)
    told = scale(bench, "-r", "1", "--scale", "1,2", "--", "sh", "-c",
                 "mkdir held 2>/dev/null || exit 9; sleep 1; rmdir held", status=9)
    bench.equal([row["failed"] for row in told["efficiency"]], [0, 1], "failed")
    bench.check("1 of 2 copies failed" in told["story"][0], told["story"])
    bench.run(bench.tool, "stat", "--scale", "2", "--", "/no/such/program", status=127)
    tool = bench.start(bench.tool, "stat", "--scale", "3", "--", "sleep", "4242.5", stderr=subprocess.PIPE)
    while subprocess.run(["pgrep", "-fc", "^sleep 4242.5"], capture_output=True, text=True,
                         check=False).stdout != "3\n":
        if tool.poll() is not None:
            bench.check(False, "ended too early")
            return
    tool.terminate()
    bench.equal(tool.wait(60), 128 + 15, "status after SIGTERM")
    tool.stderr.close()
    left = subprocess.run(["pgrep", "-f", "^sleep 4242.5"], capture_output=True, text=True, check=False)
    bench.equal(left.stdout, "", "left running")


def unprivileged(bench):
    """Another user has figures, and profiles of user code."""
    if os.geteuid() != 0:
        raise Skip("only root becomes another user")
    os.chmod(bench.folder, 0o777)
    told = scale(bench, "-r", "1", "--scale", "1,2", "--", *python(SPIN),
                 prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
                         "--bounding-set=-all"))
    bench.equal(len(told["efficiency"]), 2, "steps")


if __name__ == "__main__":
    live.main([matrices, files, one_cpu, blocked, threads, pinned, statuses, unprivileged])

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""naming.py TOOL WORKLOADS [CASE...]: the process that names functions, killed while it works."""

import gzip
import json
import os
import re
import signal
import subprocess
import time

import live
from live import Skip, totals

LOOP = "x = 0\nfor i in range(2000000): x += i * i % 7"
EVAL = "_PyEval_EvalFrameDefault"
FAILED = re.compile(r"auger: (\S+): naming its functions failed \(killed by signal (\d+)\); "
                    "they are shown by address")
TRIES = 20


def children(pid):
    """The naming processes of a process."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            pids = [int(word) for word in file.read().split()]
    except OSError:
        return []
    found = []
    for child in pids:
        try:
            with open(f"/proc/{child}/cmdline", "rb") as file:
                if b"naming-process" in file.read():
                    found.append(child)
        except OSError:
            pass
    return found


def open_files(pid):
    """What each descriptor of a process is."""
    try:
        return [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return []


def status(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def is_at_work(pid):
    """Has it a filter, and a file besides its socket?"""
    try:
        return status(pid).get("Seccomp") == "2" and len(open_files(pid)) > 1
    except OSError:
        return False


def hunt(bench, command, catch):
    """Runs a command; catch(auger, pid) for each naming process that has got a file; each once,
    until it returns False. Gives its exit status, standard error, and how many were caught."""
    caught = set()
    with open(bench.path("err"), "w+", encoding="utf-8") as err, \
            open(bench.path("out"), "w", encoding="utf-8") as out:
        auger = bench.start(*command, stdout=out, stderr=err)
        hunting = True
        while auger.poll() is None:
            for pid in children(auger.pid) if hunting else []:
                if pid not in caught and is_at_work(pid):
                    caught.add(pid)
                    hunting = hunting and catch(auger, pid) is not False
            time.sleep(0.0002)
        err.seek(0)
        return auger.returncode, err.read(), len(caught)


def kill(_, pid):
    os.kill(pid, signal.SIGSEGV)


def record_python(bench):
    return [bench.tool, "record", "--python", "off", "-o", "p.pb.gz", "/usr/bin/python3", "-c", LOOP]


def by_module(report):
    """The functions of each module."""
    found = {}
    for row in report["rows"]:
        found.setdefault(row["module"], set()).add(row["function"])
    return found


def lines_of(text):
    return [match.groups() for match in FAILED.finditer(text)]


def killed_while_recording(bench):
    """What could not be named is in the profile by address, and report names it again."""
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        raise Skip("this kernel lists no children")
    for _ in range(TRIES):
        code, err, caught = hunt(bench, record_python(bench), kill)
        bench.equal(code, 0, f"exit status: {err}")
        with gzip.open(bench.path("p.pb.gz")) as file:
            is_named = EVAL.encode() in file.read()
        if caught and not is_named:
            break
    else:
        raise Skip("the naming process was never caught with the interpreter")
    failed = lines_of(err)
    bench.check(failed and len(failed) <= caught, f"{caught} were killed: {err}")
    bench.check({number for _, number in failed} == {"11"}, err)
    bench.equal(len({name for name, _ in failed}), len(failed), f"one line for each file: {err}")
    names = totals(bench.report())
    bench.check(names.get(EVAL, 0) > 0.3, f"named when it is read: {sorted(names)[:20]}")


def one_binary_killed(bench):
    """All other files are named, in a bounded time."""
    bench.record("--python", "off", "--raw", "raw.data", "/usr/bin/python3", "-c", LOOP)
    everything = by_module(bench.report(output="raw.data"))

    def once(auger, pid):
        kill(auger, pid)
        return False

    command = [bench.tool, "report", "raw.data", "-f", "json"]
    for _ in range(TRIES):
        start = time.monotonic()
        code, err, caught = hunt(bench, command, once)
        bench.equal(code, 0, f"exit status: {err}")
        bench.check(time.monotonic() - start < 30, "time")
        if lines_of(err):
            break
    else:
        raise Skip("the naming process was never caught")
    bench.equal((len(lines_of(err)), caught), (1, 1), err)
    failed = lines_of(err)[0][0].rsplit("/", 1)[-1]
    with open(bench.path("out"), encoding="utf-8") as file:
        got = by_module(json.load(file))
    for module, names in everything.items():
        if module == failed:
            bench.check(got.get(module) != names, f"{module} has names")
        else:
            bench.equal(got.get(module), names, f"functions of {module}")


def rights(bench):
    """It has a socket and the files it was given, no capability, and a filter."""
    bench.record("--raw", "raw.data", "/usr/bin/python3", "-c", LOOP)
    seen = []

    def look(_, pid):
        os.kill(pid, signal.SIGSTOP)
        try:
            seen.append((open_files(pid), status(pid)))
        except OSError:
            pass
        os.kill(pid, signal.SIGCONT)

    for _ in range(TRIES):
        hunt(bench, [bench.tool, "report", "raw.data"], look)
        if seen:
            break
    else:
        raise Skip("the naming process was never caught")
    for files, of in seen:
        others = [name for name in files if not name.startswith("/")]
        bench.check(len(others) == 1 and others[0].startswith("socket:"), f"{files}")
        bench.check(not any(name.startswith("/dev/") for name in files), f"{files}")
        bench.equal(of["NoNewPrivs"], "1", "new privileges")
        bench.equal(int(of["CapEff"], 16) | int(of["CapPrm"], 16), 0, "capabilities")
        bench.check(os.geteuid() != 0 or "0" not in of["Uid"].split(), of["Uid"])
        bench.check(of["Seccomp"] == "2", "filter")


def interrupted(bench):
    """The process hangs: SIGINT ends auger all the same, and the process with it."""
    state = {}

    def stop(auger, pid):
        os.kill(pid, signal.SIGSTOP)
        state["pid"], state["start"] = pid, time.monotonic()
        auger.send_signal(signal.SIGINT)
        time.sleep(0.1)
        auger.send_signal(signal.SIGINT)
        return False

    for _ in range(TRIES):
        hunt(bench, record_python(bench), stop)
        if state:
            break
    else:
        raise Skip("the naming process was never caught")
    bench.check(time.monotonic() - state["start"] < 2, "time to its end")
    end = time.monotonic() + 5
    while time.monotonic() < end and os.path.exists(f"/proc/{state['pid']}"):
        time.sleep(0.01)
    bench.check(not os.path.exists(f"/proc/{state['pid']}"), "the process is left")


live.main([killed_while_recording, one_binary_killed, rights, interrupted])

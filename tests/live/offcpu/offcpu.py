#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""offcpu.py TOOL WORKLOADS [CASE...]: time off the CPU, against programs that measure it.

AUGER_TEST_METHOD: of --method."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import live  # noqa: E402
from live import Skip  # noqa: E402

SHARE = 0.02  # that a time may be off
SLACK = 15e6  # nanoseconds, besides: a thread's begin and end, a sample more or less
PERIOD = 1e6  # of samples
ATTACHING = 150e6  # one thread is attached to after the other
TURN = 40e6  # the same for a function: its thread may lose its CPU just before or behind the clock

METHOD = [f"--method={os.environ['AUGER_TEST_METHOD']}"] if "AUGER_TEST_METHOD" in os.environ else []


def record(bench, *args, **options):
    return bench.record("--off-cpu", *METHOD, *args, **options)


def agree(bench, got, want, words, slack=SLACK, late=0, beyond=0):
    """late, beyond: what may be missing, or be too much, because the workload cannot know it."""
    slack += SHARE * want
    bench.check(want - late - slack <= got <= want + beyond + slack,
                f"{words}: got {got / 1e6:.1f} ms, want {want / 1e6:.1f} ms (-{late / 1e6:.1f} +{beyond / 1e6:.1f})")


def chance(wall_ns, cpu_ns):
    """How far the samples of who often comes and goes may be off."""
    return max(SLACK, 3 * (min(cpu_ns, wall_ns - cpu_ns) * PERIOD) ** 0.5)


def by(bench, what, value, *more):
    """The totals of each value of a label; those without it are left out."""
    rows = bench.report("--by", f"label:{what}", "--value", value, *more)["rows"]
    return {str(row[what]): row["total"] for row in rows if row["total"]}


def clocks(bench):
    """On plus off the CPU of each thread."""
    on, off = by(bench, "tid", "cpu"), by(bench, "tid", "offcpu")
    return {tid: on.get(tid, 0) + off.get(tid, 0) for tid in {*on, *off}}


def told(text):
    """NAME: (tid, wall, cpu, waited, late, beyond)."""
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: (row[1], *map(int, row[2:])) for row in rows if len(row) == 7}


def has_states(bench):
    done = record(bench, "sleep", "0.1")
    return "sleeping" in done.stderr


def wall(bench):
    """On and off the CPU are the wall clock of each thread."""
    done = record(bench, bench.workload("offcpu"), "1500")
    if "no stack" in done.stderr or "has no stacks" in done.stderr:
        raise Skip("the kernel may not be seen")
    got, want = clocks(bench), told(done.stdout)
    bench.equal(len(want), 6, "threads of the workload")
    for name, (tid, wall_ns, cpu_ns, _, *ends) in want.items():
        agree(bench, got.get(tid, 0), wall_ns, f"wall clock of {name}", chance(wall_ns, cpu_ns), *ends)
    bench.check("off the CPU: " in done.stderr, done.stderr)
    return want


def functions(bench):
    """Waiting is accounted to the function that waits."""
    want = wall(bench)
    sums = {}
    for value in ("cpu", "offcpu"):
        for row in bench.report("--value", value)["rows"]:
            name = row["function"]
            sums[name] = sums.get(name, 0) + row["total"]
    waits = {"wait_sleep": ["sleep"], "wait_pipe": ["pipe"], "wait_lock": ["lock"],
             "wait_disk": ["disk"]}
    for function, names in waits.items():
        waited = sum(want[name][3] for name in names)
        agree(bench, sums.get(function, 0), waited, function, TURN)
    turns = bench.report("--value", "offcpu", "--focus", "^wait_turn$")["total"]
    agree(bench, turns, want["turn"][3] + want["turn2"][3], "wait_turn", TURN)


def states(bench):
    """Why a thread waits."""
    if not has_states(bench):
        raise Skip("no tracepoints")
    done = record(bench, bench.workload("offcpu"), "1000")
    for function, expected in (("wait_sleep", {"sleeping", "runnable"}),
                               ("wait_lock", {"sleeping", "runnable"}),
                               ("wait_turn", {"preempted"})):
        got = by(bench, "state", "offcpu", "--focus", f"^{function}$")
        whole = sum(got.values()) or 1
        share = sum(got.get(state, 0) for state in expected) / whole
        bench.check(share > 0.8, f"{function}: {got}")
    waited = told(done.stdout)["disk"][3]
    got = by(bench, "state", "offcpu", "--focus", "^.*fsync$")
    if waited > 100e6 and sum(got.values()) > 50e6:
        bench.check(got.get("iowait", 0) + got.get("blocked", 0) > 0, f"fsync: {got}")


def stacks(bench):
    """Callers beyond libraries without frame pointers are there; complete by the table."""
    record(bench, bench.workload("offcpu"), "500", "sleep")
    rows = bench.report("--value", "offcpu", "--focus", "^wait_sleep$", "--tree", "--min-percent",
                        "0", "--kernel-frames")["rows"]
    names = [row["function"] for row in rows]
    for name in ("work", "wait_sleep", "clock_nanosleep"):
        bench.check(name in names, f"no {name} in {names}")
    bench.check("[truncated]" not in names, f"{names}")


def charged(bench):
    """A wait belongs to the function that waits, and its system call is the reason."""
    done = record(bench, bench.workload("offcpu"), "500", "sleep", "lock")
    if "has no stacks" in done.stderr:
        raise Skip("the kernel may not be seen")
    rows = bench.report("--value", "offcpu")["rows"]
    names = [row["function"] for row in rows if row["self"]]
    for name in ("nap [clock_nanosleep]", "wait_lock [futex]"):
        bench.check(name in names, f"no {name} in {names}")
    bench.check(f"  {names[0]}  " in done.stderr, f"no {names[0]} in {done.stderr}")
    bench.check(not any("schedule" in row["function"] and row["total"] for row in rows), "a wait in the scheduler")
    tree = bench.report("--value", "offcpu", "--tree")["rows"]
    bench.check("[futex]" in [row["function"] for row in tree], "no [futex] in the tree")
    rows = bench.report("--value", "offcpu", "--kernel-frames")["rows"]
    # Innermost, unless another tracer of the machine has a probe at the switch.
    bench.check("__schedule" in [row["function"] for row in rows if row["total"]], "no frames of the kernel")


def callers(bench):
    """Stacks that differ in one return address are told apart; what is too deep is cut, not wrong."""
    for frames in (0, 40, 400):
        done = record(bench, bench.workload("callers"), str(frames))
        for line in done.stdout.splitlines():
            name, slept = line.split()
            got = bench.report("--value", "offcpu", "--focus", f"^{name}$")["total"]
            if frames < 400:
                agree(bench, got, int(slept), f"{name} below {frames} frames", TURN)
            else:
                bench.check(got <= int(slept) * (1 + SHARE) + TURN, f"{name}: {got} of {slept}")


def frame_pointers(bench):
    done = record(bench, "-g", "fp", bench.workload("offcpu"), "500", "sleep", "lock")
    for name, (tid, wall_ns, cpu_ns, _, *ends) in told(done.stdout).items():
        agree(bench, clocks(bench).get(tid, 0), wall_ns, f"wall clock of {name}", chance(wall_ns, cpu_ns), *ends)
        off = by(bench, "tid", "offcpu").get(tid, 0)
        agree(bench, off, wall_ns - cpu_ns, f"off the CPU: {name}", SLACK, *ends)


def only_user(bench):
    done = record(bench, "--user", bench.workload("offcpu"), "500", "sleep")
    modules = {row["module"] for row in bench.report("--by", "module", "--value", "offcpu")["rows"]}
    bench.check("[kernel.kallsyms]" not in modules, f"{modules}")
    total = bench.report("--value", "offcpu", "--focus", "^wait_sleep$")["total"]
    agree(bench, total, told(done.stdout)["sleep"][3], "wait_sleep", TURN)


def no_stacks(bench):
    done = record(bench, "-g", "none", bench.workload("offcpu"), "500", "sleep")
    tid, wall_ns, cpu_ns, _, *ends = told(done.stdout)["sleep"]
    agree(bench, clocks(bench).get(tid, 0), wall_ns, "wall clock", chance(wall_ns, cpu_ns), *ends)


def children(bench):
    """Each process, from its making on."""
    record(bench, "--", "sh", "-c", "sleep 0.5; sleep 0.3 & sleep 0.2; wait")
    naps = by(bench, "state", "offcpu", "--focus", "nanosleep")
    # what they wait for a CPU then is none of the nap, where it is known
    agree(bench, naps.get("sleeping", sum(naps.values())), 1e9, "the three naps", 60e6)
    bench.equal(len([r for r in by(bench, "tid", "offcpu").values() if r > 1e8]), 4, "processes")
    # vfork has its return address in a register while its child runs
    rows = bench.report("--value", "offcpu", "--focus", "vfork$", "--tree", "--min-percent", "0")["rows"]
    bench.check("[broken]" not in {row["function"] for row in rows}, f"{rows}")


def agree_on_threads(bench, workload):
    """Each was on or off the CPU for all of the recording."""
    length = bench.report()["duration_ns"]
    on, got = by(bench, "tid", "cpu"), clocks(bench)
    for task in os.listdir(f"/proc/{workload.pid}/task"):
        slack = ATTACHING + chance(length, min(on.get(task, 0), length))
        agree(bench, got.get(task, 0), length, f"wall clock of {task}", slack)


def attach(bench):
    """Threads that run already, from when on they are recorded."""
    workload = bench.start(bench.workload("offcpu"), "60000", "sleep", "lock",
                           stdout=subprocess.PIPE)
    try:
        time.sleep(0.5)
        done = record(bench, "-p", str(workload.pid), "-d", "1")
        if done.returncode:
            raise Skip(done.stderr)
        agree_on_threads(bench, workload)
    finally:
        workload.kill()
        workload.communicate()


def found(bench):
    """A process that waits all the time is seen to wait, and where."""
    sleeper = bench.start("sleep", "1000")
    try:
        time.sleep(0.3)
        done = record(bench, "-p", str(sleeper.pid), "-d", "0.5")
        report = bench.report("--value", "offcpu", "--tree", "--min-percent", "0")
        agree(bench, report["total"], report["duration_ns"], "the nap")
        names = [row["function"] for row in report["rows"]]
        bench.check(any("nanosleep" in name for name in names), f"{names} {done.stderr}")
        bench.equal(list(by(bench, "state", "offcpu")), ["sleeping"], "states")
        bench.equal(list(by(bench, "wait", "offcpu")), ["began before, unfinished"], "what of it lies outside")
        bench.check("1 began before the recording, 1 unfinished at its end" in done.stderr, done.stderr)
    finally:
        sleeper.kill()
        sleeper.wait()


def stopped_child(parent):
    """The child of a process, as soon as it is stopped."""
    for _ in range(1200):
        with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
            pids = file.read().split()
        for pid in pids:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if file.read().rpartition(") ")[2].startswith("T"):
                    return int(pid)
        time.sleep(0.05)
    raise ValueError("no child is stopped")


def stopped(bench):
    if not has_states(bench):
        raise Skip("no tracepoints")
    script = "kill -STOP $$; exit 0"
    recording = bench.start(bench.tool, "record", "--off-cpu", *METHOD, "-o", bench.path("p.pb.gz"), "--", "sh",
                            "-c", script, stderr=subprocess.PIPE)
    try:
        pid = stopped_child(recording.pid)
        time.sleep(0.5)
        os.kill(pid, signal.SIGCONT)
    finally:
        recording.communicate(timeout=60)
    got = by(bench, "state", "offcpu")
    bench.check(got.get("stopped", 0) > 3e8, f"{got}")


def everything(bench):
    """A thread of the machine's; the recorder and the idle task are not there."""
    workload = bench.start(bench.workload("offcpu"), "60000", "sleep", stdout=subprocess.PIPE)
    try:
        time.sleep(0.3)
        done = record(bench, "-a", "-d", "1", status=None)
        if done.returncode:
            raise Skip(done.stderr)
        agree_on_threads(bench, workload)
        bench.check("0" not in by(bench, "tid", "offcpu"), "the idle task waits")
    finally:
        workload.kill()
        workload.communicate()


def picture(bench):
    """Both in one flame graph."""
    record(bench, bench.workload("offcpu"), "300", "sleep")
    done = bench.run(bench.tool, "flame", "--wall", "p.pb.gz", "-o", "wall.svg")
    with open(bench.path("wall.svg"), encoding="utf-8") as file:
        svg = file.read()
    for words in ("[sleeping]", "Wall clock of threads", "on the CPU ", "off the CPU ", "wait_sleep"):
        bench.check(words in svg, f"no {words} in the picture {done.stderr}")
    shares = re.findall(r">(on|off) the CPU ([0-9.]+) %<", svg)
    bench.check(abs(sum(float(share) for _, share in shares) - 100) < 0.2, f"{shares}")
    bench.run(bench.tool, "record", "-o", "on.pb.gz", "true")
    bench.run(bench.tool, "flame", "--wall", "on.pb.gz", "-o", "no.svg", status=1)


def not_permitted(bench):
    """Without the permission to see the kernel, the times are there."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        paranoid = int(file.read())
    if os.getuid() != 0 or paranoid != 2:
        raise Skip("needs root, and kernel.perf_event_paranoid 2")
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    reachable = shutil.copy(bench.workload("offcpu"), bench.folder)  # a checkout may be below /root
    done = record(bench, reachable, "500", "sleep", prefix=nobody)
    bench.check("has no stacks" in done.stderr, done.stderr)
    tid, wall_ns, cpu_ns, _, *ends = told(done.stdout)["sleep"]
    agree(bench, by(bench, "tid", "offcpu").get(tid, 0), wall_ns - cpu_ns, "off the CPU", SLACK, *ends)


def methods(bench):
    """What may not be used is said, and what is used instead."""
    if os.getuid() != 0:
        raise Skip("needs root")
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
              "--bounding-set=-all")
    done = bench.record("--off-cpu", "--method", "bpf", "true", prefix=nobody, status=1)
    bench.check("BPF" in done.stderr, done.stderr)
    done = bench.record("--off-cpu", "true", prefix=nobody, status=None)
    lines = [line for line in done.stderr.splitlines() if "not BPF" in line]
    bench.equal(len(lines), 1, done.stderr)
    done = bench.record("--off-cpu", "--method", "perf", "true", prefix=nobody, status=None)
    bench.check("BPF" not in done.stderr, done.stderr)


live.main([wall, functions, states, stacks, charged, callers, methods, frame_pointers, only_user, no_stacks, children, attach,
           found, stopped, everything, picture, not_permitted])

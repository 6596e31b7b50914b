#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""python.py TOOL WORKLOADS [CASE...]: stacks of Python programs name the functions that they call.

Each Python that this machine has is tried (Debian's, and those of pyenv). Who calls spin() is known, so each
sample of it must have exactly these callers: by BPF 99 % of the samples of it, which is asked of where BPF is
permitted; read from memory some, and none with others.
"""

import glob
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import live  # noqa: E402

SHAPES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "shapes.py")
WARM = "0.2"  # seconds of CPU before a shape: a Python in a library is found only when it runs

SLEEPS = {"23", "230", "270"}  # select, clock_nanosleep, pselect6 of x86-64

# The functions from the module inwards, without native ones; qualified where the version knows that.
OUTER = ["<module>", "main"]
CHAINS = {
    "deep": ["down"] * 301 + ["spin"],
    "decorated": ["decorate.<locals>.wrapper", "decorated", "Base.of_class", "Base.method", "spin"],
    "sort": ["by_sort", "key", "spin"],
    "regex": ["by_regex", "sub", "replaced", "spin"],
    "json": ["by_json", "dumps", "JSONEncoder.encode", "JSONEncoder.iterencode", "jsoned", "spin"],
    "generator": ["by_generator", "generator", "spin"],
    "async": ["coroutine", "awaited", "spin"],
    "unicode": ["grüße_мир", "spin"],
    "exec": ["by_exec", "<module>", "inner", "spin"],
}


def pythons():
    """The versions 3.8 to 3.13 that are here."""
    found = {}
    for path in ["/usr/bin/python3", *sorted(glob.glob("/root/.pyenv/versions/3.*/bin/python3"))]:
        try:
            done = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True,
                                  text=True, timeout=60, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        major, minor = map(int, done.stdout.split())
        if major == 3 and 8 <= minor <= 13:
            found[path] = minor
    return found


def stacks(bench, name, value="samples", *options):
    """The stacks of a profile, as lists from the outermost function, and their samples."""
    done = bench.run(bench.tool, "convert", name, "-o", "-", "--to", "folded", "--value", value, *options)
    rows = []
    for line in done.stdout.splitlines():
        stack, count = line.rsplit(" ", 1)
        rows.append((stack.split(";"), int(count)))
    return rows


def is_chain(stack, chain, minor):
    """Has the stack these functions, in this order, with nothing of Python's between but native code?"""
    names = [name if minor >= 11 else name.split(".")[-1] for name in OUTER + chain]
    places = [i for i, name in enumerate(stack) if name in set(names)]
    return [stack[i] for i in places] == names


def may_walk():
    """Are BPF programs permitted?"""
    return os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux")


def walks(bench, words):
    return "by BPF" in words


def record(bench, python, shape, *options, seconds="0.15"):
    done = bench.record(*options, "--", python, SHAPES, shape, seconds, WARM)
    return done.stderr, stacks(bench, "p.pb.gz")


def spinning(rows, name="spin"):
    """The stacks in spin(), after the warm-up, that have this function."""
    return [(stack, n) for stack, n in rows if "spin" in stack and "warm" not in stack and name in stack]


def check_chain(bench, python, minor, shape, rows):
    """99 % of the samples of a shape have the chain."""
    first = CHAINS[shape][0]
    seen = spinning(rows, first if minor >= 11 else first.split(".")[-1])
    total = sum(n for _, n in seen)
    other = [(n, stack[-12:]) for stack, n in seen if not is_chain(stack, CHAINS[shape], minor)]
    bad = sum(n for n, _ in other)
    bench.check(total > 20, f"{python} {shape}: {total} samples")
    bench.check(bad <= 0.01 * total + 1, f"{python} {shape}: {bad} of {total} are other: {other[:3]}")


def need_bpf(bench):
    if not may_walk():
        raise live.Skip("BPF is not permitted here")
    done = bench.record("--", sys.executable, "-c", "sum(range(20000000))")
    if not walks(bench, done.stderr):
        raise live.Skip(f"no BPF here: {done.stderr}")


def chains(bench):
    """By BPF, on each version: 99 % of the samples have the known chain, and hardly one is without frames."""
    need_bpf(bench)
    for python, minor in pythons().items():
        words, rows = record(bench, python, ",".join(CHAINS))
        for shape in CHAINS:
            check_chain(bench, python, minor, shape, rows)
        named = sum(n for _, n in spinning(rows))
        whole = named + sum(n for stack, n in rows if stack[-1].startswith("_PyEval_EvalFrameDefault"))
        bench.check(named >= 0.7 * whole, f"{python}: {named} of {whole}\n{words}")


def threads_and_fork(bench):
    """Threads with known shares, and a child."""
    need_bpf(bench)
    words, rows = record(bench, "/usr/bin/python3", "threads,fork", seconds="0.6")
    shares = {name: sum(n for _, n in spinning(rows, name)) for name in ("thread_one", "thread_two")}
    whole = sum(shares.values())
    bench.check(whole > 50, words)
    bench.check(live.within(shares["thread_one"] / max(whole, 1), 0.3, whole, 0.03), shares)
    seen = spinning(rows, "Base.method")
    bench.check(sum(n for _, n in seen) > 20 and all("by_fork" in stack for stack, _ in seen), words)


def running(bench):
    """A process that was started before, and the whole machine."""
    need_bpf(bench)
    process = bench.start("/usr/bin/python3", SHAPES, "forever", "0.01", "0")
    try:
        for target in (["-p", str(process.pid), "-d", "1"], ["-a", "-d", "3"]):
            for _ in range(5):  # a busy machine finds it late
                words = bench.record(*target).stderr
                count = sum(n for _, n in spinning(stacks(bench, "p.pb.gz")))
                if count > 10:
                    break
            bench.check(count > 10, f"{target}: {count}: {words}")
        bench.check(process.poll() is None, "it ended")
    finally:
        process.kill()
        process.wait()


def reading(bench):
    """Without BPF: frames are read from memory, none in a wrong order; and what can't be read is counted."""
    words, rows = record(bench, "/usr/bin/python3", "decorated", "--python", "read", seconds="0.4")
    bench.check("read from memory" in words, words)
    seen = spinning(rows)
    good = sum(n for stack, n in seen if is_chain(stack, CHAINS["decorated"], 11))
    bench.check(good > 0 and good >= 0.9 * sum(n for _, n in seen), f"{good}: {seen[:3]}\n{words}")


def await_sleep(pid):
    """Until a process is in a call that sleeps."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as f:
            if f.read().split()[0] in SLEEPS:
                return
        time.sleep(0.02)


def check_nap(bench, words):
    """The wait of nap() is at least as long as it sleeps, and has its callers."""
    rows = [(stack, n) for stack, n in stacks(bench, "p.pb.gz", "offcpu") if "nap" in stack]
    good = sum(n for stack, n in rows if is_chain(stack, ["nap"] * 6, 8))
    bench.check(good >= 0.25e9, f"{good} ns: {rows[:3]}\n{words}")


def waits(bench):
    """Time off the CPU has the functions that wait: of a command, and of a process that waits before it is recorded."""
    need_bpf(bench)
    found = pythons()
    for python in {min(found, key=found.get), max(found, key=found.get), "/usr/bin/python3"}:
        words = bench.record("--off-cpu", "--", python, SHAPES, "nap", "0.3", WARM).stderr
        check_nap(bench, words)
        process = bench.start(python, SHAPES, "nap", "1000", "0")
        try:
            await_sleep(process.pid)
            words = bench.record("--off-cpu", "-p", str(process.pid), "-d", "0.4").stderr
            check_nap(bench, words)
        finally:
            process.kill()
            process.wait()


def calls(bench):
    """System calls by Python function: the thread is stopped in them, so that all have their callers."""
    found = pythons()
    for python in {min(found, key=found.get), max(found, key=found.get), "/usr/bin/python3"}:
        done = bench.run(bench.tool, "syscalls", "--stacks", "p.pb.gz", "--", python, SHAPES, "nap,unicode", "0.01", "0",
                         status=None)
        if done.returncode:
            raise live.Skip(f"no calls are traced here: {done.stderr}")
        bench.check("by ptrace" in done.stderr, done.stderr)
        rows = stacks(bench, "p.pb.gz", "calls")
        for function, chain in (("nap", ["nap"] * 6), ("spin", ["grüße_мир", "spin"])):
            seen = [(stack, n) for stack, n in rows if function in stack and "warm" not in stack]
            other = [(stack[-12:], n) for stack, n in seen if not is_chain(stack, chain, 8)]
            bench.check(seen and not other, f"{python} {function}: {len(seen)}, {other[:3]}\n{done.stderr}")


def page_faults(bench):
    """Page faults by Python function."""
    need_bpf(bench)
    found = pythons()
    for python in {min(found, key=found.get), max(found, key=found.get), "/usr/bin/python3"}:
        words = bench.record("-e", "page-faults", "-c", "1", "--", python, SHAPES, "faults", "0", WARM).stderr
        rows = stacks(bench, "p.pb.gz", "page-faults")
        good = sum(n for stack, n in rows if "touch" in stack and is_chain(stack, ["by_faults", "touch"], 8))
        whole = sum(n for stack, n in rows if "touch" in stack)
        lost = bench.report()["lost"]
        bench.check(good >= 0.95 * whole and whole + lost >= 1200, f"{python}: {good} of {whole}, {lost} lost\n{words}")


def memory(bench):
    """Allocations by Python function: all that keep() makes, also beside threads, children and what is compiled."""
    found = pythons()
    for python in {min(found, key=found.get), max(found, key=found.get), "/usr/bin/python3"}:
        minor, is_debian = found[python], python == "/usr/bin/python3"
        for options, shapes in [((), "memory"), (("--python",), "threads,fork,memory,exec,async,generator")][:1 + is_debian]:
            done = bench.run(bench.tool, "heap", *options, "-o", "p.pb.gz", "--", python, SHAPES, shapes, "0.01", "0")
            rows = [(stack, n) for stack, n in stacks(bench, "p.pb.gz", "alloc_space") if "keep" in stack]
            inner = ["keep"] if minor >= 12 else ["keep", "keep.<locals>.<listcomp>"]
            good = sum(n for stack, n in rows if is_chain(stack, ["by_memory", *inner], minor))
            bench.check(30000000 <= good < 30100000, f"{python} {shapes}: {good}: {rows[:3]}\n{done.stderr}")


def lock(bench):
    """--gil: who spins holds it, and others wait for it meanwhile; a sleeping thread does neither."""
    need_bpf(bench)
    found = pythons()
    for python in {min(found, key=found.get), max(found, key=found.get), "/usr/bin/python3"}:
        words = bench.record("--gil", "--", python, SHAPES, "lock,nap", "0.2", WARM).stderr
        spins = [(stack, n) for stack, n in stacks(bench, "p.pb.gz") if "spin" in stack]
        held = [(stack, n) for stack, n in stacks(bench, "p.pb.gz", "samples", "--label", "gil=holds") if "spin" in stack]
        bench.check(sum(n for _, n in held) >= 0.8 * sum(n for _, n in spins) > 20, f"{held}\n{words}")
        awaited = stacks(bench, "p.pb.gz", "offcpu", "--label", "gil=waits")
        bench.check(sum(n for _, n in awaited) > 0.25e9, f"{awaited}\n{words}")
        for state in ("holds", "waits"):
            rows = stacks(bench, "p.pb.gz", "offcpu", "--label", f"gil={state}")
            sleeps = sum(n for stack, n in rows if "nap" in stack and "clock_nanosleep" in stack)
            bench.check(sleeps == 0, f"{python}: {state}: {sleeps} ns of sleep")


def trampolines(bench):
    """python3 -X perf: stacks go on through its trampolines, and functions are named once."""
    need_bpf(bench)
    found = [python for python, minor in pythons().items() if minor in (12, 13)]
    if not found:
        raise live.Skip("no Python 3.12 or 3.13")
    for python in found:
        words = bench.record("--", python, "-X", "perf", SHAPES, "unicode,sort", "0.15", WARM).stderr
        for row in bench.report("--by", "pid")["rows"]:
            if os.path.exists(f"/tmp/perf-{row['pid']}.map"):
                os.unlink(f"/tmp/perf-{row['pid']}.map")
        rows = spinning(stacks(bench, "p.pb.gz"))
        whole = sum(n for _, n in rows)
        good = sum(n for stack, n in rows if "[broken]" not in stack and not any(f.startswith("py::") for f in stack))
        bench.check(whole > 40 and good >= 0.95 * whole, f"{good} of {whole}: {rows[:3]}\n{words}")


def off_and_native(bench):
    """--python off shows the interpreter; --native both, each frame once."""
    words, rows = record(bench, "/usr/bin/python3", "unicode", "--python", "off")
    bench.check("python:" not in words and not any("spin" in stack for stack, _ in rows), words)
    words, rows = record(bench, "/usr/bin/python3", "unicode", "--native")
    seen = spinning(rows)
    both = sum(n for stack, n in seen if stack.count("spin") == 1 and any("EvalFrameDefault" in f for f in stack))
    bench.check(both > 0 and both >= 0.9 * sum(n for _, n in seen), f"{both}: {words}")


def lines(bench):
    """Lines of the script have cost, and its file is the mapping; --lang python shows its functions alone."""
    record(bench, "/usr/bin/python3", "unicode")
    names = live.totals(bench.report("--lang", "python"))
    bench.check({"<module>", "main", "spin"} <= set(names) and not any(n.startswith("Py") for n in names), names)
    report = bench.report("--by", "line")
    source = open(SHAPES, encoding="utf-8").read().splitlines()
    loop = {i + 1 for i, line in enumerate(source) if re.search("total \\+= i|for i in range|thread_time\\(\\) < end", line)}
    found = {}
    for row in report["rows"]:
        if row["file"] == SHAPES and row["function"] == "spin" and row["self"]:
            found[row["line"]] = row["self"]
    bench.check(found and sum(v for k, v in found.items() if k in loop) >= 0.9 * sum(found.values()), found)


if __name__ == "__main__":
    live.main([chains, threads_and_fork, running, reading, waits, calls, page_faults, memory, lock, trampolines, off_and_native, lines])

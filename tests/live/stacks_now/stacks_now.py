#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stacks_now.py TOOL WORKLOADS [CASE...]: where threads wait, as 'auger stacks' shows it.

The threads of waits.c wait in functions of known names. Nothing here depends on how fast that is: cases wait until
/proc shows that the threads wait."""

import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import live  # noqa: E402
from live import Skip  # noqa: E402

SOON_S = 100  # for what takes a second on an idle machine
PLACES = {
    "wait_condition": "[futex]",
    "wait_pipe": "[read pipe]",
    "wait_peer": "[recvfrom 127.0.0.1:",
    "wait_time": "[clock_nanosleep]",
    "compute": "[running]",
}
STARTS = ("clone3", "clone", "__clone", "__clone3", "thread_start", "start_thread", "_start")
FIRST_PID_NS = "pid:[4026531836]"  # of the kernel, include/linux/proc_ns.h
SCRIPT = """
import sys, threading
def innermost():
    sys.stdin.read()
def middle():
    innermost()
def locked():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
threading.Thread(target=locked, daemon=True).start()
print("ready", flush=True)
middle()
"""


def wait_for(condition):
    last = time.monotonic() + SOON_S
    while not condition():
        if time.monotonic() > last:
            return False
        time.sleep(0.02)
    return True


def state(pid, tid=None):
    try:
        with open(f"/proc/{pid}/task/{tid or pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def threads(pid):
    return [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]


def start(bench, *command):
    """A program that has printed "ready": its threads will wait soon."""
    process = bench.start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    bench.equal(process.stdout.readline(), "ready\n", command)
    return process


def end(process):
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def rows(bench, *args, tool=None):
    done = bench.run(tool or bench.tool, "stacks", "-f", "json", *args)
    try:
        return json.loads(done.stdout)["rows"], done.stderr
    except ValueError:
        bench.check(False, done.stdout + done.stderr)
        return [], done.stderr


def frames(row):
    return (row["stack"] or "").split(";")


def count(found, function, reason):
    """Threads in a function, for this reason, called from the start of their thread or program."""
    return sum(1 for stack in map(frames, found)
               if function in stack and stack[-1].startswith(reason) and stack[0] in STARTS)


def has_places(found):
    return all(count(found, function, reason) == (2 if function == "wait_condition" else 1)
               for function, reason in PLACES.items()) and count(found, "main", "[read pipe]") == 1


def rows_with(bench, condition, process):
    """The rows of a process, once all its threads are where they will stay."""
    last = []

    def is_so():
        last[:] = rows(bench, "-p", str(process.pid))[0]
        return condition(last)

    bench.check(wait_for(is_so), json.dumps(last, indent=1))
    return list(last)


def waits(bench):
    """All threads are in their functions, with their reasons; also in the next look, when waits were restarted."""
    process = start(bench, bench.workload("waits"))
    try:
        for _ in range(2):
            found = rows_with(bench, has_places, process)
            bench.equal(sorted(row["tid"] for row in found), sorted(threads(process.pid)), "threads")
        process.stdin.write("?\n")
        process.stdin.flush()
        bench.equal(process.stdout.readline(), "asleep\n", "a sleep that was not cut short")
    finally:
        end(process)


def tree(bench):
    """The tree of two processes has what they share once, with the sum of their threads."""
    two = [start(bench, bench.workload("waits")) for _ in range(2)]
    try:
        for process in two:
            rows_with(bench, has_places, process)
        text = bench.run(bench.tool, "stacks", "-p", ",".join(str(process.pid) for process in two)).stdout
        bench.check(text.startswith("14 threads of 2 processes\n"), text)
        bench.check(re.search(r"\b4  wait_condition", text), text)
        bench.check(re.search(r"\b2  .*compute → \[running\]", text), text)
        each = bench.run(bench.tool, "stacks", "-v", "-p", str(two[0].pid)).stdout
        bench.equal(len(re.findall(r"^process ", each, re.M)), 7, each)
        bench.check(re.search(r"^    wait_pipe .*waits\.c:\d+  in waits$", each, re.M), each)
        folded = bench.run(bench.tool, "stacks", "--folded", "-p", str(two[0].pid)).stdout
        bench.check(re.search(r"^waits;.*;wait_condition;.*;\[futex\] 2$", folded, re.M), folded)
    finally:
        for process in two:
            end(process)


def python(bench):
    """Python functions are in the stack, with the lock that a thread waits for."""
    script = bench.path("script.py")
    with open(script, "w", encoding="ascii") as file:
        file.write(SCRIPT)
    if os.uname().machine != "x86_64" or sys.version_info < (3, 8) or sys.version_info >= (3, 14):
        raise Skip("auger reads CPython 3.8 to 3.13 on x86-64")
    process = start(bench, os.path.realpath(sys.executable), script)
    try:
        rows_with(bench, has_functions, process)
        text = bench.run(bench.tool, "stacks", "-p", str(process.pid)).stdout
        bench.check(re.search(r"more\).*middle → innermost → \(\d+ more\)", " ".join(text.split())), text)
    finally:
        end(process)


def has_functions(found):
    """The Python functions of SCRIPT, in their order."""
    stacks = sorted([name for name in frames(row) if name in ("middle", "innermost", "locked", "[futex]")]
                    for row in found)
    return stacks == [["locked", "[futex]"], ["middle", "innermost"]]


def stopped(bench):
    """A program that a signal has stopped stays stopped, and runs when it is continued."""
    process = start(bench, bench.workload("waits"))
    try:
        rows_with(bench, has_places, process)
        process.send_signal(signal.SIGSTOP)
        bench.check(wait_for(lambda: all(state(process.pid, tid) == "T" for tid in threads(process.pid))), "stopped")
        found, _ = rows(bench, "-p", str(process.pid))
        bench.equal({frames(row)[-1] for row in found}, {"[stopped by a signal]"}, "reasons")
        bench.check(any("wait_pipe" in frames(row) for row in found), found)
        bench.check(wait_for(lambda: all(state(process.pid, tid) == "T" for tid in threads(process.pid))),
                    "stopped after it")
        process.send_signal(signal.SIGCONT)
        process.stdin.write("?\n")
        process.stdin.flush()
        bench.equal(process.stdout.readline(), "asleep\n", "continued")
    finally:
        end(process)


def killed(bench):
    """Whenever the tool is killed, the program goes on, and a signal for it is not lost."""
    process = start(bench, bench.workload("waits"))
    try:
        for i in range(20):
            auger = bench.start(bench.tool, "stacks", "-p", str(process.pid), stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
            time.sleep(0.01 * i)
            auger.kill()
            auger.wait()
        bench.check(wait_for(lambda: not any(state(process.pid, tid) in "tT" for tid in threads(process.pid))),
                    "no thread is stopped")
        process.stdin.write("?\n")
        process.stdin.flush()
        bench.equal(process.stdout.readline(), "asleep\n", "it goes on")
        auger = bench.start(bench.tool, "stacks", "-p", str(process.pid), stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
        process.send_signal(signal.SIGTERM)
        bench.equal(process.wait(SOON_S), -signal.SIGTERM, "SIGTERM meanwhile")
        auger.wait()
    finally:
        end(process)


def others(bench):
    """What is no such process, or not one of this user."""
    process = start(bench, bench.workload("waits"))
    zombie = bench.start("true")
    try:
        bench.check(wait_for(lambda: state(zombie.pid) == "Z"), "a zombie")
        rows_with(bench, has_places, process)
        found, _ = rows(bench, "-p", f"{zombie.pid},{process.pid}")
        bench.equal([row["state"] for row in found if row["pid"] == zombie.pid], ["Z"], "zombie")
        bench.check(any("wait_pipe" in frames(row) for row in found), "the other process")
        zombie.wait()
        done = bench.run(bench.tool, "stacks", "-p", str(zombie.pid), status=1)
        bench.check(f"process {zombie.pid} does not exist" in done.stderr, done.stderr)
        done = bench.run(bench.tool, "stacks", status=2)
        bench.check("-p PID is missing" in done.stderr, done.stderr)
        if os.geteuid() == 0:
            refuse(bench, process)
        if name_of(2) == "kthreadd":
            found, _ = rows(bench, "-p", "2")
            bench.equal([row["comm"] for row in found], ["kthreadd"], "a kernel thread")
    finally:
        end(process)


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def refuse(bench, process):
    """As a user who may not trace it."""
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(prefix="auger-live-") as folder:
        os.chmod(folder, 0o755)
        tool = os.path.join(folder, "auger")
        shutil.copy(bench.tool, tool)
        done = subprocess.run([tool, "stacks", "-p", str(process.pid)], capture_output=True, text=True, cwd="/",
                              user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], check=False)
    bench.equal(done.returncode, 1, done.stderr)
    bench.check("this user may not trace it" in done.stderr, done.stderr)


def ends(bench):
    """Processes that end while they are looked at leave nothing but what was seen."""
    for i in range(5):
        process = start(bench, bench.workload("waits"))
        auger = bench.start(bench.tool, "stacks", "-p", str(process.pid), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
        time.sleep(0.02 * i)
        end(process)
        said = auger.communicate(timeout=SOON_S)[1]
        bench.check(auger.returncode in (0, 1), f"{auger.returncode}: {said}")


def has_registers(bench):
    """Are the registers of threads in D state known, by BPF?"""
    with open(bench.tool, "rb") as file:
        is_built = b"thread_regs_bpf" in file.read()
    return is_built and os.path.exists("/sys/kernel/btf/vmlinux") and os.readlink("/proc/self/ns/pid") == FIRST_PID_NS


def hangs(bench):
    """A thread in a call that hangs (state D) is shown with its file and stack, and holds nobody."""
    hang(bench, bench.workload("waits"))


def hangs_fp(bench):
    """The same in code with frame pointers."""
    if not has_registers(bench):
        raise Skip("needs BPF")
    hang(bench, bench.workload("waits_fp"))


def hang(bench, program):
    faulty = os.path.join(bench.workloads, "../../cache/faulty")
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        raise Skip("needs root and FUSE")
    source, mount, rules = (bench.path(name) for name in ("source", "mount", "rules"))
    os.mkdir(source)
    os.mkdir(mount)
    for path, text in ((os.path.join(source, "data.h5"), "x"), (rules, "")):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    server = subprocess.Popen([faulty, source, rules, mount], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process = None
    try:
        bench.check(wait_for(lambda: os.path.ismount(mount)), "mounted")
        with open(rules, "w", encoding="ascii") as file:
            file.write("read data.h5 hang\n")
        process = start(bench, program, os.path.join(mount, "data.h5"))
        bench.check(wait_for(lambda: reads(process.pid)), "a thread reads")
        # The first look may end the part of the wait that can be interrupted.
        found = rows_with(bench, lambda found: has_places(found) and count(found, "read_file", "[read " + mount), process)
        hung = [row for row in found if "read_file" in frames(row)]
        if bench.equal(len(hung), 1, found):
            bench.equal(hung[0]["object"], os.path.join(mount, "data.h5"), "the file")
            bench.check(frames(hung[0])[-1].startswith("[read " + mount), hung)
            if hung[0]["state"] == "D":
                bench.check("D state" in frames(hung[0])[-1], hung)
    finally:
        with open(rules, "w", encoding="ascii") as file:
            file.write("\n")
        if process:
            end(process)
        subprocess.run(["umount", "-l", mount], stderr=subprocess.DEVNULL, check=False)
        server.kill()
        server.wait()


def reads(pid):
    """Is a thread of it in a request of FUSE?"""
    for tid in threads(pid):
        with open(f"/proc/{pid}/task/{tid}/wchan", encoding="ascii") as file:
            if "request_wait" in file.read():
                return True
    return False


live.main([waits, tree, python, stopped, killed, others, ends, hangs, hangs_fp])

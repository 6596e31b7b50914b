#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""faults.py [--most N] [--table] [--only NAME] AUGER BUILD: lets each system call of each command below
fail once at each call site (failing_call.c), with each error that the kernel could give; where a
site is passed more than once, the first and the last time.

A run must end in time, and either as the undisturbed run does, with the same result; or with that
exit status and a line on standard error that says what is missing; or with exit status 1 or 2 and
such a line, with no result or a whole one. It leaves no further files and no processes. --most N takes
N calls of each command, spread evenly, and is what the live test does; --only, any number of times,
chooses commands; --table prints Markdown."""

import argparse
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TESTS = os.path.dirname(HERE)
TIMEOUT = 20  # seconds of a run on a busy machine
MOST_LINES = 8  # of standard error that an error may add

# Left out: calls that cannot fail as auger makes them, such as resuming a stopped thread; those where
# glibc ends the program; and the allocator's (tests/oom).
NEVER = set(
    "exit exit_group rt_sigreturn rt_sigprocmask getpid gettid getppid getuid geteuid getgid getegid"
    " futex set_robust_list set_tid_address rseq arch_prctl clock_gettime sched_yield umask"
    " brk munmap ptrace rt_sigaction timer_delete".split())
ERRORS = {"default": ["EIO", "ENOMEM"]}
for _names, _errors in (
        ("read pread64 readv recvmsg recvfrom getdents64", "EINTR EIO EAGAIN"),
        ("poll ppoll nanosleep clock_nanosleep epoll_wait epoll_pwait pselect6", "EINTR ENOMEM"),
        ("wait4 waitid rt_sigtimedwait", "EINTR"),
        ("write pwrite64 writev sendfile copy_file_range sendmsg sendto", "ENOSPC EIO EINTR EAGAIN"),
        ("open openat creat mkdir mkdirat rename renameat renameat2 link linkat symlinkat unlink"
         " unlinkat ftruncate fallocate fsync fdatasync close", "ENOSPC EIO EINTR"),
        ("clone clone3 fork vfork", "EAGAIN ENOMEM"),
        ("mmap mprotect mremap mlock madvise", "ENOMEM"),
        ("perf_event_open bpf ioctl", "ENOMEM EINTR EAGAIN ENOSPC"),
        ("fcntl dup dup2 dup3 pipe pipe2", "EIO ENOMEM EINTR")):
    for _name in _names.split():
        ERRORS[_name] = _errors.split()


class Command:
    """words: after "auger". result: the file it writes, or None for standard output. look: what
    of the result must be equal in every run; None: all of it."""

    def __init__(self, name, *words, result=None, look=None, needs=(), only_threads=False, never=()):
        self.name, self.words, self.result, self.look = name, words, result, look
        self.needs, self.only_threads, self.never = needs, only_threads, NEVER.union(never)


def look_at_profile(world, path):
    """Is it a profile of the command?"""
    done = subprocess.run([world.tool, "report", "-f", "json", path], capture_output=True, check=False)
    if done.returncode:
        return "unreadable"
    answer = json.loads(done.stdout)
    spun = sum(row["self"] for row in answer["rows"] if row["function"] == "main")
    return "main has most" if 2 * spun > answer["total"] else "main has little"


def look_at_heap(world, path):
    """Is it a profile of blocks?"""
    done = subprocess.run([world.tool, "report", "-f", "json", path], capture_output=True, check=False)
    return json.loads(done.stdout)["type"] if done.returncode == 0 else "unreadable"


def look_at_stat(_, path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        return sorted(json.loads(text))
    except ValueError:
        return "unreadable"


def look_at_calls(_, path):
    """The names of its calls that do not depend on the time."""
    with open(path, encoding="utf-8") as file:
        return "openat" in file.read()


FIXTURES = {
    "demo.pb.gz": "golden/report/demo.pb.gz",
    "one.folded": "fuzz/corpus/folded/marks",
    "two.folded": "fuzz/corpus/folded/values",
    "perf.data": "fuzz/corpus/perfdata/packed",
    "addresses.pb.gz": "oom/addresses.pb.gz",
    "c": "fuzz/corpus/symbol_file/c5.zstd",
    "cxx": "fuzz/corpus/symbol_file/cxx5.zlib",
    "plt": "fuzz/corpus/symbol_file/plt",
    "mini": "fuzz/corpus/symbol_file/mini",
    "bare": "fuzz/corpus/symbol_file/stripped",
}

COMMANDS = [
    Command("report", "report", "-f", "json", "demo.pb.gz", needs=["demo.pb.gz"]),
    Command("report-names", "report", "--by", "line", "addresses.pb.gz",
            needs=["addresses.pb.gz", "c", "cxx", "plt", "mini", "bare"]),
    Command("flame", "flame", "-o", "out", "demo.pb.gz", result="out", needs=["demo.pb.gz"]),
    Command("convert", "convert", "perf.data", "-o", "out.pb.gz", result="out.pb.gz", needs=["perf.data"]),
    Command("merge", "merge", "one.folded", "two.folded", "-o", "out.pb.gz", result="out.pb.gz",
            needs=["one.folded", "two.folded"]),
    Command("stat", "stat", "-f", "json", "-o", "out", "--", "{spin}", result="out", look=look_at_stat),
    Command("record", "record", "-F", "997", "-o", "out.pb.gz", "--", "{spin}", result="out.pb.gz",
            look=look_at_profile),
    Command("record-off-cpu", "record", "--off-cpu", "-F", "997", "-o", "out.pb.gz", "--", "{spin}",
            result="out.pb.gz", look=look_at_profile),
    Command("syscalls-bpf", "syscalls", "--method", "bpf", "-o", "out", "--", "{spin}", result="out",
            look=look_at_calls),
    Command("syscalls-perf", "syscalls", "--method", "perf", "-o", "out", "--", "{spin}", result="out",
            look=look_at_calls),
    Command("syscalls-ptrace", "syscalls", "--method", "ptrace", "-o", "out", "--", "{spin}", result="out",
            look=look_at_calls, only_threads=True),
    Command("heap", "heap", "-o", "out.pb.gz", "--", "true", result="out.pb.gz", look=look_at_heap,
            only_threads=True),
    Command("heap-show", "heap", "--show", "heap.1.0", "-o", "out.pb.gz", result="out.pb.gz", needs=["heap.1.0"]),
    Command("cache", "cache", "mount", "--foreground", "--target", "target", "view", needs=["demo.pb.gz"],
            never=["writev"]),  # libfuse's, to the kernel, which takes a reply or has no use for it
]


def syscall_names():
    """The names of system calls by number."""
    for path in ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return {int(number): name for name, number in
                        re.findall(r"#define __NR_(\w+) (\d+)", file.read())}
    return {}


def is_running(group):
    """Has a process group a process that did not end?"""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                state, _, its = file.read().rpartition(b") ")[2].split()[:3]
        except OSError:
            continue
        if int(its) == group and state not in (b"Z", b"X"):
            return True
    return False


class Run:
    """How a run ended. status None: not in time."""

    def __init__(self, status, lines, result, left):
        self.status, self.lines, self.result, self.left = status, lines, result, left


class World:
    """A folder for the runs, and the programs."""

    def __init__(self, tool, build):
        self.tool = os.path.realpath(tool)
        here = os.path.join(os.path.realpath(build), "tests", "faults")
        self.failing = os.path.join(here, "failing_call")
        self.spin = os.path.join(here, "spin")
        self.folder = tempfile.mkdtemp(prefix="auger-faults-")
        self.cwd = os.path.join(self.folder, "cwd")
        self.sites = os.path.join(self.folder, "sites")

    def prepare(self, command):
        shutil.rmtree(self.cwd, ignore_errors=True)
        os.mkdir(self.cwd)
        for name in command.needs:
            if name == "heap.1.0":
                subprocess.run([os.path.join(TESTS, "golden/heap/make_heap.py"), os.path.join(self.cwd, name)],
                               check=True)
                continue
            shutil.copyfile(os.path.join(TESTS, FIXTURES[name]), os.path.join(self.cwd, name))
        if command.name == "cache":
            for name in ("view", "target"):
                os.mkdir(os.path.join(self.cwd, name))
            shutil.copyfile(os.path.join(self.cwd, "demo.pb.gz"), os.path.join(self.cwd, "target", "file"))

    def use_view(self, process):
        """Waits for the view, reads its file, and ends it. Returns what it had."""
        view = os.path.join(self.cwd, "view")
        until = time.monotonic() + TIMEOUT / 2
        seen = None
        while process.poll() is None and time.monotonic() < until:
            if os.path.ismount(view):
                reader = subprocess.run(["cmp", "view/file", "target/file"], cwd=self.cwd, check=False,
                                        capture_output=True, timeout=TIMEOUT / 2)
                seen = reader.returncode == 0 or reader.stderr.decode(errors="replace").count("\n")
                break
            time.sleep(0.005)
        while process.poll() is None and time.monotonic() < until + TIMEOUT / 4:
            subprocess.run([self.tool, "cache", "umount", view], check=False, capture_output=True, timeout=TIMEOUT)
            time.sleep(0.02)
        return seen

    def run(self, command, *how):
        self.prepare(command)
        words = [word.replace("{spin}", self.spin) for word in command.words]
        traced = [self.failing, *(["-t"] if command.only_threads else []), *how, self.tool, *words]
        environment = {**os.environ, "LC_ALL": "C", "NO_COLOR": "1", "TMPDIR": self.cwd}
        environment.pop("DEBUGINFOD_URLS", None)
        with open(os.path.join(self.folder, "out"), "w+b") as out, open(os.path.join(self.folder, "err"), "w+b") as err:
            process = subprocess.Popen(traced, cwd=self.cwd, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err, start_new_session=True)
            seen = None
            try:
                if command.name == "cache":
                    seen = self.use_view(process)
                status = process.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                status = None
            left = self.end(process, status)
            out.seek(0)
            err.seek(0)
            printed, lines = out.read(), err.read().decode(errors="replace").splitlines()
        result = seen if command.name == "cache" else self.result_of(command, printed)
        return Run(status, lines, result, left)

    def end(self, process, status):
        """Ends what is left of a run. Returns names of files and processes."""
        left = []
        until = time.monotonic() + 1
        while status is not None and is_running(process.pid):
            if time.monotonic() > until:
                left.append("a process")
                break
            time.sleep(0.005)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        view = os.path.join(self.cwd, "view")
        if os.path.ismount(view):
            subprocess.run(["umount", "-l", view], check=False, capture_output=True)
            left.append("a mount")
        return left + sorted(os.listdir(self.cwd))

    def result_of(self, command, printed):
        if command.result is None:
            return printed
        path = os.path.join(self.cwd, command.result)
        if not os.path.exists(path):
            return None
        if command.look:
            return command.look(self, path)
        with open(path, "rb") as file:
            return file.read()


def is_named_spool(name, told):
    """A spool is kept when the profile cannot be written, and a line says so."""
    return name.endswith(".spool") and any(name in line for line in told)


def judge(command, run, good, call):
    """What is wrong with the run in which this call failed; None: nothing."""
    known = {re.sub(r"[\d.]+", "0", line) for line in good.lines}
    told = [line for line in run.lines if line.strip() and re.sub(r"[\d.]+", "0", line) not in known]
    if run.status is None:
        return "does not end"
    if run.status > 127 or run.status in (124, 125):
        return f"ends with status {run.status}"
    if len(told) > MOST_LINES:
        return f"says {len(told)} lines"
    extra = [name for name in run.left if name not in good.left and not is_named_spool(name, told)]
    # Who cannot remove it leaves it; who cannot look at it leaves it alone, and says so.
    if extra and not call.startswith("unlink") and not (told and call.startswith("newfstatat")):
        return f"leaves {', '.join(extra)}"
    is_same = run.result == good.result
    if run.status == good.status:
        return None if is_same or told else "has another result, without a word"
    if run.status not in (1, 2, *([126, 127] if "{spin}" in command.words else [])):
        return f"ends with status {run.status} instead of {good.status}"
    if not told:
        return f"ends with status {run.status}, without a word"
    if command.result and run.result is not None and not is_same:
        return f"ends with status {run.status} and part of a result"
    return None


class Site:
    def __init__(self, line, names):
        words = line.split()
        self.id, self.call, self.count = words[0], names.get(int(words[1]), words[1]), int(words[2])
        self.callers = words[3:]

    def calls(self):
        """(ordinal, error) of each call that fails."""
        for ordinal in sorted({1, self.count}):
            for error in ERRORS.get(self.call, ERRORS["default"]):
                yield ordinal, error

    def describe(self, tool):
        wanted = [hex(int(caller, 16) - 1) for caller in self.callers]
        text = subprocess.run(["addr2line", "-f", "-s", "-e", tool, *wanted], capture_output=True, text=True,
                              check=False).stdout.splitlines()
        places = [f"{function} {place.split(' ')[0]}" for function, place in zip(text[::2], text[1::2])]
        return f"{self.call} < {' < '.join(places)}"


def list_sites(world, command, names):
    """The sites of two undisturbed runs, and the second run."""
    found = {}
    for _ in range(2):
        good = world.run(command, "-l", world.sites)
        with open(world.sites, encoding="utf-8") as file:
            for line in file:
                site = Site(line, names)
                if site.call not in command.never:
                    found.setdefault(site.id, site)
    return list(found.values()), good


def choose(calls, most):
    if not most or len(calls) <= most:
        return calls
    return [calls[i * len(calls) // most] for i in range(most)]


def fail_each(world, command, names, most):
    """Returns numbers of sites, calls and failures."""
    sites, good = list_sites(world, command, names)
    if good.status is None or good.result is None:
        print(f"{command.name}: the undisturbed run fails: {good.lines}", file=sys.stderr)
        return len(sites), 0, 1
    calls = choose([(site, *call) for site in sites for call in site.calls()], most)
    failures = 0
    for site, ordinal, error in calls:
        number = getattr(errno, error)
        run = world.run(command, "-f", f"{site.id},{ordinal},{number}")
        reason = judge(command, run, good, site.call)
        if reason:
            failures += 1
            print(f"{command.name}: {error} at call {ordinal} of {site.count}: {site.describe(world.tool)}: {reason}\n"
                  f"  {' | '.join(run.lines[:4])}", file=sys.stderr, flush=True)
    return len({site.id for site, _, _ in calls}), len(calls), failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("tool")
    parser.add_argument("build")
    args = parser.parse_args()
    world = World(args.tool, args.build)
    names = syscall_names()
    chosen = [command for command in COMMANDS if not args.only or command.name in args.only]
    rows, bad = [], 0
    for number, command in enumerate(chosen, 1):
        sites, calls, failures = fail_each(world, command, names, args.most)
        rows.append((command.name, sites, calls, failures))
        bad += failures
        if not args.table:
            print(f"{'not ' if failures else ''}ok {number} - {command.name}: {calls} calls of {sites} sites",
                  flush=True)
    if args.table:
        print("| command | call sites | failed calls | wrong ends |\n|---|--:|--:|--:|")
        for row in rows:
            print("| {} | {} | {} | {} |".format(*row))
    else:
        print(f"1..{len(chosen)}")
    shutil.rmtree(world.folder, ignore_errors=True)
    return 1 if bad else 0


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""attach.py AUGER WORKLOADS [CASE...]: `auger heap -p` on programs that run."""

import functools
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "preload"))
import heapfile  # noqa: E402
from live import Skip, main  # noqa: E402

PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
ATTACHED = 32  # of struct heap_header's flags
PATIENCE = 120  # seconds, for whatever a busy machine delays


class Program:
    """A process that answers lines, and ends when its input does."""

    def __init__(self, bench, *command, **options):
        self.bench = bench
        self.process = bench.start(*command, **PIPES, **options)
        self.line("ready\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        ended = self.process.poll()
        self.process.kill()
        self.process.communicate()
        self.bench.check(ended in (None, 0, -signal.SIGKILL), f"the program ended with {ended}")

    @property
    def pid(self):
        return self.process.pid

    def line(self, want):
        got = self.process.stdout.readline()
        if got != want:
            raise ValueError(f"the program said {got!r}, not {want!r}: {self.process.poll()}")

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        self.line(text + "\n")

    def end(self, want="ok\n"):
        words, said = self.process.communicate(timeout=PATIENCE)
        self.bench.equal((words, said, self.process.returncode), (want, "", 0), "the program's end")

    def rss_kbytes(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def wait_for(what, words, process=None):
    end = time.monotonic() + PATIENCE
    while not what():
        if process and process.poll() is not None:
            raise ValueError(f"{words}: ended: {process.communicate()}")
        if time.monotonic() > end:
            raise ValueError(words)
        time.sleep(0.01)


def folders(bench):
    """What lies in $TMPDIR of heap files: those of attached processes have no name."""
    return [name for name in os.listdir(bench.folder) if name.startswith("auger-heap.")]


def heap_head(pid):
    """The header of the heap file that the process keeps; None: not yet."""
    try:
        for number in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{number}"
            if any(name in os.readlink(path) for name in ("/#", "auger-heap.")):
                with open(path, "rb") as file:
                    head = heapfile.HEADER.unpack(file.read(heapfile.HEADER.size))
                if head[0] == b"augheap\0":
                    return head
    except (OSError, struct.error):
        pass  # it is being made, or closed
    return None


def recorded(pid):
    """Are all modules of the process recorded, and has it allocated?"""
    head = heap_head(pid)
    return head and head[13] & ATTACHED and head[18] > 1  # flags, site_count


def has_lock(pid):
    """Has the process taken the lock of a file? Who has that of a heap file records."""
    with open("/proc/locks", encoding="ascii") as file:
        return any(line.split()[1] == "FLOCK" and line.split()[4] == str(pid) for line in file)


class Attached:
    """auger heap -p PID, from when on it records, up to SIGINT."""

    def __init__(self, bench, pid, *options, output="a.pb.gz"):
        self.process = bench.start(bench.tool, "heap", "-p", str(pid), "-o", output, *options, **PIPES)
        self.bench = bench
        wait_for(lambda: recorded(pid) and has_lock(self.process.pid), f"process {pid} is recorded", self.process)

    def end(self, number=signal.SIGINT, status=0):
        if number:
            self.process.send_signal(number)
        _, said = self.process.communicate(timeout=PATIENCE)
        self.bench.equal(self.process.returncode, status, said)
        return said


def sums(bench, function, value="inuse_space", output="a.pb.gz"):
    rows = bench.report("--value", value, output=output)["rows"]
    return sum(row["self"] for row in rows if row["function"] == function)


def ten_times(bench):
    """Four threads that check their memory never see a difference, and each recording has its blocks."""
    with Program(bench, bench.workload("churn"), "4") as program:
        first = 0
        for i in range(1, 11):
            attached = Attached(bench, program.pid, *(["--exact-peak"] if i % 2 else []))
            program.ask(f"held {i}")
            said = attached.end()
            bench.check("of those allocated meanwhile" in said, said)
            bench.equal(sums(bench, "hold"), 1000 * i, f"bytes held, time {i}")
            bench.equal(sums(bench, "hold", "alloc_objects"), i, f"blocks, time {i}")
            first = first or program.rss_kbytes()
        bench.equal(folders(bench), [], "folders that are left")
        last = program.rss_kbytes()
        bench.check(last < first + 16384, f"resident: {first} KiB after the first time, {last} after the last")
        with open(f"/proc/{program.pid}/maps", encoding="utf-8") as file:
            names = {line.split(maxsplit=5)[5].strip() for line in file if "auger" in line}
        bench.equal(len(names), 1, f"mapped: {names}")
        program.end()


def later_library(bench):
    """What it opens later is recorded; a thread, a child, and closing do not disturb."""
    with Program(bench, bench.workload("churn"), "1", bench.workload("churn_plugin.so")) as program:
        attached = Attached(bench, program.pid)
        for line in ("open", "thread", "fork", "held 3"):
            program.ask(line)
        attached.end()
        bench.equal(sums(bench, "churn_plugin"), 3000, "the library's block")
        bench.equal(sums(bench, "hold"), 3000, "the program's blocks")
        bench.equal(sums(bench, "allocate_once", "alloc_space"), 50, "the thread's block")
        attached = Attached(bench, program.pid)
        for line in ("close", "fork", "held 2"):
            program.ask(line)
        attached.end()
        bench.equal(sums(bench, "hold"), 2000, "blocks after closing")
        program.end()


def for_a_time(bench):
    """-d ends it, with a sample of the blocks."""
    with Program(bench, bench.workload("churn"), "1") as program:
        done = bench.run(bench.tool, "heap", "-p", str(program.pid), "-d", "0.2", "--sample", "64k", "-o", "a.pb.gz")
        bench.check("one sample in 64.0 KiB" in done.stderr, done.stderr)
        done = bench.run(bench.tool, "heap", "-p", str(program.pid), "-d", "0.2", "--sample", "1g", "-o", "a.pb.gz")
        bench.check("nothing held\n" in done.stderr and "leaked" not in done.stderr, done.stderr)
        program.end()


def mapped(bench):
    """--mmap: stacks of threads and what is mapped count, and the program is as before."""
    with Program(bench, bench.workload("churn"), "1") as program:
        for _ in range(2):
            attached = Attached(bench, program.pid, "--mmap")
            for line in ("thread", "map 5", "held 3"):
                program.ask(line)
            said = attached.end()
            bench.check("allocations and mappings of" in said, said)
            page = os.sysconf("SC_PAGE_SIZE")
            bench.equal(sums(bench, "map_pages", "alloc_space"), 6 * page, "bytes mapped")
            bench.equal(sums(bench, "map_pages"), 5 * page, "bytes still mapped")
            bench.check(sums(bench, "start_one", "alloc_space") >= 16384, "the thread's stack")
            bench.check(sums(bench, "start_one") < 16384, "the stack of a thread that has ended")
            bench.equal(sums(bench, "hold"), 3000, "the program's blocks")
        program.end()


def other_file(bench):
    """A file without a name that it has mapped, and that we have no way to, is not its heap file."""
    plain = ()
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            raise Skip("there is no setpriv")
        plain = ("setpriv", "--bounding-set", "-sys_admin,-checkpoint_restore")
        if bench.run(*plain, "true", status=None).returncode:
            plain = ("setpriv", "--bounding-set", "-sys_admin")
    with Program(bench, bench.workload("churn"), "1") as program:
        program.ask("unnamed")
        bench.run(bench.tool, "heap", "-p", str(program.pid), "-d", "0.2", "-o", "u.pb.gz", prefix=plain)
        done = bench.run(bench.tool, "heap", "--show", str(program.pid), prefix=plain, status=1)
        bench.check("cannot be opened" in done.stderr or "is not recorded" in done.stderr, done.stderr)
        program.end()


def full_disk(bench):
    """Where there is no room for the heap file a line says so, and the program runs on."""
    alone = ("unshare", "-m", "--propagation", "private")
    if os.geteuid() != 0 or subprocess.run([*alone, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip("nobody may mount here")
    os.mkdir(bench.path("full"))
    os.environ["TMPDIR"] = bench.path("full")
    script = f"mount -t tmpfs -o size=50k none {bench.path('full')} && exec {bench.workload('churn')} 1"
    with Program(bench, *alone, "sh", "-c", script) as program:
        refused(bench, program.pid, "No space left", status=1)
        program.ask("held 1")
        program.end()


def ended_program(bench):
    """It ends while it is recorded: then auger does, with the profile."""
    with Program(bench, bench.workload("churn"), "1") as program:
        attached = Attached(bench, program.pid)
        program.ask("held 7")
        program.end()
        attached.end(number=None)
        bench.equal(sums(bench, "hold"), 7000, "held at its end")
    with Program(bench, bench.workload("churn"), "1") as program:
        attached = Attached(bench, program.pid)
        program.ask("held 7")
        program.process.kill()
        attached.end(number=None)
        bench.equal(sums(bench, "hold"), 7000, "held when it was killed")
        bench.equal(folders(bench), [], "folders that are left")


def killed_auger(bench):
    """The program runs on, recorded; the next auger ends that, and begins anew. Only one records."""
    with Program(bench, bench.workload("churn"), "2") as program:
        attached = Attached(bench, program.pid)
        done = bench.run(bench.tool, "heap", "-p", str(program.pid), "-d", "1", status=1)
        bench.check("another auger records it" in done.stderr, done.stderr)
        shown = bench.run(bench.tool, "heap", "--show", str(program.pid)).stdout
        bench.check("held" in shown, shown)
        attached.end(signal.SIGKILL, -signal.SIGKILL)
        program.ask("held 4")
        shown = bench.run(bench.tool, "heap", "--show", str(program.pid)).stdout
        bench.check("held" in shown, shown)
        began = heap_head(program.pid)[8]  # start_ns
        attached = Attached(bench, program.pid)
        wait_for(lambda: recorded(program.pid) and heap_head(program.pid)[8] != began, "it is recorded again", attached.process)
        program.ask("held 5")
        said = attached.end()
        bench.check("was killed left" in said, said)
        bench.equal(sums(bench, "hold"), 5000, "held since")
        bench.equal(folders(bench), [], "folders that are left")
        program.end()


PYTHON = """
import sys
kept = []
print("ready", flush=True)
for line in sys.stdin:
    [bytes(600) for _ in range(100)]
    if line.startswith("keep"):
        kept.append(bytearray(1 << 20))
        __import__("_json")
    sys.stdout.write(line)
    sys.stdout.flush()
print("ok")
"""


def python(bench):
    """CPython: what it keeps, while one of its threads works."""
    with Program(bench, sys.executable, "-c", PYTHON) as program:
        process = bench.start(bench.tool, "heap", "-p", str(program.pid), "-o", "a.pb.gz", **PIPES)
        attached = Attached.__new__(Attached)
        attached.process, attached.bench = process, bench

        def asked():
            program.ask("work")
            return recorded(program.pid)

        wait_for(asked, "python is recorded", process)
        for _ in range(3):
            program.ask("keep")
        attached.end()
        total = bench.report("--value", "inuse_space", output="a.pb.gz")["total"]
        bench.check(3 << 20 <= total < 4 << 20, f"bytes that Python keeps: {total}")
        program.end()


def refused(bench, pid, reason, status=2):
    done = bench.run(bench.tool, "heap", "-p", str(pid), "-d", "1", "-o", "r.pb.gz", status=status)
    bench.check(reason in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)
    bench.check(not os.path.exists(bench.path("r.pb.gz")), "a profile of nothing")


def refusals(bench):
    """A line with the reason, and the process is as it was."""
    with Program(bench, bench.workload("answer_static"), "wait") as program:
        refused(bench, program.pid, "statically")
    with Program(bench, bench.workload("churn_sanitized"), "1") as program:
        refused(bench, program.pid, "sanitizer")
        program.end()
    refused(bench, 1 << 22, "No such process", status=1)
    bench.equal(folders(bench), [], "folders that are left")


def slow_constructor(bench):
    """A thread that stays in the dynamic linker, and may wait for any other one."""
    ours, its = os.pipe()
    command = (bench.workload("churn"), "1", bench.workload("churn_slow.so"))
    with Program(bench, *command, pass_fds=[ours], env={**os.environ, "SLOW_FD": str(ours)}) as program:
        program.ask("load")
        refused(bench, program.pid, "stays in the dynamic linker", status=1)
        os.close(its)
        os.close(ours)
        Attached(bench, program.pid).end()
        program.end()


def started_by_us(bench):
    """What is recorded from its start is not attached to."""
    run = bench.start(bench.tool, "heap", "-o", "h.pb.gz", "--", bench.workload("churn"), "1", **PIPES)
    try:
        run.stdout.readline()
        pid = heapfile.files(bench.path(folders(bench)[0]))[0].pid
        refused(bench, pid, "--show")
        words, said = run.communicate(timeout=PATIENCE)
        bench.equal((words, run.returncode), ("ok\n", 0), said)
    finally:
        run.kill()
        run.wait()


def set_id(bench):
    """Of another user: it is refused, whoever asks."""
    if os.geteuid() != 0:
        raise Skip("only root gives files to others")
    path = bench.path("other")
    shutil.copy(bench.workload("churn"), path)
    os.chmod(bench.folder, 0o711)
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o4755)
    with Program(bench, path, "1") as program:
        refused(bench, program.pid, "set-id")
        program.end()


NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


def needs_hostile_user():
    if os.geteuid() != 0:
        raise Skip("only root has to fear other users' processes")
    for tool in ("setpriv", "unshare"):
        if not shutil.which(tool):
            raise Skip(f"there is no {tool}")


def copies(bench, *names):
    """Programs where another user can execute them."""
    os.chmod(bench.folder, 0o711)
    for name in names:
        shutil.copy(bench.workload(name), bench.path(name))
    return [bench.path(name) for name in names]


def folder_of_root(bench):
    """Its $TMPDIR is, for the process alone, a folder of root: nothing is made in it, or given away."""
    needs_hostile_user()
    churn, = copies(bench, "churn")
    for name in ("tmp", "secret"):
        os.mkdir(bench.path(name), 0o711)
    os.environ["TMPDIR"] = bench.path("tmp")
    hide = f"mount --bind {bench.path('secret')} {bench.path('tmp')} && exec \"$@\""
    probe = bench.run("unshare", "-m", "sh", "-c", hide, "sh", "true", status=None)
    if probe.returncode:
        raise Skip(f"no mounts of its own: {probe.stderr}")
    with Program(bench, "unshare", "-m", "sh", "-c", hide, "sh", *NOBODY, churn, "1") as program:
        began = os.stat(bench.path("secret")).st_mtime_ns
        attached = Attached(bench, program.pid)
        bench.equal(os.listdir(bench.path("secret")), [], "made in a folder of root")
        program.ask("held 3")
        attached.end()
        bench.equal(os.stat(bench.path("secret")).st_mtime_ns, began, "the folder's last change")
        bench.equal(sums(bench, "hold"), 3000, "bytes held")
        program.end()


def other_descriptor(bench):
    """At the descriptor of the library's memory file it puts a file of root, which is not written."""
    needs_hostile_user()
    hostile, = copies(bench, "hostile")
    victim = bench.path("victim")
    with open(victim, "wb") as file:
        file.write(b"of root\n" * 1000)
    os.chmod(victim, 0o644)
    with open(victim, "rb") as file:
        before = file.read()
    for _ in range(10):
        with Program(bench, *NOBODY, hostile, "swap", victim) as program:
            bench.run(bench.tool, "heap", "-p", str(program.pid), "-d", "0.01", "-o", "s.pb.gz", status=None)
        with open(victim, "rb") as file:
            if not bench.check(file.read() == before, "a file of root was written"):
                break


def mapped_name(bench):
    """A file that it maps is named as heap files were, and it ends when it is stopped: nothing of it is removed."""
    needs_hostile_user()
    hostile, = copies(bench, "hostile")
    lure = bench.path("auger-heap.lure")
    for _ in range(10):
        os.mkdir(lure)
        for name in ("heap.1.0", "precious"):
            with open(f"{lure}/{name}", "wb") as file:
                file.write(b"x" * 8192)
        os.chown(f"{lure}/heap.1.0", 65534, 65534)
        with Program(bench, *NOBODY, hostile, "map", f"{lure}/heap.1.0") as program:
            auger = bench.start(bench.tool, "heap", "-p", str(program.pid), "-d", "0.01", "-o", "m.pb.gz", **PIPES)
            while auger.poll() is None:
                with open(f"/proc/{program.pid}/status", encoding="ascii") as file:
                    if "TracerPid:\t0\n" not in file.read():
                        break
            program.process.kill()
            auger.communicate(timeout=PATIENCE)
        left = sorted(os.listdir(lure)) if os.path.isdir(lure) else None
        if not bench.check(left == ["heap.1.0", "precious"], f"left: {left}"):
            break
        shutil.rmtree(lure)


def in_its_folder(case):
    """Heap files lie where nobody else makes some."""
    @functools.wraps(case)
    def run(bench):
        os.environ["TMPDIR"] = bench.folder
        case(bench)
    return run


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        print("1..0 # SKIP attaching is for x86-64")
        sys.exit(0)
    main([in_its_folder(case) for case in (ten_times, later_library, for_a_time, mapped, other_file, full_disk, ended_program, killed_auger, python,
                                           refusals, slow_constructor, started_by_us, set_id, folder_of_root,
                                           other_descriptor, mapped_name)])

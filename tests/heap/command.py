#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""command.py AUGER WORKLOADS [CASE...]: `auger heap` on a program that knows what it allocates."""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from live import Skip, main  # noqa: E402

# What answer.c says of itself: by function and sample type, what it does once.
TRUTH = {
    "leak": {"alloc_objects": 10, "alloc_space": 10000, "inuse_objects": 10, "inuse_space": 10000,
             "peak_objects": 10, "peak_space": 10000},
    "hold": {"alloc_objects": 64, "alloc_space": 64 * 16384, "peak_objects": 64,
             "peak_space": 64 * 16384},
    "temporary": {"alloc_objects": 500, "alloc_space": 24000, "temporary_objects": 500,
                  "temporary_space": 24000},
    "grow": {"alloc_objects": 3, "alloc_space": 100132, "peak_objects": 2, "peak_space": 100032,
             "realloc_moves": 1},
}
TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_objects",
         "peak_space", "temporary_objects", "temporary_space", "realloc_moves")


def heap(bench, *args, status=0, output="h.pb.gz"):
    """The command's output, and what auger said."""
    done = bench.run(bench.tool, "heap", "-o", output, *args, status=status)
    return done.stdout, done.stderr


def sums(bench, value, *options, output="h.pb.gz"):
    """Self values by function, of the functions of answer.c."""
    rows = bench.report("--value", value, *options, output=output)["rows"]
    return {row["function"]: row["self"] for row in rows if row["function"] in TRUTH}


def check_truth(bench, times=1, skip=(), output="h.pb.gz"):
    for value in TYPES:
        if value in skip:
            continue
        want = {name: times * of[value] for name, of in TRUTH.items() if value in of}
        bench.equal(sums(bench, value, output=output), want, value)


def mapped(bench):
    """--mmap: blocks are the same, and the mappings come to them."""
    _, said = heap(bench, "--mmap", "--", bench.workload("answer"))
    check_truth(bench, skip=("temporary_objects", "temporary_space"))
    bench.check("allocations and mappings of" in said, said)
    comments = bench.report(output="h.pb.gz")["comment"]
    bench.check(any("heap and mappings of 1 process" in line for line in comments), comments)


def folders(bench):
    return [name for name in os.listdir(bench.folder) if name.startswith("auger-heap.")]


def exact(bench):
    """Each function has what it allocated, and the folder is gone."""
    words, said = heap(bench, "--", bench.workload("answer"))
    bench.equal(words, "", "what the program prints")
    check_truth(bench, skip=("temporary_objects", "temporary_space"))
    # hold's last block and grow's first are no temporary ones; those of temporary are all
    bench.equal(sums(bench, "temporary_objects").get("temporary"), 500, "temporary")
    lines = said.splitlines()
    bench.check(len(lines) <= 20, said)
    bench.check("577 allocations" in said and "hold" in said and "leaked 9.8 KiB" in said, said)
    bench.equal(folders(bench), [], "what is left in TMPDIR")
    heap(bench, "--exact-peak", "--", bench.workload("answer"))
    check_truth(bench, skip=TYPES[6:8])


def statuses(bench):
    """The command's status is auger's; a killed one has its profile."""
    heap(bench, "--", bench.workload("answer"), "exit=7", status=7)
    check_truth(bench, skip=TYPES[6:8])
    for number in (signal.SIGTERM, signal.SIGKILL):
        heap(bench, "--", bench.workload("answer"), f"kill={number}", status=128 + number)
        check_truth(bench, skip=TYPES[6:8])
    heap(bench, "--", "/nonexistent/program", status=127)
    heap(bench, "--", "/etc/passwd", status=126)


def children(bench):
    """By fork and exec, in one profile, apart by their labels."""
    answer = bench.workload("answer")
    heap(bench, "--", "sh", "-c", f"{answer} child; {answer} exec first second")
    check_truth(bench, times=3, skip=TYPES[6:8])
    rows = bench.report("--value", "inuse_space", "--focus", "^leak$", "--by", "pid",
                        output="h.pb.gz")["rows"]
    bench.equal([row["total"] for row in rows], [10000] * 3, "leaks by pid")
    heap(bench, "--follow", "none", "--", answer, "child")
    check_truth(bench, skip=TYPES[6:8])


def reaches(bench, program, want):
    """Reads up to the line that the program prints."""
    line = program.stdout.readline()
    return bench.equal(line, want, "the program's line")


def live_process(bench):
    """What it holds at its peak, while it waits; then it ends as ever."""
    answer = bench.workload("answer")
    run = bench.start(bench.tool, "heap", "-o", "end.pb.gz", "--", answer, "wait",
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        if not reaches(bench, run, "ready\n"):
            return
        folder = folders(bench)[0]
        pid = os.listdir(bench.path(folder))[0].split(".")[1]
        for shown in (pid, folder):
            done = bench.run(bench.tool, "heap", "--show", shown, "-o", "now.pb.gz")
            bench.check("held 1.1 MiB" in done.stdout.splitlines()[1], done.stdout)
            held = {"leak": 10000, "hold": 64 * 16384, "grow": 100000}
            bench.equal(sums(bench, "inuse_space", output="now.pb.gz"), held, "held now")
        _, said = run.communicate("go\n", timeout=120)
        bench.equal(run.returncode, 0, said)
        check_truth(bench, skip=TYPES[6:8], output="end.pb.gz")
    finally:
        run.kill()
        run.wait()


def interrupted(bench):
    """The signal is the command's, and the profile is written."""
    run = bench.start(bench.tool, "heap", "-o", "int.pb.gz", "--", bench.workload("answer"), "wait",
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        if not reaches(bench, run, "ready\n"):
            return
        run.send_signal(signal.SIGINT)
        run.wait(timeout=120)
        bench.equal(run.returncode, 128 + signal.SIGINT, "status")
        held = {"leak": 10000, "hold": 64 * 16384, "grow": 100000}
        bench.equal(sums(bench, "inuse_space", output="int.pb.gz"), held, "held")
    finally:
        run.kill()
        run.communicate()


def killed_auger(bench):
    """SIGKILL to auger and its command: the folder is there, and --show makes a profile of it."""
    run = bench.start(bench.tool, "heap", "-o", "end.pb.gz", "--", bench.workload("answer"), "wait",
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        if not reaches(bench, run, "ready\n"):
            return
        folder = folders(bench)[0]
        pid = int(os.listdir(bench.path(folder))[0].split(".")[1])
        run.kill()
        run.wait()
        os.kill(pid, signal.SIGKILL)
        wait_for_end(bench, pid)
        bench.run(bench.tool, "heap", "--show", folder, "-o", "dead.pb.gz")
        want = {name: of["peak_space"] for name, of in TRUTH.items() if "peak_space" in of}
        bench.equal(sums(bench, "peak_space", output="dead.pb.gz"), want, "peak")
    finally:
        run.kill()
        run.wait()
        run.stdin.close()
        run.stdout.close()


def wait_for_end(bench, pid):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if file.read().rsplit(")", 1)[1].split()[0] in "ZX":
                    return
        except OSError:
            return
        time.sleep(0.01)
    bench.check(False, f"{pid} does not end")


def survivor(bench):
    """A process that outlives the command keeps its file, and is told of."""
    answer = bench.workload("answer")
    os.mkfifo(bench.path("fifo"))
    script = (f"exec 3<>fifo; {answer} wait <&3 >out 2>&1 & echo $! >pid; "
              "until [ -s out ]; do sleep 0.05; done")
    try:
        _, said = heap(bench, "--", "sh", "-c", script)
        bench.check("1 process is still running" in said, said)
        bench.equal(len(folders(bench)), 1, "the folder")
        held = {"leak": 10000, "hold": 64 * 16384, "grow": 100000}
        bench.equal(sums(bench, "inuse_space"), held, "held")
    finally:
        with open(bench.path("pid"), encoding="ascii") as file:
            pid = int(file.read())
        os.kill(pid, signal.SIGKILL)
        wait_for_end(bench, pid)


def sampled(bench):
    """Estimates are near: the 64 large blocks are all sampled, but not the 500 small ones."""
    heap(bench, "--sample", "4k", "--", bench.workload("answer"))
    got = sums(bench, "alloc_space")
    bench.check(abs(got.get("hold", 0) - 64 * 16384) < 64 * 16384 // 4, got)
    report = bench.report("--value", "alloc_space", output="h.pb.gz")
    bench.check(report["total"] > 0, report)


def stages_agree(bench):
    """The stage library's heap counter and auger heap have the same peak, in one run."""
    program = os.path.join(bench.workloads, "..", "live", "stages_run", "truth_table")
    words, _ = heap(bench, "--", bench.tool, "stages", "run", "-f", "json", "--", program, "1")
    table = json.loads(words)
    want = max(row["heap_peak_bytes"] or 0 for row in table["rows"])
    got = bench.report("--value", "peak_space", "--comm", "truth_table", output="h.pb.gz")["total"]
    bench.check(abs(got - want) < want // 50, f"peak {got}, of the stages {want}")


def to_standard_output(bench):
    """The profile takes its place, and the command's words go to standard error."""
    with open(bench.path("out"), "wb") as out:
        subprocess.run([bench.tool, "heap", "-o", "-", "--", "echo", "words"], stdout=out,
                       stderr=subprocess.DEVNULL, check=True, timeout=120)
    bench.check(bench.report(output="out")["rows"] is not None, "no profile")


def full_disk(bench):
    """The program runs as ever, and what is missing is said."""
    alone = ("unshare", "-m", "--propagation", "private")
    if os.geteuid() != 0 or subprocess.run([*alone, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip("nobody may mount here")
    os.mkdir(bench.path("full"))
    for kbytes, words in ((50, "nothing was recorded"), (400, "")):
        script = (f"mount -t tmpfs -o size={kbytes}k none full && TMPDIR=$PWD/full exec "
                  f"{bench.tool} heap -o h.pb.gz -- {bench.workload('answer')} exit=3")
        done = bench.run(*alone, "sh", "-c", script, status=3)
        bench.check(words in done.stderr, done.stderr)
    check_truth(bench, skip=TYPES[6:8])


def no_room_for_profile(bench):
    """The profile cannot be written: what was recorded is kept, and can be written elsewhere."""
    if not os.path.exists("/dev/full"):
        raise Skip("there is no /dev/full")
    done = bench.run("sh", "-c", f"exec {bench.tool} heap -o - -- {bench.workload('answer')} >/dev/full", status=1)
    bench.check("No space left" in done.stderr and "is kept" in done.stderr, done.stderr)
    bench.equal(len(folders(bench)), 1, "folders")
    bench.run(bench.tool, "heap", "--show", folders(bench)[0], "-o", "h.pb.gz")
    check_truth(bench, skip=TYPES[6:8])


class MemoryGroup:
    """A cgroup with little memory, of either version."""

    def __init__(self, mbytes):
        self.path = None
        limits = {"memory": ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), "": ("memory.max", "memory.swap.max")}
        for root, (limit, swap) in limits.items():
            path = os.path.join("/sys/fs/cgroup", root, f"auger-heap-test-{os.getpid()}")
            try:
                os.mkdir(path)
                self.path = path
                self.put(limit, mbytes << 20)
                if os.path.exists(f"{path}/{swap}"):
                    self.put(swap, mbytes << 20 if root else 0)
                return
            except OSError:
                self.close()
        raise Skip("no cgroup with a limit can be made")

    def put(self, name, value):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
            file.write(str(value))

    def close(self):
        """What was in it may not have left yet."""
        end = time.monotonic() + 60
        while self.path:
            try:
                os.rmdir(self.path)
                self.path = None
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)


def out_of_memory(bench):
    """The kernel kills the program: its last block is in the profile."""
    group = MemoryGroup(64)
    try:
        for options in ([], ["--mmap"]):
            words, said = heap(bench, *options, "--", "sh", "-c", f"echo $$ >{group.path}/cgroup.procs && exec {bench.workload('answer')} eat",
                               status=128 + signal.SIGKILL)
            rows = bench.report("--value", "inuse_space", output="h.pb.gz")["rows"]
            held = sum(row["self"] for row in rows if row["function"] == "eat")
            blocks = words.count("\n")
            bench.check(blocks > 10 and held in (blocks << 20, (blocks + 1) << 20), f"{blocks} blocks, {held} bytes: {said}")
    finally:
        group.close()


def patched(bench, name, change):
    """A copy of a program with other bytes."""
    with open(shutil.which("true"), "rb") as file:
        data = bytearray(file.read())
    change(data)
    with open(bench.path(name), "wb") as file:
        file.write(data)
    os.chmod(bench.path(name), 0o755)
    return bench.path(name)


def other_machine(data):
    data[18:20] = (243).to_bytes(2, "little")  # RISC-V


def musl_loader(data):
    start = data.index(b"/ld-linux") - len(b"/lib")
    start = data.rindex(b"/lib", 0, data.index(b"ld-linux"))
    end = data.index(b"\0", start)
    data[start:end] = b"/lib/ld-musl.so.1".ljust(end - start, b"\0")


def refusals(bench):
    """A line with the reason, status 2, and nothing is run."""
    cases = [(bench.workload("answer_static"), "statically"),
             (bench.workload("sanitized"), "sanitizer"),
             (patched(bench, "foreign", other_machine), "another processor"),
             (patched(bench, "musl", musl_loader), "musl")]
    with open(bench.path("script"), "w", encoding="ascii") as file:
        file.write(f"#! {bench.workload('answer_static')} x\n")
    os.chmod(bench.path("script"), 0o755)
    cases.append((bench.path("script"), "statically"))
    for program, reason in cases:
        words, said = heap(bench, "--", program, status=2)
        bench.check(reason in said and len(said.splitlines()) == 1 and not words, said)
        bench.check(not os.path.exists(bench.path("h.pb.gz")), "a profile of nothing")


def set_id(bench):
    """Of another user or group."""
    if os.geteuid() != 0:
        raise Skip("only root gives files to others")
    path = bench.path("other")
    shutil.copy(shutil.which("true"), path)
    os.chown(path, 65534, 65534)
    for mode in (0o4755, 0o2755):
        os.chmod(path, mode)
        _, said = heap(bench, "--", path, status=2)
        bench.check("set-id" in said, said)
    os.chmod(path, 0o755)
    heap(bench, "--", path)


def in_its_folder(case):
    """Heap files lie where nobody else makes some."""
    @functools.wraps(case)
    def run(bench):
        os.environ["TMPDIR"] = bench.folder
        case(bench)
    return run


if __name__ == "__main__":
    main([in_its_folder(case) for case in (exact, mapped, statuses, children, live_process, interrupted, killed_auger, survivor, sampled,
                                           stages_agree, to_standard_output, full_disk, no_room_for_profile, out_of_memory, refusals, set_id)])

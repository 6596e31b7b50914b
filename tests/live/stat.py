#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""stat.py TOOL FOLDER [CASE...]: auger stat against /usr/bin/time -v and programs that know their use."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import live
from live import Skip

TIME = "/usr/bin/time"
MIB = 1 << 20

# Uses some of everything that is accounted.
WORK = """
import os, sys, time
data = bytearray(os.urandom(4096)) * (64 * 256)
for _ in range(30):
    time.sleep(0.001)
with open(sys.argv[1], "wb") as file:
    file.write(data[:20 << 20])
    file.flush()
    os.fsync(file.fileno())
if os.fork() == 0:
    end = time.process_time() + 0.15
    while time.process_time() < end:
        pass
    os._exit(0)
os.wait()
os._exit(3)
"""

# What the program time itself uses, which stat tells of, too.
SLACK = {"Major": 50, "Minor": 600, "Voluntary": 50, "Involuntary": 500, "File system inputs": 4000,
         "File system outputs": 64}


def stat(bench, *args, status=0, output="s.json"):
    """The figures by name, and the processes."""
    bench.run(bench.tool, "stat", "-f", "json", "-o", output, *args, status=status)
    with open(bench.path(output), encoding="utf-8") as file:
        told = json.load(file)
    return {row["figure"]: row for row in told["figures"]["rows"]}, told["processes"]["rows"]


def python(words, *args):
    return (sys.executable, "-c", words, *args)


def seconds(text):
    """h:mm:ss or m:ss.cc"""
    total = 0.0
    for part in text.split(":"):
        total = 60 * total + float(part)
    return total


def check_label(bench, label, text, row):
    """One line of time -v against the figure that claims to be it; ours holds time's own use, too."""
    value = row["value"]
    if label.startswith("Elapsed"):
        bench.check(-0.02 < value / 1e9 - seconds(text) < 2, f"{label}: {text}, {row}")
    elif label.startswith(("User", "System")):
        bench.check(-0.02 < value / 1e9 - float(text) < 0.1, f"{label}: {text}, {row}")
    elif label.startswith("Percent"):
        bench.check(abs(value - int(text.rstrip("%"))) <= 15, f"{label}: {text}, {row}")
    else:
        most = next((n for start, n in SLACK.items() if label.startswith(start)), 0)
        bench.check(0 <= value - int(text) <= most, f"{label}: {text}, {row}")


def as_time_does(bench):
    """Every line that time -v prints is a figure, and has its value."""
    if not os.access(TIME, os.X_OK):
        raise Skip(f"no {TIME}")
    figures, _ = stat(bench, "--", TIME, "-v", "-o", "t", *python(WORK, bench.path("data")), status=3)
    with open(bench.path("t"), encoding="utf-8") as file:
        lines = re.findall(r"^\t(.+): (\S+)$", file.read(), re.M)
    lines = [line for line in lines if not line[0].startswith("Command being timed")]
    bench.check(len(lines) >= 21, lines)
    for label, text in lines:
        rows = [row for row in figures.values() if (row["detail"] or "").startswith("time -v: ") and
                label.startswith(row["detail"][len("time -v: "):].split(";")[0])]
        if bench.equal(len(rows), 1, f"figures for {label}"):
            check_label(bench, label, text, rows[0])


def bytes_told(bench):
    """Bytes read and written, by the program and by a child that it waits for."""
    words = ("import os\nos.write(os.open('/dev/null', os.O_WRONLY), bytes(3 << 20))\n"
             "if os.fork() == 0:\n os.read(os.open('/dev/zero', os.O_RDONLY), 5 << 20)\n os._exit(0)\n"
             "os.wait()\n")
    plain, _ = stat(bench, "--", *python("import os"))
    figures, _ = stat(bench, "--", *python(words))
    for name, want in (("wchar", 3 * MIB), ("rchar", 5 * MIB)):
        more = figures[name]["value"] - plain[name]["value"]
        bench.check(want <= more < want + 65536, f"{name}: {more}, want {want}")


def unprivileged(bench):
    """Others are told the same bytes; switches, which happen in the kernel, are not told as none."""
    if os.geteuid() != 0:
        raise Skip("only root becomes another user")
    copy = bench.path("auger")
    shutil.copy(bench.tool, copy)
    words = "import os\nos.write(os.open('/dev/null', os.O_WRONLY), bytes(3 << 20))"
    bench.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
              "--bounding-set=-all", copy, "stat", "-f", "json", "-o", "s.json", "--", "/usr/bin/python3",
              "-c", words)
    with open(bench.path("s.json"), encoding="utf-8") as file:
        rows = {row["figure"]: row for row in json.load(file)["figures"]["rows"]}
    bench.check(3 * MIB <= rows["wchar"]["value"] < 3 * MIB + 65536, rows["wchar"])
    bench.check(rows["context-switches"]["value"] != 0, rows["context-switches"])


def processes(bench):
    """Memory and CPU time of each, and the sum of those that are there at the same time."""
    words = ("import os, sys, time\nheld = bytearray(b'x') * (int(sys.argv[1]) << 20)\n"
             "end = time.process_time() + float(sys.argv[2])\n"
             "while time.process_time() < end: pass\ntime.sleep(1)\n")
    path = bench.path("hold.py")
    with open(path, "w", encoding="ascii") as file:
        file.write(words)
    figures, rows = stat(bench, "--", "sh", "-c",
                         f"{sys.executable} {path} 60 0.3 & {sys.executable} {path} 90 0 & wait")
    by_size = {size: next((row for row in rows if f"{path} {size} " in row["command"] and
                           not row["command"].startswith("sh ")), None) for size in (60, 90)}
    if not bench.check(all(by_size.values()), rows):
        return
    for size, row in by_size.items():
        bench.check(size * MIB <= row["peak_rss_bytes"] < (size + 30) * MIB, row)
        bench.check(row["wall_ns"] > 0.9e9, row)
    bench.check(by_size[60]["user_ns"] + by_size[60]["system_ns"] >= 0.28e9, by_size)
    bench.check(figures["peak RSS of the tree"]["value"] > 150 * MIB, figures["peak RSS of the tree"])
    bench.check(figures["maximum RSS"]["value"] < 120 * 1024, figures["maximum RSS"])
    bench.check(f"of process {by_size[90]['pid']}: " in figures["maximum RSS"]["detail"], figures["maximum RSS"])
    anonymous = figures["peak anonymous memory"]["value"]
    bench.check(150 * MIB < anonymous < figures["peak RSS of the tree"]["value"], anonymous)
    bench.check(figures["peak of processes"]["value"] == 3, figures["peak of processes"])


def are_told(figures):
    """Does the kernel tell us of the end of each process?"""
    return "last tick" in figures["unseen CPU time"]["detail"]


def short_lived(bench):
    """No process is missing, however briefly it lived: children of the command, of its children, orphans."""
    words = ("i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done\n"
             "mkfifo pipe\nsh -c 'sleep 0 >pipe & exit 0'\ncat pipe\nexit 3\n")  # the end of the orphan
    figures, rows = stat(bench, "--", "sh", "-c", words, status=3)
    if not are_told(figures):
        raise Skip("the kernel tells others than root, and containers, nothing of ends")
    with open(bench.path("s.json"), encoding="utf-8") as file:
        programs = {row["program"]: row for row in json.load(file)["programs"]["rows"]}
    bench.equal({name: row["processes"] for name, row in programs.items()},
                {"true": 300, "mkfifo": 1, "sleep": 1, "cat": 1, "sh": 2}, "processes")
    bench.equal(len(rows), 305, "rows")
    for row in rows:
        bench.check(0 < row["peak_rss_bytes"] < 20 * MIB and row["minor_faults"] > 0, row)
    used = sum(row["user_ns"] + row["system_ns"] for row in rows)
    whole = programs.values()
    bench.equal(sum(row["user_ns"] + row["system_ns"] for row in whole), used, "the programs' sum")
    bench.equal(max(row["peak_rss_bytes"] for row in whole), max(row["peak_rss_bytes"] for row in rows), "peak")


def small(bench):
    """A small program's memory is not that of ours, which was there before it."""
    figures, _ = stat(bench, "--", "true")
    value, row = figures["maximum RSS"]["value"], figures["maximum RSS"]
    if are_told(figures):
        bench.check(value < 2500, row)
    bench.check(figures["peak RSS of the tree"]["value"] > 0, figures["peak RSS of the tree"])
    bench.check(figures["peak of processes"]["value"] >= 1, figures["peak of processes"])


def alone(bench):
    """A command that has no children has all of what was used, by whatever account."""
    copy = bench.path("auger")
    shutil.copy(bench.tool, copy)
    words = "held = bytearray(b'x') * (50 << 20)"
    off = {"peak_rss_bytes": 1 << 20, "minor_faults": 0}  # the kernel counts pages in batches, by CPU
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all")
    for before in ((), prefix) if os.geteuid() == 0 else ((),):
        bench.run(*before, copy, "stat", "-f", "json", "-o", "s.json", "--", "/usr/bin/python3", "-c", words)
        figures, (row,) = told(bench)
        for name, unit in (("peak_rss_bytes", "maximum RSS"), ("minor_faults", "minor faults")):
            whole = figures[unit] * (1024 if name == "peak_rss_bytes" else 1)
            bench.check(0.95 * whole <= row[name] <= whole + off[name], f"{name}: {row[name]}, {whole}")
        if before:
            bench.equal(row["user_ns"] + row["system_ns"], figures["CPU time of all"], "CPU time")


def unseen(bench):
    """The processes that were seen and the rest make up the whole."""
    figures, rows = stat(bench, "--", "sh", "-c",
                         "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done")
    whole = figures["user"]["value"] + figures["system"]["value"]
    seen = sum(row["user_ns"] + row["system_ns"] for row in rows)
    rest = figures["unseen CPU time"]["value"]
    bench.check(abs(seen + rest - whole) <= max(0, seen - whole), f"{seen}, {rest}, {whole}")
    if are_told(figures):
        bench.check(rest < whole / 2, f"{rest} of {whole}")
    else:
        bench.check(rest > whole / 4, f"{rest} of {whole}")
    figures, _ = stat(bench, "--", *python("import time\nwhile time.process_time() < 0.5: pass"))
    bench.check(figures["unseen CPU time"]["value"] < 0.06e9, figures["unseen CPU time"])


def orphans(bench):
    """What nobody waits for is told apart; what is left running is counted, and left alone."""
    words = ("import os, sys, time\n"
             "ends = os.pipe()\n"
             "if os.fork() == 0:\n"
             " if os.fork() == 0:\n"
             "  end = time.process_time() + 0.3\n"
             "  while time.process_time() < end: pass\n"
             "  os._exit(0)\n"
             " os._exit(0)\n"
             "os.wait()\nos.close(ends[1])\nos.read(ends[0], 1)\ntime.sleep(0.5)\n")
    figures, _ = stat(bench, "--", *python(words))
    bench.equal(figures["orphans"]["value"], 1, "orphans")
    used = figures["user of orphans"]["value"] + figures["system of orphans"]["value"]
    bench.check(0.29e9 < used < 0.5e9, f"{used}")
    waited = figures["user"]["value"] + figures["system"]["value"]
    bench.equal(figures["CPU time of all"]["value"], waited + used, "CPU time of all")
    figures, _ = stat(bench, "--", "sh", "-c", "sleep 2 >/dev/null 2>&1 & echo $! >left")
    bench.equal(figures["left running"]["value"], 1, "left")
    with open(bench.path("left"), encoding="ascii") as file:
        left = int(file.read())
    bench.check(os.path.exists(f"/proc/{left}"), "it was ended")
    os.kill(left, signal.SIGTERM)


def counters(bench):
    """Software events are those of wait4; what cannot be counted says why and is not 0."""
    figures, _ = stat(bench, "--", *python(WORK, bench.path("data")), status=3)
    used = figures["user"]["value"] + figures["system"]["value"]
    clock = figures["task-clock"]["value"]
    bench.check(abs(clock - used) < 0.1 * used + 2e7, f"task-clock {clock}, CPU time {used}")
    faults = figures["minor faults"]["value"] + figures["major faults"]["value"]
    bench.check(abs(figures["page-faults"]["value"] - faults) < 0.1 * faults + 200,
                f"{figures['page-faults']}, {faults}")
    for name in ("cycles", "instructions", "branch-misses"):
        row = figures[name]
        bench.check(row["value"] if row["value"] is not None else row["detail"], row)


def repeated(bench):
    """The median lies between the least and the most; the other command is run as often."""
    figures, _ = stat(bench, "-r", "3", "--vs", "echo b >>ran; exit 4", "--", "sh", "-c", "echo a >>ran",
                      status=4)
    for row in figures.values():
        if row["value"] is not None:
            bench.check(row["least"] <= row["value"] <= row["most"], row)
    with open(bench.path("ran"), encoding="ascii") as file:
        bench.equal(file.read().split(), list("ababab"), "order")
    figures, _ = stat(bench, "--vs", "sleep 1.2", "--", "sh", "-c", "sleep 0.2")
    bench.check(figures["elapsed"]["ratio"] > 1.5, figures["elapsed"])


def prepared(bench):
    """What is run before each run, and first: neither is measured; what it writes is there."""
    done = bench.run(bench.tool, "stat", "-r", "2", "--warmup", "1", "--prepare", "echo p >>ran", "--vs", "echo b >>ran",
                     "--vs", "echo 'c|`' >>ran", "--export-markdown", "t.md", "-f", "json", "-o", "t.json", "--", "sh",
                     "-c", "echo a >>ran")
    with open(bench.path("ran"), encoding="ascii") as file:
        bench.equal(file.read().split(), 3 * ["p", "a", "p", "b", "p", "c|`"], "order")
    with open(bench.path("t.json"), encoding="utf-8") as file:
        rows = json.load(file)["commands"]["rows"]
    bench.equal([row["command"] for row in rows], ["sh -c echo a >>ran", "echo b >>ran", "echo 'c|`' >>ran"], done.stderr)
    bench.check(all(row["least_ns"] <= row["mean_ns"] <= row["most_ns"] for row in rows), rows)
    with open(bench.path("t.md"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    bench.equal(lines[0], "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |", "head")
    bench.check(lines[2].startswith("| `sh -c echo a >>ran` | "), lines[2])
    bench.check(lines[4].startswith("| `` echo 'c\\|`' >>ran `` | "), lines[4])
    done = bench.run(bench.tool, "stat", "--prepare", "exit 3", "--", "touch", "made", status=1)
    bench.equal((done.stderr, os.path.exists(bench.path("made"))),
                ("auger stat: 'exit 3' prepares a run, and ended with status 3\n", False), "a preparation that fails")


def gnu_time(bench):
    """What scripts parse of time(1): the same texts, but for the values."""
    if not os.path.exists(TIME):
        raise Skip("no /usr/bin/time")
    letters = "|".join(f"%{letter}" for letter in "CDEFIKMOPRSUWXZcekprstwx%q")
    for command in (("sh", "-c", "sleep 0.1; exit 3"), ("sh", "-c", "kill -9 $$"), ("true",)):
        for theirs, ours in ((("-f", f"a\\tb{letters}\\q\\\\\\n!"), f"a\\tb{letters}\\q\\\\\\n!"), (("-v",), "verbose")):
            want = bench.run(TIME, *theirs, *command, status=None)
            got = bench.run(bench.tool, "stat", "--format-gnu", ours, "--", *command, status=want.returncode)
            plain = [re.sub(r"[0-9]+", "N", re.sub(r"(?<![|\w])\?%", "N%", done.stderr)) for done in (got, want)]
            bench.equal(*plain, f"{command} by {theirs[0]}")
    seconds = bench.run(bench.tool, "stat", "--format-gnu", "%e", "--", "sleep", "0.1").stderr
    bench.check(re.fullmatch(r"\d+\.\d\d\n", seconds) and float(seconds) >= 0.1, seconds)


class Groups:
    """Control groups of version 1 (memory; CPU, one in another) and 2, in which a command can be run."""

    def __init__(self):
        name = f"auger-test-{os.getpid()}"
        self.memory, self.cpu, self.unified = (f"/sys/fs/cgroup/{kind}/{name}" for kind in ("memory", "cpu", "unified"))
        self.inner = f"{self.cpu}/in"
        self.made = []

    def __enter__(self):
        try:
            for path in (self.memory, self.cpu, self.inner, self.unified):
                os.mkdir(path)
                self.made.append(path)
            self.set(f"{self.memory}/memory.limit_in_bytes", 64 * MIB)
            self.set(f"{self.cpu}/cpu.cfs_quota_us", 80000)
        except OSError as error:
            self.__exit__()
            raise Skip(f"control groups: {error}") from error
        return self

    @staticmethod
    def set(path, value):
        with open(path, "w", encoding="ascii") as file:
            file.write(str(value))

    def prefix(self):
        moves = "".join(f"echo $$ >{path}/cgroup.procs && " for path in (self.memory, self.inner, self.unified))
        return ("sh", "-c", f'{moves}exec "$@"', "sh")

    def __exit__(self, *_):
        for path in reversed(self.made):
            for _ in range(1000):
                try:
                    os.rmdir(path)
                    break
                except OSError:  # what ended in it is still going
                    time.sleep(0.01)


def groups(bench):
    """The limits of the groups that it is in, those above them, and their own pressure."""
    with Groups() as made:
        bench.run(*made.prefix(), bench.tool, "stat", "-f", "json", "-o", "s.json", "--",
                  "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done")
    figures, _ = told(bench)
    if figures["cgroup user"] is not None:
        bench.check(figures["cgroup user"] + figures["cgroup system"] >= 0.9 * (figures["user"] + figures["system"]), figures)
    bench.equal(figures["cgroup memory limit"], 64 * MIB, "limit")
    bench.equal(figures["cgroup OOM kills"], 0, "OOM kills")
    bench.check(figures["cgroup limit hits"] is not None and figures["cgroup memory pressure"] is not None, figures)
    bench.equal(figures["cgroup CPU quota"], 80000000, "the quota of the group above")
    bench.check(figures["cgroup memory peak"] <= 64 * MIB, figures["cgroup memory peak"])


def formats(bench):
    """Standard output is the command's; CSV has two tables."""
    done = bench.run(bench.tool, "stat", "-f", "csv", "--", "sh", "-c", "echo out; sleep 0.2")
    bench.equal(done.stdout, "out\n", "standard output")
    figures, programs, rows = (list(csv.DictReader(part.splitlines())) for part in done.stderr.split("\n\n"))
    bench.equal(figures[0]["figure"], "elapsed", "first figure")
    bench.check(int(figures[0]["value"]) >= 2e8, figures[0])
    bench.check(any("sleep 0.2" in row["command"] for row in rows), rows)
    bench.equal(sum(int(row["processes"]) for row in programs), len(rows), "processes")
    table = bench.run(bench.tool, "stat", "--", "sh", "-c", "for i in 1 2 3 4 5 6; do sleep 0.1 & done; wait").stderr
    bench.check(re.search(r"^sleep +6 ", table, re.M), table)


def ended(bench):
    """A signal to stat ends the command, and what it used until then is told."""
    tool = bench.start(bench.tool, "stat", "-f", "json", "-o", "s.json", "--", "sh", "-c", "echo ready; exec sleep 60",
                       stdout=subprocess.PIPE)
    tool.stdout.readline()
    tool.send_signal(signal.SIGTERM)
    bench.equal(tool.wait(30), 128 + signal.SIGTERM, "status")
    with open(bench.path("s.json"), encoding="utf-8") as file:
        rows = {row["figure"]: row["value"] for row in json.load(file)["figures"]["rows"]}
    bench.check(0 < rows["elapsed"] < 60e9, rows["elapsed"])
    bench.equal(rows["exit status"], 128 + signal.SIGTERM, "exit status")
    for words, end in (("kill -SEGV $$", "; ended by SIGSEGV"), ("exit 139", "")):
        figures, _ = stat(bench, "--", "sh", "-c", words, status=139)
        bench.equal(figures["exit status"]["detail"], "time -v: Exit status" + end, words)


def told(bench, output="s.json"):
    with open(bench.path(output), encoding="utf-8") as file:
        whole = json.load(file)
    return {row["figure"]: row["value"] for row in whole["figures"]["rows"]}, whole["processes"]["rows"]


# Uses 0.4 s of CPU time in two children and 0.2 in a thread, reads and writes, after a line came.
WATCHED = """
import os, sys, threading, time
held = bytearray(b'x') * (40 << 20)
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
spin(0.3)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(2):
    if os.fork() == 0:
        spin(0.2)
        os._exit(0)
    os.wait()
thread = threading.Thread(target=spin, args=(0.2,))
thread.start()
thread.join()
os.write(os.open('/dev/null', os.O_WRONLY), bytes(3 << 20))
os.read(os.open('/dev/zero', os.O_RDONLY), 5 << 20)
print("done", flush=True)
sys.stdin.readline()
"""


def is_waiting(pid):
    """Sleeps, and has something to wait with."""
    folder = f"/proc/{pid}/fd"
    links = [os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder)]
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return "anon_inode:[eventpoll]" in links and file.read().rpartition(")")[2].split()[0] == "S"


def wait_until_it_waits(tool):
    """It has made its first look, and its counters."""
    seen = 0
    while tool.poll() is None and seen < 5:
        try:
            seen = seen + 1 if is_waiting(tool.pid) else 0
        except OSError:
            pass
        time.sleep(0.02)


def watched(bench):
    """A process that runs: what it uses from now on, with its children; what was before is left out."""
    work = bench.start(*python(WATCHED), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    work.stdout.readline()
    tool = bench.start(bench.tool, "stat", "-f", "json", "-o", "s.json", "-p", str(work.pid))
    wait_until_it_waits(tool)
    work.stdin.write("go\n")
    work.stdin.flush()
    bench.equal(work.stdout.readline(), "done\n", "the workload")
    time.sleep(0.2)  # it is looked at once more
    work.communicate("end\n")
    bench.equal(tool.wait(60), 0, "status")
    figures, rows = told(bench)
    used = figures["user"] + figures["system"]
    bench.check(0.55e9 < used < 0.85e9, f"CPU time {used}")
    bench.check(0.58e9 < figures["task-clock"] < 0.85e9, f"task-clock {figures['task-clock']}")
    for name, want in (("wchar", 3 * MIB), ("rchar", 5 * MIB)):
        bench.check(want <= figures[name] < want + 65536, f"{name}: {figures[name]}")
    bench.check(figures["maximum RSS"] > 40 * 1024, figures["maximum RSS"])
    bench.equal(figures["ended"], 1, "ended")
    bench.check(len(rows) >= 2 and rows[0]["pid"] == work.pid, rows)


def attached_ends(bench):
    """By a time, by a signal, and at once where there is no such process."""
    work = bench.start("sleep", "60")
    try:
        bench.run(bench.tool, "stat", "-f", "json", "-o", "s.json", "-d", "0.3", "-p", str(work.pid))
        figures, _ = told(bench)
        bench.check(0.29e9 < figures["elapsed"] < 20e9 and figures["ended"] == 0, figures)
        tool = bench.start(bench.tool, "stat", "-f", "json", "-o", "t.json", "-p", str(work.pid))
        wait_until_it_waits(tool)
        tool.send_signal(signal.SIGINT)
        bench.equal(tool.wait(30), 0, "status after SIGINT")
        figures, rows = told(bench, "t.json")
        bench.equal([row["pid"] for row in rows], [work.pid], "processes")
        bench.check(work.poll() is None, "the process was ended")
    finally:
        work.kill()
        work.wait()
    done = bench.run(bench.tool, "stat", "-p", str(work.pid), status=1)
    bench.check("does not exist" in done.stderr, done.stderr)


def machine_brief(bench):
    """Of all of the machine also what lived between two looks."""
    copy = bench.path("brief")
    shutil.copy("/bin/true", copy)
    work = bench.start("sh", "-c", f"while :; do {copy}; done")
    try:
        bench.run(bench.tool, "stat", "-f", "json", "-o", "s.json", "-a", "-d", "1")
    finally:
        work.kill()
        work.wait()
    checks = json.loads(bench.run(bench.tool, "doctor", "-f", "json").stdout)["rows"]
    if {row["check"]: row["state"] for row in checks}["process ends"] != "works":
        raise Skip("the kernel tells others than root, and containers, nothing of ends")
    with open(bench.path("s.json"), encoding="utf-8") as file:
        programs = {row["program"]: row for row in json.load(file)["programs"]["rows"]}
    bench.check(programs.get("brief", {"processes": 0})["processes"] > 20, programs)


def machine(bench):
    """All of the machine: CPU time and switches of whoever runs."""
    work = bench.start(*python("while True: pass"))
    try:
        bench.run(bench.tool, "stat", "-f", "json", "-o", "s.json", "-a", "-d", "1")
    finally:
        work.kill()
        work.wait()
    figures, rows = told(bench)
    spun = [row for row in rows if row["pid"] == work.pid]
    if bench.check(len(spun) == 1, rows[:3]):
        used = spun[0]["user_ns"] + spun[0]["system_ns"]
        bench.check(0 < used <= figures["user"] + figures["system"] + 1e8, f"{spun}, {figures}")
    bench.check(figures["CPUs"] == os.sysconf("SC_NPROCESSORS_ONLN"), figures["CPUs"])
    bench.check(figures["switches"] > 0, figures)


def short(bench):
    """A table fits half a screen: what the time went to first, no metric that is 0."""
    done = bench.run(bench.tool, "stat", "--", *python("import time; time.sleep(0.05)"))
    lines = done.stderr.splitlines()
    verdict = "% of the time" in lines[1] or "ready without a CPU" in lines[1]  # the latter on a busy machine
    bench.check(len(lines) <= 16 and lines[1].startswith("# ") and verdict, done.stderr)
    bench.check("elapsed" in done.stderr and "unseen" not in done.stderr and " 0  " not in done.stderr, done.stderr)
    done = bench.run(bench.tool, "stat", "-v", "--", "true")
    bench.check("unseen CPU time" in done.stderr and "page size" in done.stderr, done.stderr)


if __name__ == "__main__":
    live.main([short, as_time_does, bytes_told, unprivileged, processes, short_lived, small, alone, unseen, orphans,
               counters, repeated, prepared, gnu_time, groups, formats, ended, watched, attached_ends, machine, machine_brief])

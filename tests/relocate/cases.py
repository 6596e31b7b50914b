#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cases.py AUGER DIRECTORY [CASE...]

Each case of relocate_job works with files of one ext4 file system. The test moves it to another one,
unmounts the first, lets the job run on, and compares the files with what the job says it wrote.
DIRECTORY has the built programs. A mount namespace of its own removes mounts and loop devices at the
end; all processes die with this one."""

import contextlib
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

if os.geteuid() != 0:
    print("1..0 # SKIP needs root")
    sys.exit(0)
if os.environ.get("RELOCATE_TEST_NS") != "1":
    os.environ["RELOCATE_TEST_NS"] = "1"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable] + sys.argv)

AUGER = os.path.abspath(sys.argv[1])
FOLDER = os.path.abspath(sys.argv[2])
ONLY = sys.argv[3:]
JOB = FOLDER + "/relocate_job"
MOVE = FOLDER + "/move"

CASES = """append seek large stdio timer deleted replaced tmpfile direct dropped sparse hard-links read-only
many-files seccomp abs-path dup family threads threads-256 thread-churn vfork-churn files-shared map-shared
map-closed map-private lock-flock lock-posix lock-ofd lock-wait-flock lock-wait-ofd library cwd cwd-thread
dir-fds fifo watch stopped soft-limit python bash""".split()
BACK_CASES = "append deleted seccomp family threads-256 map-private lock-flock lock-posix cwd-thread fifo watch".split()
OPENERS = "abs-path cwd cwd-thread dir-fds bash".split()  # they have one more descriptor at times
OPTIONS = {"library": ["--move-libs"], "abs-path": ["--swap"]}

# relocate_job with a lower limit of descriptors than the move needs; only the soft limit can be raised.
LIMITED = {
    "soft-limit": ["sh", "-c", f"ulimit -S -n 320; exec {JOB} many-files ."],
    "hard-limit": ["sh", "-c", f"ulimit -n 320; exec {JOB} many-files ."],
}

# Other programs; they print what they wrote as relocate_job does.
PROGRAMS = {
    "python": [sys.executable, "-c", """
import logging, os, signal, sys, time
over = []
signal.signal(signal.SIGTERM, lambda *_: over.append(1))
logging.basicConfig(filename="log", format="%(message)s", level=logging.INFO)
text, count = open("text", "w"), 0
print("ready", flush=True)
while not over:
    logging.info("p%014d", count)
    text.write("t%014d\\n" % count)
    count += 1
    time.sleep(0.0003)
text.close()
print(f"records p {count} log\\nrecords t {count} text")
"""],
    "bash": ["bash", "-c", """
trap 'over=1' TERM
exec 5> five
echo ready
for ((i = 0; !over; i++)); do
    printf 'r%014d\\n' $i >> log
    printf 'f%014d\\n' $i >&5
    ((i % 100)) || /bin/true
done
echo "records r $i log"
echo "records f $i five"
"""],
}


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Failed(Exception):
    pass


def run(*args):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Failed(f"{' '.join(args)}: {done.stdout.decode()}")
    return done.stdout.decode()


class Storage:
    """Two file systems, OLD and NEW; the directories are below their mount points."""

    def __init__(self, top):
        self.top = top
        self.mounted = []
        for name in ("old", "new"):
            image, at = f"{top}/{name}.img", f"{top}/{name}"
            with open(image, "wb") as f:
                f.truncate(256 << 20)
            run("mkfs.ext4", "-q", "-E", "lazy_itable_init=1", image)
            os.makedirs(at, exist_ok=True)
            run("mount", "-o", "loop", image, at)
            self.mounted.append(at)
        self.old, self.new = f"{top}/old/data", f"{top}/new/data"
        os.mkdir(self.old)

    def unmount_old(self):
        run("umount", self.top + "/old")
        self.mounted.remove(self.top + "/old")

    def close(self):
        for at in self.mounted:
            subprocess.run(["umount", "-l", at])
        for name in ("old", "new"):
            os.unlink(f"{self.top}/{name}.img")


class Job:
    def __init__(self, case, folder):
        argv = (PROGRAMS | LIMITED).get(case, [JOB, case, folder])
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=folder,
                                        preexec_fn=die_with_parent)
        self.said = []
        self.wait_ready()

    @property
    def pid(self):
        return self.process.pid

    def wait_ready(self):
        while True:
            line = self.process.stdout.readline().decode()
            if line == "ready\n":
                return
            if not line:
                raise Failed(f"the job ended at once: {self.said}")
            self.said.append(line.strip())

    def finish(self):
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=60)
        self.said += out.decode().split("\n")
        if self.process.returncode:
            raise Failed(f"the job ended with {self.process.returncode}: {self.said}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def words(self, key):
        return [line.split()[1:] for line in self.said if line.split()[:1] == [key]]


def fnv(data):
    total = 14695981039346656037
    for byte in data:
        total = (total ^ byte) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
    return f"{total:x}"


def check_lanes(path, lanes):
    """The file has exactly these records, those of each lane in order."""
    with open(path, "rb") as f:
        data = f.read()
    next_of = dict.fromkeys(lanes, 0)
    for at in range(0, len(data), 16):
        record = data[at:at + 16].decode("latin-1")
        lane = record[0]
        if record != f"{lane}{next_of.get(lane, -1):014d}\n":
            raise Failed(f"{path}: {record!r} at {at}, not record {next_of.get(lane)} of {lane}")
        next_of[lane] += 1
    if next_of != lanes:
        raise Failed(f"{path}: {next_of}, the job says {lanes}")


def check(job, folder):
    lanes = {}
    for lane, count, name in job.words("records"):
        lanes.setdefault(name, {})[lane] = int(count)
    inodes = {}
    for name, of in lanes.items():
        inodes.setdefault(os.stat(f"{folder}/{name}").st_ino, [name, {}])[1].update(of)
    for name, of in inodes.values():
        check_lanes(f"{folder}/{name}", of)
    for total, name in job.words("sum"):
        with open(f"{folder}/{name}", "rb") as f:
            if fnv(f.read()) != total:
                raise Failed(f"{name} is not what the job wrote")
    if job.words("wrong"):
        raise Failed(f"the job says: {job.words('wrong')}")


def state_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def relocation(pid, old, new):
    return [AUGER, "relocate", "--pid", str(pid), "--from", old, "--to", new, "--max-pause", "60000"]


def move(job, storage, *more):
    """Moves the job. Returns the pause that the command reports."""
    told = json.loads(run(*relocation(job.pid, storage.old, storage.new), "-f", "json", *more))
    return f"pause {told['pause_ns'] / 1e6:.2f} ms"


def open_on_old(pid, storage):
    """What the job still has of OLD, or of auger's commit flag."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        link = target(f"/proc/{pid}/fd/{fd}")
        if link.startswith(storage.old) or "memfd" in link:
            found.append(f"{fd}: {link}")
    with open(f"/proc/{pid}/maps") as f:
        found += [line.strip() for line in f if storage.old in line or "memfd" in line]
    return found


def libm():
    """The path of libm that this program has mapped."""
    ctypes.CDLL("libm.so.6")
    with open("/proc/self/maps") as f:
        return next(line.split()[-1] for line in f if "/libm" in line)


def limits_of(pid):
    """Signals, tracer, open files. A thread blocks all signals while it makes another: then they are read again."""
    for _ in range(50):
        got = run("sh", "-c", f"grep -hE '^(Sig|Tracer|Max open)' /proc/{pid}/status /proc/{pid}/limits")
        if "SigBlk:\tffffffff" not in got:
            break
        time.sleep(0.01)
    return got


def run_case(case, storage):
    if case == "library":
        shutil.copy(libm(), storage.old + "/libm.so")
    if case == "abs-path":
        os.rmdir(storage.old)
        storage.old = storage.top + "/old"
    job = Job("append" if case == "stopped" else case, storage.old)
    try:
        time.sleep(0.1)
        if case == "stopped":
            job.process.send_signal(signal.SIGSTOP)
            while state_of(job.pid) != "T":
                time.sleep(0.01)
        fds = len(os.listdir(f"/proc/{job.pid}/fd"))
        before = limits_of(job.pid)
        told = move(job, storage, *OPTIONS.get(case, []))
        if case == "stopped":
            if state_of(job.pid) != "T":
                raise Failed("the job is not stopped any more")
            job.process.send_signal(signal.SIGCONT)
        if case != "abs-path":
            storage.unmount_old()
        found = case != "abs-path" and open_on_old(job.pid, storage)
        if found:
            raise Failed(f"left: {found}")
        if case not in OPENERS and \
                len(os.listdir(f"/proc/{job.pid}/fd")) != fds:
            raise Failed("not as many descriptors as before")
        after = limits_of(job.pid)
        changing = "" if case in PROGRAMS else "Blk|Cgt|"  # shells block and catch signals at times
        masks = re.compile(rf"^Sig(?:{changing}Ign).*|^Tracer.*|^Max open.*", re.M)
        if masks.findall(before) != masks.findall(after):
            raise Failed(f"signals: {before} then {after}")
        time.sleep(0.1)
        job.finish()
        check(job, storage.new)
        gap = [int(g[0]) / 1000 for g in job.words("gap_us")]
        print(f"# {case}: {told.strip()}; longest gap {max(gap, default=0):.2f} ms")
    finally:
        job.kill()


def run_back(case, storage):
    """Rolls back before the commit: the job is unchanged."""
    job = Job(case, storage.old)
    try:
        time.sleep(0.1)
        fds = sorted(os.listdir(f"/proc/{job.pid}/fd"))
        run(MOVE, str(job.pid), storage.old, storage.new, "back")
        if case not in OPENERS and \
                sorted(os.listdir(f"/proc/{job.pid}/fd")) != fds:
            raise Failed("other descriptors than before")
        run("umount", storage.top + "/new")
        storage.mounted.remove(storage.top + "/new")
        time.sleep(0.1)
        job.finish()
        check(job, storage.old)
    finally:
        job.kill()


def run_refused(case, storage):
    """A failing move is undone: job and NEW are unchanged."""
    job = Job(case, storage.old)
    try:
        before = sorted(refers_to(job.pid, storage.old))
        done = subprocess.run(relocation(job.pid, storage.old, storage.new), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        if done.returncode != 1:
            raise Failed(f"status {done.returncode}")
        if sorted(refers_to(job.pid, storage.old)) != before or os.path.exists(storage.new):
            raise Failed("not as it was")
        time.sleep(0.1)
        job.finish()
        check(job, storage.old)
        print(f"# {done.stderr.decode().strip()}")
    finally:
        job.kill()


KILL_CASES = "family threads map-private lock-posix cwd-thread watch".split()
# Calls after the first ptrace(), and a number of points among the calls that repoint the job.
PAUSE_POINTS, REPOINT_POINTS = [1, 400], 10
SWAP_POINTS = 12
RANDOM_CASES = "append family threads map-shared deleted lock-posix cwd-thread map-private fifo dup".split()
KILLS = int(os.environ.get("RELOCATE_KILLS", "10"))
SEED = int(os.environ.get("RELOCATE_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
RANDOM = random.Random(SEED)
# At the start of the copy: it writes the journal, closes NEW to others, scans all processes again.
COPY_POINTS = [1, 2, 6, 7, 1000]


def target(link):
    """The target of a link; "" if the job has just closed it."""
    try:
        return os.readlink(link)
    except OSError:
        return ""


def refers_to(pid, folder):
    """What the job and its children have open of a directory."""
    found = []
    children = run("sh", "-c", f"cat /proc/{pid}/task/*/children").split()
    for p in [pid] + children:
        links = [f"/proc/{p}/fd/{fd}" for fd in os.listdir(f"/proc/{p}/fd")]
        links += [f"/proc/{p}/task/{t}/cwd" for t in os.listdir(f"/proc/{p}/task")]
        found += [at for at in links if (target(at) + "/").startswith(folder + "/")]
        with open(f"/proc/{p}/maps") as f:
            found += [line.strip() for line in f if folder + "/" in line]
    return found


def has_priority(pid):
    """Has a thread real-time priority, as the one that made remote calls?"""
    found = False
    for tid in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(ProcessLookupError):
            found |= os.sched_getscheduler(int(tid)) in (os.SCHED_FIFO, os.SCHED_RR)
    return found


def top_of(path):
    st = os.stat(path)
    return os.listdir(path), st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns


def resume_move(job, number, old, new, before, on_new):
    """Removes the leftovers of a killed move, or finishes it by the same command. Is the job on NEW then?"""
    if on_new or number % 2:
        if on_new and subprocess.run([AUGER, "relocate", "--undo", "--to", new], stderr=subprocess.DEVNULL).returncode != 1 \
                and ".auger-relocate" in os.listdir(new):
            raise Failed("undone under the job")
        if ".auger-relocate" in os.listdir(new) or not on_new:
            run(*relocation(job.pid, old, new))
        if refers_to(job.pid, old) or not refers_to(job.pid, new):
            raise Failed("not moved by the second run")
    elif ".auger-relocate" in os.listdir(new):
        run(AUGER, "relocate", "--undo", "--to", new)
        if top_of(new) != before:
            raise Failed(f"--undo left {top_of(new)}, not {before}")
    left = [name for name in os.listdir(new) if name.startswith(".auger")]
    if left:
        raise Failed(f"left over: {left}")
    return on_new or number % 2


def kill_once(case, storage, number, at, phase):
    """Kills auger before a system call of the phase; the whole job must be on one side. at 0: returns the number of calls."""
    old, new = f"{storage.old}/{number}", f"{storage.new}/{number}"
    os.mkdir(old)
    os.makedirs(new)
    before = top_of(new)
    job = Job(case, old)
    try:
        done = subprocess.run([FOLDER + "/killer", phase, str(at)] + relocation(job.pid, old, new),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode not in (0, 128 + signal.SIGKILL):
            raise Failed(f"status {done.returncode}: {done.stderr.decode()}")
        time.sleep(0.02)
        for pid in [str(job.pid)] + run("sh", "-c", f"cat /proc/{job.pid}/task/*/children").split():
            status = open(f"/proc/{pid}/status").read()
            if "TracerPid:\t0\n" not in status or state_of(pid) not in "RSD":
                raise Failed(f"killed at {at}: {status}")
        until = time.monotonic() + 20  # the job itself completes the move
        while True:
            on_old, on_new = refers_to(job.pid, old), refers_to(job.pid, new)
            high_priority = has_priority(job.pid)
            if bool(on_old) != bool(on_new) and not high_priority:
                break
            if time.monotonic() > until:
                raise Failed(f"killed at {at}: half here, half there: {on_old} {on_new}{', high priority' * high_priority}")
            time.sleep(0.01)
        is_moved = resume_move(job, number, old, new, before, on_new)
        job.finish()
        check(job, new if is_moved else old)
        return int(done.stderr.split()[-1]) if at == 0 else bool(on_new)
    finally:
        job.kill()


def run_killed(case, storage):
    """Kills auger at many points from its first to its last ptrace()."""
    os.mkdir(storage.new)
    calls = kill_once(case, storage, 0, 0, "repoint")
    points = [("pause", at) for at in PAUSE_POINTS]
    offset = KILL_CASES.index(case) / len(KILL_CASES)  # other calls in each case
    points += [("repoint", 1 + int((calls + 8) * (i + offset) / REPOINT_POINTS)) for i in range(REPOINT_POINTS)]
    sides = [kill_once(case, storage, i + 1, at, phase) for i, (phase, at) in enumerate(points)]
    print(f"# {case}: killed at {len(points)} of {calls} calls; {sum(sides)} times it was on NEW then")


def run_killed_early(case, storage):
    """Kills auger while it copies before the pause."""
    os.mkdir(storage.new)
    for i, at in enumerate(COPY_POINTS):
        if kill_once(case, storage, i, at, "copy"):
            raise Failed(f"killed at {at} of the copy: on NEW")


def is_on(pid, dev):
    """Does the job or a child have something open on the file system?"""
    for p in [pid] + run("sh", "-c", f"cat /proc/{pid}/task/*/children").split():
        links = [f"/proc/{p}/fd/{fd}" for fd in os.listdir(f"/proc/{p}/fd")]
        links += [f"/proc/{p}/task/{t}/cwd" for t in os.listdir(f"/proc/{p}/task")]
        for link in links:
            with contextlib.suppress(OSError):
                if os.stat(link).st_dev == dev:
                    return True
        with open(f"/proc/{p}/maps") as f:
            if any(line.split()[3] == f"{os.major(dev):02x}:{os.minor(dev):02x}" for line in f):
                return True
    return False


class Pair:
    """OLD, a file system of its own, and NEW, a directory of another one."""

    def __init__(self, storage, number):
        self.old, self.new = f"{storage.top}/old{number}", f"{storage.top}/new/{number}"
        os.mkdir(self.old)
        os.makedirs(self.new)
        run("mount", "-t", "tmpfs", "none", self.old)
        self.old_dev, self.new_dev = os.stat(self.old).st_dev, os.stat(self.new).st_dev
        self.before = top_of(self.new)

    def command(self, pid, swaps):
        return relocation(pid, self.old, self.new) + ["--swap"] * swaps

    def is_swapped(self):
        return os.stat(self.old).st_dev == self.new_dev

    def close(self):
        while subprocess.run(["umount", "-l", self.old], stderr=subprocess.DEVNULL).returncode == 0:
            pass
        shutil.rmtree(self.new)
        os.rmdir(self.old)


def settle(job, pair, swaps, random_bit):
    """The job is on one side, or gets there by itself. Then the leftovers are removed, or the move is finished. Is it on NEW?"""
    until = time.monotonic() + 30
    while (on_old := is_on(job.pid, pair.old_dev)) == (on_new := is_on(job.pid, pair.new_dev)) or has_priority(job.pid):
        if time.monotonic() > until:
            raise Failed(f"half here, half there: {on_old} {on_new}")
        time.sleep(0.01)
    if ".auger-relocate" in os.listdir(pair.new):
        if on_new or random_bit:
            run(*pair.command(job.pid, swaps))
            on_new = True
        else:
            run(AUGER, "relocate", "--undo", "--to", pair.new)
    if not on_new and top_of(pair.new) != pair.before:
        raise Failed(f"NEW is {top_of(pair.new)}, not {pair.before}")
    if is_on(job.pid, pair.old_dev if on_new else pair.new_dev):
        raise Failed("not moved as a whole")
    if on_new and (pair.is_swapped() != swaps or [name for name in os.listdir(pair.new) if name.startswith(".auger")]):
        raise Failed(f"swapped: {pair.is_swapped()}, left: {os.listdir(pair.new)}")
    return on_new


def stop_once(case, storage, number, swaps, stop):
    """Runs the move, which stop(command) ends; the job then must be whole and on one side. Is it on NEW?"""
    pair = Pair(storage, number)
    job = Job(case, pair.old)
    try:
        code = stop(pair.command(job.pid, swaps))
        time.sleep(0.01)
        for pid in [str(job.pid)] + run("sh", "-c", f"cat /proc/{job.pid}/task/*/children").split():
            with open(f"/proc/{pid}/status") as f:
                if "TracerPid:\t0\n" not in f.read() or state_of(pid) not in "RSD":
                    raise Failed(f"process {pid} is {state_of(pid)}")
        is_moved = settle(job, pair, swaps, number % 2)
        if code in (0, 1, -signal.SIGINT, -signal.SIGTERM) and is_moved != (code == 0):
            raise Failed(f"exit status {code}, and the job is on {'NEW' if is_moved else 'OLD'}")
        job.finish()
        check(job, pair.new if is_moved else pair.old)
        return is_moved
    finally:
        job.kill()
        pair.close()


def stop_randomly(number, limit, number_of):
    """A signal after a random time; every fourth time standard input is closed."""
    signals = [signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM]

    def stop(command):
        closes = number % 4 == 3
        p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             preexec_fn=(lambda: os.close(0)) if closes else None)
        time.sleep(RANDOM.uniform(0, limit))
        p.send_signal(signals[number % 5])
        code = p.wait(60)
        if code not in (0, 1, -signals[number % 5]):  # by SIGINT and SIGTERM only before it has handlers
            raise Failed(f"auger ended with {code}")
        number_of[code] = number_of.get(code, 0) + 1
        return code
    return stop


def run_random(case, storage):
    """Ends auger at random moments: no job dies, and nothing that one wrote is lost."""
    took, number_of, on_new = [], {}, 0

    def not_at_all(command):
        began = time.monotonic()
        code = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
        took.append(time.monotonic() - began)
        return code

    stop_once("append", storage, 0, False, not_at_all)
    for i in range(1, KILLS + 1):
        of = RANDOM_CASES[i % len(RANDOM_CASES)]
        try:
            on_new += bool(stop_once(of, storage, i, i % 3 == 0, stop_randomly(i, took[0], number_of)))
        except (Failed, OSError, subprocess.SubprocessError) as why:
            raise Failed(f"round {i} of seed {SEED}, {of}: {why}") from why
    print(f"# ended {KILLS} times (exit status: times {number_of}); {on_new} times the job is on NEW now; seed {SEED}")


def run_killed_in_swap(case, storage):
    """Kills auger before each of its calls from the first umount(2) on: the same command finishes the swap."""
    sides = []
    for at in range(1, SWAP_POINTS + 1):
        sides.append(stop_once(case, storage, 1000 + at, True, lambda command, at=at: subprocess.run(
            [FOLDER + "/killer", "swap", str(at)] + command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode))
    if not all(sides):
        raise Failed(f"not on NEW after the swap had begun: {sides}")


def main():
    number = failed = 0
    with tempfile.TemporaryDirectory(prefix="relocate-") as top:
        try:
            Storage(top).close()
        except (Failed, OSError) as why:
            print(f"1..0 # SKIP no file systems can be mounted here: {str(why).splitlines()[0]}")
            return False
    tests = [(case, run_case) for case in CASES] + \
            [(case + " and back", run_back) for case in BACK_CASES] + \
            [("hard-limit and refusal", run_refused)] + \
            [("many-files and early death", run_killed_early)] + \
            [(case + " and death", run_killed) for case in KILL_CASES] + \
            [("append and death in swap", run_killed_in_swap), ("all and ends at random", run_random)]
    with tempfile.TemporaryDirectory(prefix="relocate-") as top:
        for name, body in tests:
            if ONLY and name not in ONLY:
                continue
            number += 1
            storage = Storage(top)
            try:
                body(name.split()[0], storage)
                print(f"ok {number} - {name}", flush=True)
            except (Failed, OSError, subprocess.SubprocessError) as why:
                failed += 1
                print(f"not ok {number} - {name}", flush=True)
                print(f"{name}: {why}", file=sys.stderr, flush=True)
            finally:
                storage.close()
    print(f"1..{number}")
    return failed > 0


sys.exit(main())

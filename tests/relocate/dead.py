#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dead.py AUGER HANGING UNSAFE [TEST...]: moves jobs away from network storage, and from storage that hangs.

OLD is the file system of hanging.c, which stops answering when its file of rules says so; NEW is a tmpfs. The
test runs in a mount namespace of its own. A job is a Python program given as text; it prints "ready" when it has
started, and answers each line with a line. UNSAFE is the library of unsafe.c.
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

AUGER, HANGING, UNSAFE = (os.path.abspath(path) for path in sys.argv[1:4])
INSIDE = "AUGER_TEST_DEAD"
LIMIT = 60 # seconds
BEGIN = """
import ctypes, fcntl, mmap, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
"""
END = """
print("ready", flush=True)
for line in sys.stdin: print(eval(line), flush=True)
"""


def enter():
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        print("1..0 # SKIP needs root and FUSE")
        sys.exit(0)
    if not os.environ.get(INSIDE):
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])


def check(what, text=""):
    if not what:
        raise AssertionError(text)


def wait_for(what, text):
    until = time.monotonic() + LIMIT
    while not (value := what()):
        check(time.monotonic() < until, text)
        time.sleep(0.01)
    return value


def read(path):
    with contextlib.suppress(OSError), open(path, encoding="utf8") as f:
        return f.read()
    return ""


class World:
    def __init__(self, top, env):
        self.top, self.jobs = top, []
        self.behind, self.rules, self.old, self.new = (f"{top}/{name}" for name in ("behind", "rules", "old", "new"))
        for path in (self.behind, self.old, self.new):
            os.mkdir(path)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "nosuid,nodev", "none", self.new], check=True)
        self.fuse = subprocess.Popen([HANGING, self.behind, self.rules, self.old], stdin=subprocess.DEVNULL,
                                     env=os.environ | env)
        wait_for(lambda: f" {self.old} fuse" in read("/proc/self/mountinfo").replace(" - ", " ") or
                 os.path.ismount(self.old), "the file system is not mounted")

    def hang(self, *words):
        with open(self.rules, "w", encoding="utf8") as f:
            f.write(" ".join(words))

    def job(self, code):
        name = f"{self.top}/job{len(self.jobs)}.py"
        with open(name, "w", encoding="utf8") as f:
            f.write(BEGIN + code + END)
        p = subprocess.Popen([sys.executable, name], cwd=self.old, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             start_new_session=True, env=os.environ | {"OLD": self.old})
        self.jobs.append(p)
        line = p.stdout.readline()
        check(line == "ready\n", f"the job did not start: {line!r}")
        return p

    def run(self, *words, env=None):
        return subprocess.run([AUGER, "relocate", "--from", self.old, "--to", self.new, *words], text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT, check=False, env=os.environ | (env or {}))

    def stop(self):
        self.hang()
        for p in self.jobs:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, 9)
            p.wait()
            p.stdin.close()
            p.stdout.close()
        for path in (self.old, self.new):
            subprocess.run(["umount", "-l", path], check=False, capture_output=True)
        self.fuse.kill()
        self.fuse.wait()


def ask(p, text):
    p.stdin.write(text + "\n")
    p.stdin.flush()
    return p.stdout.readline().rstrip("\n")


def links(pid):
    return {fd: os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}


def untraced(pid):
    for tid in os.listdir(f"/proc/{pid}/task"):
        text = read(f"/proc/{pid}/task/{tid}/status")
        check("TracerPid:\t0\n" in text, f"thread {tid} is traced")


FILES = """
log = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
data = os.open("data", os.O_RDWR | os.O_CREAT, 0o600)
os.write(log, b"first\\n")
os.write(data, b"x" * 100000)
os.lseek(data, 0, 0)
assert os.read(data, 100000) == b"x" * 100000
os.lseek(data, 5000, 0)
"""


def test_flush(w):
    """OLD does not reply when its files are closed: the job moves all the same, within --max-pause."""
    p = w.job(FILES)
    w.hang(f"flush@{p.pid}")
    r = w.run("--pid", str(p.pid), "--max-pause", "5000", "-f", "json")
    check(r.returncode == 0, r.stderr)
    check(json.loads(r.stdout)["pause_ns"] < 5 * 10**9, r.stdout)
    check("flush" in read(w.rules + ".log"), "nothing was flushed")
    untraced(p.pid)
    check(ask(p, "os.write(log, b'second\\n')") == "7" and ask(p, "os.lseek(data, 0, 1)") == "5000")
    check(read(w.new + "/log") == "first\nsecond\n", read(w.new + "/log"))
    w.hang() # the lost threads end, and close what they had
    wait_for(lambda: not any(path.startswith(w.old) for path in links(p.pid).values()), str(links(p.pid)))
    wait_for(lambda: os.listdir(f"/proc/{p.pid}/task") == [str(p.pid)], "threads are left")
    check(ask(p, "os.write(log, b'third\\n')") == "6")
    check(read(w.new + "/log") == "first\nsecond\nthird\n", read(w.new + "/log"))


def test_undone(w):
    """The same, but NEW's storage fails: the move is undone, although threads hang in closing files of OLD."""
    p = w.job(FILES)
    before = links(p.pid)
    w.hang(f"flush@{p.pid}")
    env = {"LD_PRELOAD": UNSAFE, "UNSAFE_CALL": "fsync", "UNSAFE_AT": "2",
           "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    r = w.run("--pid", str(p.pid), "--max-pause", "5000", env=env)
    check(r.returncode == 1 and "Input/output error" in r.stderr, r.stderr)
    check("flush" in read(w.rules + ".log"), "nothing was flushed")
    untraced(p.pid)
    after = links(p.pid)
    check({fd: after.get(fd) for fd in before} == before and os.listdir(w.new) == [], str(after))
    check(ask(p, "os.write(log, b'second\\n')") == "7" and ask(p, "os.lseek(data, 0, 1)") == "5000")
    w.hang()
    wait_for(lambda: links(p.pid) == before, str(links(p.pid)))
    wait_for(lambda: os.listdir(f"/proc/{p.pid}/task") == [str(p.pid)], "threads are left")
    check(ask(p, "os.write(log, b'third\\n')") == "6" and read(w.behind + "/log") == "first\nsecond\nthird\n", read(w.behind + "/log"))


# Writes at an offset of a large file whose size stays: only its times show that. Appends to another one.
STEADY = """
big = os.open("big", os.O_RDWR | os.O_CREAT, 0o600)
log = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.pwrite(big, bytes(4 << 20), 0)
is_over, count = [], 0
def write():
    global count
    while not is_over:
        os.pwrite(big, b"%015d" % count, count % 4096 * 1024)
        os.write(log, b"%015d\\n" % count)
        count += 1
        time.sleep(0.0005)
thread = threading.Thread(target=write)
thread.start()
def end():
    is_over.append(1)
    thread.join()
    return count
"""


def test_clock(w):
    """The clock of the server is five minutes slow, and the job writes all the time: nothing is lost."""
    move_steady(w, "late")


def test_delayed(w):
    """The server tells the times of all that is written during the move later: nothing is lost."""
    move_steady(w, "delayed")


def move_steady(w, rule):
    w.hang(rule)
    p = w.job(STEADY)
    wait_for(lambda: len(read(w.behind + "/log")) > 1600, "the job does not write")
    r = w.run("--pid", str(p.pid), "--max-pause", "60000")
    check(r.returncode == 0, r.stderr)
    size = os.path.getsize(w.new + "/log")
    wait_for(lambda: os.path.getsize(w.new + "/log") > size + 1600, "the job does not write any more")
    count = int(ask(p, "end()"))
    check(read(w.new + "/log").split() == [f"{i:015d}" for i in range(count)], "lines are lost, doubled or not in order")
    with open(w.new + "/big", "rb") as f:
        data = f.read()
    last = {i % 4096: i for i in range(count)}
    check(all(data[at * 1024:at * 1024 + 15] == b"%015d" % i for at, i in last.items()), "the file is not what was written")


# Changes once, when it is asked to by a file: sizes stay.
ONCE = """
names = ("kept", "shut", "moved")
for name in names:
    with open(name, "wb") as f: f.write(b"old " * 25000)
os.symlink("old", "link")
kept = os.open("kept", os.O_RDWR)
def write(name):
    with open(name, "r+b") as f: f.seek(50000), f.write(b"new ")
def change():
    while not os.path.exists(os.environ["CHANGE"]): time.sleep(0.001)
    os.pwrite(kept, b"new ", 50000)
    write("shut")
    os.rename("moved", "other")
    write("other")
    os.unlink("link")
    os.symlink("new", "link")
    os.unlink(os.environ["CHANGE"])
threading.Thread(target=change).start()
"""


def test_between(w):
    """What changes once between two passes is moved, although the server tells no time of it."""
    w.hang("delayed")
    os.environ["CHANGE"] = w.top + "/change"
    p = w.job(ONCE)
    r = w.run("--pid", str(p.pid), "--max-pause", "60000", env={
        "LD_PRELOAD": UNSAFE, "UNSAFE_WAIT": os.environ["CHANGE"],
        "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"})
    check(r.returncode == 0, r.stderr)
    check(sorted(os.listdir(w.new)) == ["kept", "link", "other", "shut"], str(os.listdir(w.new)))
    old = [name for name in ("kept", "other", "shut") if read(f"{w.new}/{name}") != "old " * 12500 + "new " + "old " * 12499]
    check(not old and os.readlink(w.new + "/link") == "new", f"changes are lost: {old}, link to {os.readlink(w.new + '/link')}")


def test_stale(w):
    """A file that another machine has removed: the move is refused with its name, and possible later."""
    for name in ("stale-data", "other"):
        with open(f"{w.behind}/{name}", "w", encoding="ascii") as f:
            f.write(name)
    p = w.job(FILES)
    before = links(p.pid)
    w.hang("stale")
    r = w.run("--pid", str(p.pid))
    check(r.returncode == 1 and "stale-data" in r.stderr and os.strerror(116) in r.stderr and r.stderr.count("\n") == 1, r.stderr)
    check(links(p.pid) == before and os.listdir(w.new) == [], str(os.listdir(w.new)))
    untraced(p.pid)
    w.hang()
    r = w.run("--pid", str(p.pid))
    check(r.returncode == 0 and read(w.new + "/stale-data") == "stale-data", r.stderr)


def test_silly_rename(w):
    """A file that is open and unlinked has another name on OLD: content, position and later writes stay."""
    p = w.job(FILES + """
os.unlink("data")
""")
    hidden = [name for name in os.listdir(w.behind) if name.startswith(".fuse_hidden")]
    check(len(hidden) == 1, str(os.listdir(w.behind)))
    r = w.run("--pid", str(p.pid))
    check(r.returncode == 0, r.stderr)
    check(ask(p, "os.lseek(data, 0, 1)") == "5000" and ask(p, "os.write(data, b'more')") == "4")
    check(ask(p, "os.pread(data, 200000, 0) == b'x' * 5000 + b'more' + b'x' * 94996") == "True", "the file is not what was written")


test_silly_rename.env = {"SILLY": "1"}


def rows_of(r, state):
    check(r.returncode == 0, r.stderr)
    return sorted((row["what"], row["path"]) for row in json.loads(r.stdout)["rows"] if row["state"] == state)


# A file that is open and mapped, one of which a page is in memory, one that has no name any more.
MORE = FILES + """
text = os.open("text", os.O_RDONLY)
m = mmap.mmap(text, 0, prot=mmap.PROT_READ)
assert m[:] == b"t" * 50000 and os.stat(text).st_mode
cold = os.open("cold", os.O_RDONLY)
os.posix_fadvise(cold, 0, 0, os.POSIX_FADV_RANDOM)
assert os.pread(cold, 1, 0) == b"c"
gone = os.open("gone", os.O_RDWR | os.O_CREAT, 0o600)
os.write(gone, b"gone" * 100)
assert os.pread(gone, 400, 0) == b"gone" * 100
os.unlink("gone")
os.mkdir("below")
below = os.open("below", os.O_RDONLY | os.O_DIRECTORY)
"""


def dead_job(w, code=MORE):
    for name, size in (("text", 50000), ("cold", 1 << 20)):
        with open(f"{w.behind}/{name}", "w", encoding="ascii") as f:
            f.write(name[0] * size)
    return w.job(code)


def test_dead(w):
    """OLD does not reply at all: what is in memory moves, the rest is named, and the job goes on."""
    p = dead_job(w)
    before = links(p.pid)
    w.hang("all")
    words = ["--pid", str(p.pid), "--old-is-dead", "--max-pause", "5000", "-f", "json"]
    check(rows_of(w.run(*words, "--dry-run"), "moves") and links(p.pid) == before and os.listdir(w.new) == [], "a dry run")
    r = w.run(*words)
    moved = [path for what, path in rows_of(r, "moved") if what.split()[0] == "descriptor"]
    check(sorted(set(moved)) == ["(deleted)", "below", "data", "log", "text"], r.stdout)
    check(rows_of(r, "stays") == [("file (4096 of 1048576 bytes in memory)", "cold")], r.stdout)
    check(rows_of(r, "note") == [("file (0 of 6 bytes in memory)", "log")], r.stdout)
    untraced(p.pid)
    after = links(p.pid)
    check(after.keys() >= before.keys() and os.readlink(f"/proc/{p.pid}/cwd") == w.new, str(after))
    for text in ("os.pread(data, 100000, 0) == b'x' * 100000", "os.lseek(data, 0, 1) == 5000", "m[:] == b't' * 50000",
                 "os.pread(gone, 400, 0) == b'gone' * 100", "os.write(log, b'second\\n') == 7", "open('more', 'w').write('made') == 4",
                 "os.pread(cold, 1, 0) == b'c'"):
        check(ask(p, text) == "True", text)
    check(read(w.new + "/log") == "\0" * 6 + "second\n" and read(w.new + "/more") == "made", read(w.new + "/log"))
    check(os.stat(w.new + "/log").st_mode & 0o7777 == 0o640 and sorted(os.listdir(w.new)) == ["below", "data", "log", "more", "text"],
          str(os.listdir(w.new)))
    w.hang() # lost threads end
    wait_for(lambda: os.listdir(f"/proc/{p.pid}/task") == [str(p.pid)], "threads are left")
    wait_for(lambda: {path for path in links(p.pid).values() if path.startswith(w.old)} == {w.old + "/cold"}, str(links(p.pid)))
    check(links(p.pid).keys() == before.keys(), str(links(p.pid)))


def test_hung_thread(w):
    """A thread that hangs in a call on OLD is left out and named; it goes on when OLD replies."""
    p = dead_job(w, MORE + """
os.set_blocking(0, True)
def hang(): print(os.pread(cold, 1, 500000) == b"c", flush=True)
thread = threading.Thread(target=hang)
""")
    w.hang("all")
    check(ask(p, "thread.start()") == "None")
    wait_for(lambda: "read\n" in read(w.rules + ".log"), "the thread does not hang")
    r = w.run("--pid", str(p.pid), "--old-is-dead", "--max-pause", "5000", "-f", "json")
    notes = [row for row in json.loads(r.stdout)["rows"] if "hangs in a call" in (row["reason"] or "")]
    check(len(notes) == 1 and "thread " in notes[0]["what"], r.stdout)
    check(ask(p, "os.write(log, b'second\\n')") == "7" and read(w.new + "/log").endswith("second\n"))
    w.hang()
    check(p.stdout.readline() == "True\n", "the thread does not go on")
    wait_for(lambda: os.listdir(f"/proc/{p.pid}/task") == [str(p.pid)], "threads are left")
    untraced(p.pid)


def test_swap(w):
    """--swap mounts NEW at the path of OLD, which is detached: paths lead to NEW."""
    p = dead_job(w)
    w.hang("all")
    r = w.run("--pid", str(p.pid), "--old-is-dead", "--swap", "--max-pause", "5000", "-f", "json")
    check(r.returncode == 0, r.stderr)
    check(ask(p, f"open({w.old + '/more'!r}, 'w').write('made')") == "4" and read(w.new + "/more") == "made")
    subprocess.run(["umount", "-l", w.old], check=True)


def test_nothing(w):
    """Nothing can be moved, or OLD is no mount point: refused, and nothing changes."""
    p = dead_job(w, """
os.chdir("/")
cold = os.open(os.environ["OLD"] + "/cold", os.O_RDONLY)
""")
    before = links(p.pid)
    w.hang("all")
    r = w.run("--pid", str(p.pid), "--old-is-dead")
    check(r.returncode == 1 and "is in memory as a whole" in r.stderr and r.stderr.count("\n") == 1, r.stderr)
    check(links(p.pid) == before and os.listdir(w.new) == [], str(os.listdir(w.new)))
    untraced(p.pid)
    r = subprocess.run([AUGER, "relocate", "--from", w.behind, "--to", w.new, "--pid", str(p.pid), "--old-is-dead"], text=True,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False)
    check(r.returncode == 1 and "must be a mount point" in r.stderr, r.stderr)


def main():
    enter()
    tests = [value for name, value in globals().items() if name.startswith("test_") and name[5:] in (sys.argv[4:] or [name[5:]])]
    print(f"1..{len(tests)}")
    bad = 0
    top = tempfile.mkdtemp(prefix="auger-dead-")
    os.chmod(top, 0o755)
    try:
        for i, test in enumerate(tests):
            os.mkdir(f"{top}/{i}")
            w = None
            try:
                w = World(f"{top}/{i}", getattr(test, "env", {}))
                test(w)
                print(f"ok {i + 1} - {test.__name__[5:]}", flush=True)
            except (AssertionError, OSError, subprocess.SubprocessError, KeyError, ValueError) as e:
                bad = 1
                print(f"not ok {i + 1} - {test.__name__[5:]}", flush=True)
                print(f"{test.__name__}: {e}", file=sys.stderr)
            finally:
                if w:
                    w.stop()
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return bad


sys.exit(main())

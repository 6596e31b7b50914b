#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""relocate.py AUGER UNSAFE [TEST...]: moves jobs from one file system to another, or checks that nothing changes.

The test runs in a mount namespace of its own, with two ext4 file systems that disappear with it. A job is a
Python program given as text; it prints "ready" when it has started. The checks ask the kernel: what the job has
open, what both trees contain, whether the old file system can be unmounted. UNSAFE is the library of unsafe.c.
"""
import contextlib
import csv
import ctypes
import errno
import hashlib
import json
import os
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

AUGER, UNSAFE = (os.path.abspath(path) for path in sys.argv[1:3])
INSIDE = "AUGER_TEST_RELOCATE"
MIB = 1 << 20
BEGIN = """
import ctypes, fcntl, mmap, os, select, signal, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
"""
END = """
print("ready", flush=True)
sys.stdin.readline()
"""


def enter():
    """Runs this program again, in a mount namespace of its own."""
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        print("1..0 # SKIP needs root and mkfs.ext4")
        sys.exit(0)
    if os.environ.get(INSIDE):
        return
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])


def check(what, text=""):
    if not what:
        raise AssertionError(text)


def sh(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True)


class World:
    """The directories old and new, each a file system, and jobs."""

    def __init__(self, top):
        self.top, self.jobs, self.mounts = top, [], []
        self.old, self.new = f"{top}/old", f"{top}/new"
        for path in (self.old, self.new):
            self.make(path)

    def make(self, path, size=64 * MIB, kind="ext4"):
        with open(path + ".img", "wb") as f:
            f.truncate(size)
        sh("mkfs." + kind, "-q", *(["-F"] if kind == "ext4" else []), path + ".img")
        os.mkdir(path)
        self.mount("-o", "loop", path + ".img", path)

    def mount(self, *words):
        sh("mount", *words)
        self.mounts.append(words[-1])

    def job(self, code, *, folder=None, program=None):
        """Starts a job and waits until it is ready."""
        name = f"{self.top}/job{len(self.jobs)}"
        with open(name + ".py", "w", encoding="utf8") as f:
            f.write(BEGIN + (code if END in code else code + END))
        p = subprocess.Popen([program or sys.executable, name + ".py", name + ".log"], cwd=folder or self.old,
                             env=os.environ | {"NEW": self.new}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.jobs.append(p)
        line = p.stdout.readline()
        check(line == "ready\n", f"the job did not start: {line!r}")
        return p

    def run(self, *words, new=None, env=None):
        return subprocess.run([AUGER, "relocate", "--from", self.old, "--to", new or self.new, *words], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
                              env=os.environ | (env or {}))

    def stop_jobs(self):
        for p in self.jobs:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, 9)
            p.kill()
            p.wait()
            p.stdin.close()
            p.stdout.close()
        self.jobs = []

    def stop(self):
        self.stop_jobs()
        for path in reversed(self.mounts):
            subprocess.run(["umount", "-l", path], check=False, capture_output=True)


def links(pid):
    """Everything that the kernel shows a process to have open, with positions and flags."""
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf8") as f:
            info = f.read()
        try:
            found[fd] = os.readlink(f"/proc/{pid}/fd/{fd}"), info
        except OSError as e:
            found[fd] = e.errno, info # ENAMETOOLONG
    for name in ("cwd", "root", "exe"):
        found[name] = os.readlink(f"/proc/{pid}/{name}")
    with open(f"/proc/{pid}/maps", encoding="utf8") as f:
        found["maps"] = f.read()
    return found


def state(pid):
    with open(f"/proc/{pid}/status", encoding="utf8") as f:
        lines = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    return lines["State"][0], lines["TracerPid"], lines["SigBlk"], lines["SigCgt"]


def tree(top):
    """Everything that a copy must keep, by path; hard links as groups of names."""
    found, inodes = {}, {}
    for folder, _, files in [(top, [], [])] + [(os.path.join(f, d), [], []) for f, ds, _ in os.walk(top) for d in ds] + [
            (f, [], fs) for f, _, fs in os.walk(top)]:
        for path in [folder] + [os.path.join(folder, f) for f in files]:
            st = os.lstat(path)
            name = os.path.relpath(path, top)
            if name.startswith("lost+found"):
                continue
            entry = [stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode), st.st_uid, st.st_gid, st.st_mtime_ns]
            if not stat.S_ISDIR(st.st_mode):
                inodes.setdefault(st.st_ino, []).append(name)
                entry += [st.st_size, st.st_nlink, st.st_rdev]
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as f:
                    entry += [hashlib.sha256(f.read()).hexdigest()] if st.st_size < 32 * MIB else []
            if stat.S_ISLNK(st.st_mode):
                entry += [os.readlink(path)]
            else:
                entry += [sorted((a, os.getxattr(path, a)) for a in os.listxattr(path))]
            found[name] = entry
    return found, sorted(sorted(set(names)) for names in inodes.values())


def fill(top):
    """Files of all kinds, odd names, links of both kinds, holes, attributes."""
    os.makedirs(f"{top}/a/b/c")
    os.makedirs(f"{top}/odd")
    for i, size in enumerate([0, 1, 4095, 4096, MIB - 1, MIB, 3 * MIB + 17]):
        with open(f"{top}/a/size{i}", "wb") as f:
            f.write(os.urandom(size))
    os.link(f"{top}/a/size2", f"{top}/a/b/hard")
    os.link(f"{top}/a/size2", f"{top}/odd/hard")
    os.symlink("../size4", f"{top}/a/b/soft")
    os.symlink("/nowhere", f"{top}/a/dangling")
    for name in (b"new\nline", b"\xff\xfe", b"a (deleted)", b"n" * 255, b"-rf"):
        with open(top.encode() + b"/odd/" + name, "wb") as f:
            f.write(name)
    with open(f"{top}/sparse", "wb") as f:
        f.truncate(6 << 30)
        f.seek(5 << 30)
        f.write(b"far away")
    os.mkfifo(f"{top}/fifo")
    os.mknod(f"{top}/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.setxattr(f"{top}/a/size1", "user.colour", b"blue\0green")
    os.setxattr(f"{top}/a", "user.folder", b"yes")
    # user::rwx user:1000:rw- group::r-- mask::rw- other::---, for the file and as the folder's default
    acl = bytes.fromhex("02000000" "01000700ffffffff" "02000600e8030000" "04000400ffffffff" "10000600ffffffff"
                        "20000000ffffffff")
    os.setxattr(f"{top}/a/size3", "system.posix_acl_access", acl)
    os.setxattr(f"{top}/a/b", "system.posix_acl_default", acl)
    os.chown(f"{top}/a/size4", 1234, 4321)
    os.chmod(f"{top}/a/size4", 0o4751)
    os.setxattr(f"{top}/a/size6", "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)) # cap_net_raw=ep
    os.chmod(f"{top}/a/size0", 0)
    os.chmod(f"{top}/odd", 0o1777)
    os.utime(f"{top}/a/size5", ns=(10**18, 10**18 + 123456789))
    os.utime(f"{top}/a/dangling", ns=(10**18, 10**18 + 1), follow_symlinks=False)
    os.utime(f"{top}/a/b", ns=(10**18, 10**18 + 5))
    os.chown(top, 77, 88)
    os.chmod(top, 0o750)


def is_empty(path):
    return [name for name in os.listdir(path) if name != "lost+found"] == []


def refused(w, p, *words, message, before=None, **more):
    """The move fails with the message; job and NEW are unchanged."""
    before = before or links(p.pid)
    top = os.stat(w.new)
    r = w.run("--pid", str(p.pid), *words, **more)
    check(r.returncode == 1, f"exit status {r.returncode}: {r.stderr}")
    check(r.stdout == "" or "--dry-run" in words, r.stdout)
    check(message in r.stderr and r.stderr.count("\n") == 1, f"no {message!r} in {r.stderr!r}")
    after = links(p.pid)
    check(after == before, "the job has other things open: " + str([(k, v, after.get(k)) for k, v in before.items() if after.get(k) != v]))
    check(state(p.pid)[:2] in (("S", "0"), ("R", "0"), ("D", "0")), str(state(p.pid)))
    if "new" not in more:
        after = os.stat(w.new)
        check(is_empty(w.new), str(os.listdir(w.new)))
        check((top.st_mode, top.st_uid, top.st_mtime_ns) == (after.st_mode, after.st_uid, after.st_mtime_ns),
              "NEW has other attributes")


NAMED = """
f = open("data", "w"); f.write("x" * 5000); f.flush()
"""

# name: code of the job, part of the message
REFUSED = {
    "bound_socket": ('s = socket.socket(socket.AF_UNIX); s.bind("sock")', "the socket is bound"),
    "accepted_socket": ("""
s = socket.socket(socket.AF_UNIX); s.bind("sock"); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect("sock"); a = s.accept()[0]; s.close(); os.unlink("sock")
""", "the socket is bound"),
    "inotify": ('n = libc.inotify_init(); libc.inotify_add_watch(n, b"data", 2); os.unlink("data")', "inotify"),
    "fanotify": ("""
n = libc.syscall(300, 0, 0)
libc.syscall(301, n, 1, ctypes.c_uint64(2), -100, b".")
""", "fanotify"),
    "lease": ('f = os.open("data", os.O_RDONLY); fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_RDLCK)', "a lease"),
    "async_fifo": ("""
os.mkfifo("fifo"); f = os.open("fifo", os.O_RDWR)
fcntl.fcntl(f, fcntl.F_SETFL, fcntl.fcntl(f, fcntl.F_GETFL) | os.O_ASYNC)
""", "O_ASYNC"),
    "half_read_folder": ("""
for i in range(2000): open(f"file{i}", "w").close()
d = os.open(".", os.O_RDONLY); libc.syscall(217, d, ctypes.create_string_buffer(1000), 1000)
""", "is reading the directory"),
    "removed_folder": ('os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")', "is deleted"),
    "root_folder": ('os.mkdir("jail"); os.chroot("jail"); os.chdir("/")', "root directory"),
    "io_uring_files": ("""
p = ctypes.create_string_buffer(120)
r = libc.syscall(425, 4, p)
if r < 0: print("skip", flush=True)
f = os.open("data", os.O_RDWR)
libc.syscall(427, r, 2, (ctypes.c_int * 1)(f), 1)
os.close(f)
""", "io_uring"),
    "long_path": ("""
for i in range(30): os.mkdir("d" * 200); os.chdir("d" * 200)
f = os.open("data", os.O_WRONLY | os.O_CREAT); os.chdir("/")
""", "its path is longer"),
    "thread_descriptors": ("""
def away():
    global own
    libc.unshare(0x400); own = os.open("own", os.O_WRONLY | os.O_CREAT); there.set(); time.sleep(1000)
there = threading.Event(); threading.Thread(target=away, daemon=True).start(); there.wait()
""", "of thread"),
    "sent_descriptor": ("""
a, b = socket.socketpair(); fd = os.open("data", os.O_WRONLY); socket.send_fds(a, [b"x"], [fd]); os.close(fd)
""", "waits in it"),
    "aio": ("""
c = ctypes.c_ulong(0); libc.syscall(206, 8, ctypes.byref(c)); f = os.open("data", os.O_RDONLY)
""", "libaio"),
}


def test_refused(w):
    """A move fails, names what cannot be moved, and changes nothing."""
    wrong = []
    for name, (code, message) in REFUSED.items():
        folder = f"{w.old}/{name}"
        os.mkdir(folder)
        try:
            p = w.job(NAMED + code, folder=folder)
            refused(w, p, message=message)
            refused(w, p, "--dry-run", message=message)
        except AssertionError as e:
            wrong.append(f"{name}: {e}")
        p.kill()
        p.wait()
        shutil.rmtree(folder)
    check(not wrong, "\n".join(wrong))


def test_program(w):
    """The program itself is on OLD; and a library."""
    shutil.copy("/bin/sleep", f"{w.old}/nap")
    nap = subprocess.Popen([f"{w.old}/nap", "1000"])
    w.jobs.append(p := w.job(NAMED))
    try:
        while not os.readlink(f"/proc/{nap.pid}/exe").endswith("nap") or state(nap.pid)[0] != "S":
            time.sleep(0.01)
        refused(w, nap, message="program")
    finally:
        nap.kill()
        nap.wait()
    lib = subprocess.run(["ldd", "/bin/sleep"], capture_output=True, text=True, check=True).stdout
    shutil.copy(lib.split("libc.so.6 => ")[1].split()[0], f"{w.old}/lib.so")
    q = w.job('l = mmap.mmap(os.open("lib.so", os.O_RDONLY), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE)')
    p.kill()
    p.wait()
    refused(w, q, message="--move-libs")


def test_other_process(w):
    """A second process that writes the same file must move, too; the message names it."""
    p = w.job(NAMED)
    q = w.job('f = open("data", "a")')
    refused(w, p, message=f"--pid {q.pid}")
    r = w.run("--dry-run", "--pid", f"{p.pid},{q.pid}", "-f", "json")
    check(r.returncode == 0, r.stderr)
    check({row["pid"] for row in json.loads(r.stdout)["rows"]} == {p.pid, q.pid}, r.stdout)
    r = w.run("--dry-run", "--all-users-of", w.old, "-f", "json")
    check(r.returncode == 0, r.stderr)
    check({row["pid"] for row in json.loads(r.stdout)["rows"]} == {p.pid, q.pid}, r.stdout)


def test_traced(w):
    p = w.job(NAMED)
    before = links(p.pid)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    check(libc.ptrace(0x4206, p.pid, 0, 0) == 0, "PTRACE_SEIZE")
    try:
        r = w.run("--pid", str(p.pid))
        check(r.returncode == 1 and f"traced by process {os.getpid()}" in r.stderr, r.stderr)
        check(links(p.pid) == before and is_empty(w.new))
    finally:
        libc.ptrace(0x4207, p.pid, 0, 0)
        libc.ptrace(17, p.pid, 0, 0)


def test_pids(w):
    """Process ids that cannot be moved."""
    for pid, words in (("2", "kernel"), (str(2**22 - 3), "no such process"), ("1,x", "process ids"), ("0", "process ids")):
        r = w.run("--pid", pid)
        check(r.returncode == 1 and words in r.stderr and "()" not in r.stderr, f"{pid}: {r.stderr}")
    p = w.job("", folder=w.top)
    r = w.run("--pid", str(p.pid))
    check(r.returncode == 1 and "uses nothing of" in r.stderr, r.stderr)
    check(is_empty(w.new))


def test_threads(w):
    """A thread id is refused, and so is a process whose first thread has ended."""
    p = w.job(NAMED + "threading.Thread(target=lambda: time.sleep(1000), daemon=True).start()")
    tid = next(t for t in os.listdir(f"/proc/{p.pid}/task") if t != str(p.pid))
    r = w.run("--pid", tid)
    check(r.returncode == 1 and f"(--pid {p.pid})" in r.stderr, r.stderr)
    w.stop_jobs()
    p = w.job('threading.Thread(target=lambda: exec("""' + NAMED + END + '""")).start()\nlibc.syscall(60, 0)')
    while state(p.pid)[0] != "Z":
        time.sleep(0.01)
    for words in (["--pid", str(p.pid)], ["--all-users-of", w.old]):
        r = w.run(*words)
        check(r.returncode == 1 and f"process {p.pid} " in r.stderr and "first thread has ended" in r.stderr, r.stderr)


def test_reused_pid(w):
    """The job ends just before the pause, and another process gets its PID, also with a directory of OLD: it is not touched."""
    p = w.job(NAMED)
    ended = threading.Thread(target=p.wait)
    ended.start()
    try:
        r = w.run("--pid", str(p.pid), env=unsafe() | {"UNSAFE_REUSE": str(p.pid), "UNSAFE_FOLDER": w.old})
        ended.join(60)
        check(r.returncode == 1 and "the job has ended" in r.stderr and r.stderr.count("\n") == 1, r.stderr)
        check(p.returncode == -9 and is_empty(w.new), f"{p.returncode} {os.listdir(w.new)}")
        if not os.path.exists(f"/proc/{p.pid}"):
            return # PIDs cannot be chosen here
        with open(f"/proc/{p.pid}/cmdline", "rb") as f:
            check(f.read() == b"sleep\x00600\x00", "the PID was not reused")
        check(links(p.pid)["cwd"] == w.old and state(p.pid)[1] == "0", str(state(p.pid)))
        check(os.sched_getscheduler(p.pid) == os.SCHED_OTHER, "it has another priority")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(p.pid, 9)
        ended.join(60)


def test_slurm(w):
    """The processes of a control group like those of Slurm."""
    root = "/sys/fs/cgroup"
    if not os.path.exists(f"{root}/cgroup.procs"):
        return
    p = w.job(NAMED)
    group = f"{root}/auger-test-{os.getpid()}/job_98765/step_0/user/task_0"
    os.makedirs(group)
    try:
        with open(f"{group}/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(p.pid))
        for job, code in (("98765", 0), ("9876", 1)):
            r = subprocess.run([AUGER, "relocate", "--dry-run", "--job", job, "--from", w.old, "--to", w.new, "-f", "json"],
                               text=True, capture_output=True, check=False)
            check(r.returncode == code, r.stderr)
            check(code or {row["pid"] for row in json.loads(r.stdout)["rows"]} == {p.pid}, r.stdout)
    finally:
        p.kill()
        p.wait()
        while group != root:
            os.rmdir(group)
            group = os.path.dirname(group)


# A 32-bit ELF program that calls pause(2).
ELF32 = bytes.fromhex("7f454c46010101000000000000000000" "02000300010000005480040834000000" "00000000000000003400200001000000"
                      "00000000" "0100000000000000008004080080040860000000600000000500000000100000" "b81d000000cd80ebf7")


def test_32_bit(w):
    path = f"{w.top}/small"
    with open(path, "wb") as f:
        f.write(ELF32)
    os.chmod(path, 0o755)
    try:
        p = subprocess.Popen([path], cwd=w.old)
    except OSError:
        return # this kernel runs none
    w.jobs.append(w.job(""))
    try:
        while not os.readlink(f"/proc/{p.pid}/exe").endswith("small"):
            time.sleep(0.01)
        refused(w, p, message="32-bit")
    finally:
        p.kill()
        p.wait()


def test_namespace(w):
    """A job with copies of our mounts; a note names the namespace that keeps OLD mounted."""
    away = "libc.unshare(0x20000); "
    p = w.job(away + "os.chdir(os.getcwd())" + NAMED + END + """
print(os.getcwd(), libc.umount2(os.path.abspath(os.environ["NEW"] + "/../old").encode(), 0), flush=True)
sys.stdin.readline()
""")
    r = w.run("--pid", str(p.pid), "--swap")
    check(r.returncode == 1 and "omit --swap" in r.stderr and is_empty(w.new), r.stderr)
    out = moved(w, p)
    check([row["remedy"] for row in out["rows"] if row["state"] == "note" and row["what"] == "mount namespace"] ==
          [f"nsenter --mount --target {p.pid} umount {w.old}"], str(out["rows"]))
    leave(w)
    p.stdin.write("\n")
    p.stdin.flush()
    check(p.stdout.readline() == f"{w.new} 0\n", "OLD cannot be unmounted where the job is")


def test_namespace_notes(w):
    """A mount namespace outside the job keeps OLD mounted."""
    p, q = w.job(NAMED), w.job("libc.unshare(0x20000)", folder="/")
    r = w.run("--dry-run", "--pid", str(p.pid), "-f", "json")
    check(r.returncode == 0, r.stderr)
    check([(row["pid"], row["what"]) for row in json.loads(r.stdout)["rows"] if row["state"] == "note"] ==
          [(q.pid, "mount namespace")], r.stdout)


# Another root directory, in which a directory of OLD is /mnt/data, and NEW, if it is visible, /mnt/a b.
CONTAINER = """
libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
def mount(source, target, flags, kind=None):
    assert libc.mount(source.encode(), target.encode(), kind, flags, None) == 0, os.strerror(ctypes.get_errno())
old, new, c = os.getcwd(), os.environ["NEW"], os.path.dirname(os.getcwd()) + "/c"
libc.unshare(0x20000)
mount("/", c, 4096)
mount("/proc", c + "/proc", 4096 | 16384)
mount("none", c + "/mnt", 0, b"tmpfs")
for name in "data", "a b", "put": os.mkdir(f"{c}/mnt/{name}")
mount(old + "/jobs", c + "/mnt/data", 4096)
if os.environ.get("HAS_NEW"): mount(new, c + "/mnt/a b", 4096)
if os.environ.get("IS_JAIL"): os.chroot(c)
else:
    os.chdir(c)
    assert libc.syscall(155, b".", b"mnt/put") == 0 # pivot_root
    assert libc.umount2(b"/mnt/put", 2) == 0
os.chdir("/mnt/data/deep")
"""


def test_container(w):
    """Jobs that see OLD and NEW at other paths, by pivot_root and by chroot. NEW must be visible."""
    os.mkdir(f"{w.top}/c")
    for i, env in enumerate(({}, {"HAS_NEW": "1"}, {"HAS_NEW": "1", "IS_JAIL": "1"})):
        new = f"{w.new}/{i}"
        for path in (f"{w.old}/jobs/deep", new):
            os.makedirs(path)
        with open(f"{w.old}/jobs/deep/table", "wb") as f:
            f.truncate(MIB)
        os.environ.update(env)
        p = w.job(CONTAINER + WRITER + END + "print(os.getcwd(), os.path.realpath('..'), flush=True)\n" + FINISH)
        for name in env:
            del os.environ[name]
        write_more(w, p, f"job{len(w.jobs) - 1}")
        if env:
            moved(w, p, new=new)
        else:
            r = w.run("--pid", str(p.pid), new=new)
            check(r.returncode == 1 and "NEW is not visible" in r.stderr, r.stderr)
        write_more(w, p, f"job{len(w.jobs) - 1}")
        p.stdin.write("\n")
        p.stdin.flush()
        top = f"/mnt/a b/{i}/jobs" if env else "/mnt/data"
        line = p.stdout.readline()
        check(line == f"{top}/deep {top}\n", line)
        p.stdout.readline()
        with open(f"{w.top}/job{len(w.jobs) - 1}.log", "rb") as journal, \
                open(f"{new if env else w.old}/jobs/deep/data", "rb") as data:
            check(journal.read() == data.read(), "data is not what was written")
        p.kill()
        p.wait()
        shutil.rmtree(f"{w.old}/jobs")


def test_process_namespace(w):
    """A job in a pid namespace of its own has other process and thread ids; its first process is init."""
    with open(f"{w.old}/table", "wb") as f:
        f.truncate(MIB)
    p = w.job("libc.unshare(0x20000000)\nif os.fork(): os._exit(os.waitstatus_to_exitcode(os.wait()[1]))\n" + WRITER +
              'libc.syscall(39) == 1 or print("not the first")' + END + FINISH)
    with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
        child = int(f.read())
    write_more(w, p)
    moved(w, p)
    check(links(child)["cwd"] == w.new)
    leave(w)
    write_more(w, p)
    finish(w, p, w.new)


def test_user(w):
    """A user who may not move the job."""
    p = w.job(NAMED)
    before = links(p.pid)
    shutil.copy(AUGER, f"{w.top}/auger")
    os.makedirs(f"{w.new}/made")
    os.chown(f"{w.new}/made", 65534, 65534)
    r = subprocess.run([f"{w.top}/auger", "relocate", "--pid", str(p.pid), "--from", w.old, "--to", f"{w.new}/made"],
                       text=True, capture_output=True, check=False, user=65534, group=65534, extra_groups=[])
    check(r.returncode == 1 and "run auger as root" in r.stderr, r.stderr)
    check(links(p.pid) == before and os.listdir(f"{w.new}/made") == [])


def test_user_own(w):
    """A user moves his own job; undo works even in his directories without write permission."""
    os.makedirs(f"{w.old}/closed/below")
    for name in ("closed/below/file", "closed/file"):
        with open(f"{w.old}/{name}", "w", encoding="ascii") as f:
            f.write(name)
    who = {"user": 65534, "group": 65534, "extra_groups": []}
    os.mkdir(f"{w.new}/made")
    for path in (w.top, w.old, f"{w.new}/made", *(os.path.join(a, n) for a, ds, fs in os.walk(w.old) for n in ds + fs)):
        os.chown(path, 65534, 65534)
    os.chmod(f"{w.old}/closed/below", 0o555)
    os.chmod(f"{w.old}/closed", 0o555)
    before = tree(f"{w.new}/made")
    copies = [shutil.copy(path, w.top) for path in (AUGER, UNSAFE)]
    p = subprocess.Popen(["sleep", "1000"], cwd=w.old, **who)
    while os.readlink(f"/proc/{p.pid}/exe").split("/")[-1] not in ("sleep", "coreutils"):
        time.sleep(0.01)
    try:
        for env in (unsafe("fsync", 1) | {"LD_PRELOAD": copies[1]}, {}):
            r = subprocess.run([copies[0], "relocate", "--pid", str(p.pid), "--from", w.old, "--to", f"{w.new}/made", "-f", "json"],
                               text=True, capture_output=True, check=False, env=os.environ | env, **who)
            if env:
                check(r.returncode == 1 and r.stderr.count("\n") == 1 and "Input/output" in r.stderr, r.stderr)
                check(tree(f"{w.new}/made") == before, f"{tree(w.new)}")
        check(r.returncode == 0 and "only root can test" in json.loads(r.stdout)["umount"], r.stderr + r.stdout)
        check(tree(f"{w.new}/made") == tree(w.old), f"{tree(w.new)}")
    finally:
        p.kill()
        p.wait()


def test_loop(w):
    """A loop device uses a file below OLD."""
    w.make(f"{w.old}/disk", 2 * MIB)
    sh("umount", f"{w.old}/disk")
    device = subprocess.run(["losetup", "--find", "--show", f"{w.old}/disk.img"], check=True, capture_output=True,
                            text=True).stdout.strip()
    try:
        refused(w, w.job(NAMED), message="a loop device uses it")
    finally:
        sh("losetup", "--detach", device)


def test_swap_file(w):
    """The machine swaps to a file of OLD."""
    path = f"{w.old}/swap"
    with open(path, "wb") as f:
        f.write(bytes(2 * MIB))
    os.chmod(path, 0o600)
    sh("mkswap", path)
    if subprocess.run(["swapon", path], check=False, capture_output=True).returncode:
        return # not allowed here
    try:
        refused(w, w.job(NAMED), message="swaps to it (swapoff)")
    finally:
        sh("swapoff", path)


def test_userfaultfd(w):
    """A program handles the page faults of a mapped file (userfaultfd); on tmpfs, which supports that."""
    w.old += "/tmpfs"
    os.mkdir(w.old)
    w.mount("-t", "tmpfs", "none", w.old)
    p = w.job("""
u = libc.syscall(323, 1)
f = os.open("data", os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 4096)
m = mmap.mmap(f, 4096)
try:
    fcntl.ioctl(u, 0xc018aa3f, struct.pack("QQQ", 0xaa, 0, 0)) # UFFDIO_API
    at = ctypes.addressof(ctypes.c_char.from_buffer(m))
    fcntl.ioctl(u, 0xc020aa00, struct.pack("QQQQ", at, 4096, 1, 0)) # UFFDIO_REGISTER
except OSError:
    m.close() # this kernel has none
""")
    if f"{w.old}/data" in links(p.pid)["maps"]:
        refused(w, p, message="userfaultfd")


def test_brief(w):
    """Processes come and go all the time, named or found: one that has ended does not block the move."""
    p = w.job(NAMED + """
import subprocess
is_over = False
def work():
    while not is_over: subprocess.run(["true"])
for i in range(2): threading.Thread(target=work).start()
""" + END + "is_over = True")
    for i in range(3):
        for words in (["--pid", str(p.pid)], ["--all-users-of", w.old]):
            r = w.run("--dry-run", *words)
            check(r.returncode == 0, f"{i} {words}: {r.stderr}")
    r = w.run("--all-users-of", w.old)
    check(r.returncode == 0, r.stderr)
    check(os.readlink(f"/proc/{p.pid}/cwd") == w.new)
    p.stdin.close()
    check(p.wait(60) == 0, "the job failed")
    leave(w)


def test_covered(w):
    """--swap while others keep OLD busy mounts NEW over it."""
    p = w.job(NAMED)
    w.job("")
    out = moved(w, p, "--swap")
    check(out["umount"].startswith("NEW is mounted over"), out["umount"])
    with open(f"{w.old}/mark", "w", encoding="utf8"):
        check(os.path.exists(f"{w.new}/mark"))
    w.mounts.append(w.old)


def test_inside(w):
    """The job itself starts auger."""
    p = w.job("""
import subprocess
out = open("data", "w"); out.write("before\\n"); out.flush()
r = subprocess.run([os.environ["AUGER"], "relocate", "--pid", str(os.getpid()), "--from", ".", "--to", os.environ["NEW"]],
                   capture_output=True, text=True)
if r.returncode: print(r.stderr)
out.write("after\\n"); out.flush()
""")
    leave(w)
    with open(f"{w.new}/data", encoding="utf8") as f:
        check(f.read() == "before\nafter\n")
    check(os.readlink(f"/proc/{p.pid}/cwd") == w.new)


def test_notes(w):
    """Notes name processes that keep OLD busy and environments with its path, before and after the move."""
    os.environ["STORAGE"] = w.old + "/data:x"
    p = w.job(NAMED)
    del os.environ["STORAGE"]
    q = w.job("")
    for r in (w.run("--dry-run", "--pid", str(p.pid), "-f", "json"), w.run("--pid", str(p.pid), "-f", "json")):
        check(r.returncode == 0, r.stderr)
        notes = {(row["pid"], row["what"]) for row in json.loads(r.stdout)["rows"] if row["state"] == "note"}
        check(notes == {(p.pid, "environment"), (q.pid, "working directory")}, str(notes))
    check("would fail" in json.loads(r.stdout)["umount"], r.stdout)


def test_undone_top(w):
    """Undo restores owner, times and attributes of NEW."""
    p = w.job(NAMED)
    os.setxattr(w.old, "user.old", b"1")
    os.chown(w.old, 5, 6)
    os.setxattr(w.new, "user.new", b"\0two")
    os.chown(w.new, 7, 8)
    os.utime(w.new, ns=(10**18, 10**18))
    with open(f"{w.old}/large", "wb") as f:
        f.write(os.urandom(4 * MIB))
    before = tree(w.new)
    a = subprocess.Popen([AUGER, "relocate", "--pid", str(p.pid), "--from", w.old, "--to", w.new, "--bandwidth", "1"],
                         stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not os.path.exists(f"{w.new}/large"):
        check(a.poll() is None, "it ended by itself")
        time.sleep(0.01)
    a.send_signal(2)
    a.communicate(timeout=60)
    check(tree(w.new) == before, f"{before} {tree(w.new)}")


def test_new(w):
    """Directories that cannot be NEW."""
    p = w.job(NAMED)
    os.mkdir(f"{w.new}/sub")
    with open(f"{w.new}/sub/own", "w", encoding="utf8") as f:
        f.write("mine")
    refused(w, p, message="is not empty", new=f"{w.new}/sub")
    check(os.listdir(f"{w.new}/sub") == ["own"])
    refused(w, p, message="same file system", new=f"{w.old}/new")
    check(not os.path.exists(f"{w.old}/new"), "what was made was not removed")
    refused(w, p, message="No such file", new=f"{w.new}/not/there")
    sh("mount", "-o", "remount,ro", w.new)
    refused(w, p, message="Read-only", new=f"{w.new}/made")
    sh("mount", "-o", "remount,rw", w.new)
    w.make(f"{w.top}/small", 2 * MIB)
    with open(f"{w.old}/large", "wb") as f:
        f.write(os.urandom(4 * MIB))
    refused(w, p, message="are free", new=f"{w.top}/small/made")
    check(is_empty(f"{w.top}/small"))


def test_mount_options(w):
    """NEW must not give files rights that OLD's mount denies."""
    p = w.job(NAMED)
    for option in ("nosuid", "nodev", "noexec"):
        sh("mount", "-o", f"remount,{option}", w.old)
        refused(w, p, message=f"OLD is mounted with {option}, and NEW without it")
        sh("mount", "-o", f"remount,{option}", w.new)
    moved(w, p)


def test_mounts(w):
    """Mounts below OLD, and other mounts of it."""
    p = w.job(NAMED)
    os.mkdir(f"{w.old}/below")
    w.mount("-t", "tmpfs", "none", f"{w.old}/below")
    refused(w, p, message="mounted below OLD")
    sh("umount", f"{w.old}/below")
    os.mkdir(f"{w.top}/second")
    w.mount("--bind", w.old, f"{w.top}/second")
    refused(w, p, message="mounted here, too")
    sh("umount", f"{w.top}/second")


def test_dry_run(w):
    """--dry-run lists what would move and creates nothing."""
    p = w.job("""
f = open("data", "w+b"); f.truncate(1 << 20); f.seek(4321)
g = os.dup(f.fileno()); os.set_inheritable(g, True)
m = mmap.mmap(f.fileno(), 8192)
fcntl.flock(f, fcntl.LOCK_EX)
os.open("gone", os.O_WRONLY | os.O_CREAT | os.O_APPEND); os.unlink("gone")
""")
    r = w.run("--dry-run", "--pid", str(p.pid), "-f", "json", new=f"{w.new}/made")
    check(r.returncode == 0, r.stderr)
    check(not os.path.exists(f"{w.new}/made"))
    out = json.loads(r.stdout)
    rows = [(row["what"].split()[0], row["flags"], row["position"], row["path"], row["state"]) for row in out["rows"]]
    check(sorted(map(str, rows)) == sorted(map(str, [
        ("descriptor", "rw,cloexec,locked,shared", 4321, "data", "moves"),
        ("descriptor", "rw,locked,shared", 4321, "data", "moves"),
        ("descriptor", "rw,cloexec,locked,shared", 4321, "data", "moves"),
        ("descriptor", "w,append,cloexec", 0, "(deleted)", "moves"),
        ("mapping", "rw,shared", 0, "data", "moves"),
        ("working", None, None, ".", "moves"),
    ])), json.dumps(rows))
    check(0 < out["expected_pause_ns"] < 10**9)


def test_connections(w):
    """--dry-run lists TCP connections, each once; a socket that only listens is none."""
    p = w.job(NAMED + """
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); a = s.accept()[0]
if os.fork() == 0: time.sleep(1000)
""")
    r = w.run("--dry-run", "--pid", str(p.pid), "-f", "json")
    check(r.returncode == 0, r.stderr)
    out = json.loads(r.stdout)
    rows = [row["path"].split(" - ") for row in out["rows"] if row["what"] == "TCP connection" and row["state"] == "note"]
    check(out["connections"] == 2 and len(rows) == 2 and rows[0] == rows[1][::-1], str(rows))


# A record is its number in 8 bytes; each is in a log before it is in the file. A move must not show in
# the file: every record once, in order, whichever process wrote it.
WRITER = """
out = open("data", "ab", 0); at = os.open("slots", os.O_RDWR | os.O_CREAT)
m = mmap.mmap(os.open("table", os.O_RDWR), 1 << 20)
gone = open("gone", "w+b", 0); os.unlink("gone")
def write():
    i = 0
    while not is_over:
        record = struct.pack("<Q", i)
        os.write(log, record)
        out.write(record)
        os.pwrite(at, record, (i % 1000) * 8)
        m[(i % 1000) * 8:(i % 1000) * 8 + 8] = record
        gone.write(record)
        i += 1
        time.sleep(0.0003)
is_over = False
thread = threading.Thread(target=write)
thread.start()
def finish():
    global is_over
    is_over = True
    thread.join()
    gone.seek(0)
    with open("was-gone", "wb") as f: f.write(gone.read())
    assert os.readlink("/proc/self/fd/%d" % gone.fileno()).endswith("(deleted)")
"""
FINISH = """
finish()
print("over", flush=True)
sys.stdin.readline()
"""


def write_more(w, p, name="job0"):
    """Waits until the job reports that it has written more."""
    log = f"{w.top}/{name}.log"
    size = os.path.getsize(log)
    until = time.monotonic() + 60
    while os.path.getsize(log) < size + 8 * 200:
        check(p.poll() is None, f"the job ended: {p.poll()}")
        check(time.monotonic() < until, "the job does not write any more")
        time.sleep(0.01)


def finish(w, p, folder, name="job0"):
    """Ends the job and compares its files with its log."""
    p.stdin.write("\n")
    p.stdin.flush()
    check(p.stdout.readline() == "over\n", "the job did not end well")
    with open(f"{w.top}/{name}.log", "rb") as f:
        journal = f.read()
    with open(f"{folder}/data", "rb") as f:
        check(f.read() == journal, "data is not what was written")
    with open(f"{folder}/was-gone", "rb") as f:
        check(f.read() == journal, "the deleted file is not what was written")
    last = {i % 1000: i for i in range(len(journal) // 8)}
    for slots in ("slots", "table"):
        with open(f"{folder}/{slots}", "rb") as f:
            data = f.read(8000)
        got = {i: int.from_bytes(data[8 * i:8 * i + 8], "little") for i in range(len(data) // 8)}
        check(all(got[i] == n for i, n in last.items()), f"{slots} is not what was written")


def writer(w):
    with open(f"{w.old}/table", "wb") as f:
        f.truncate(MIB)
    return w.job(WRITER + END + FINISH)


def moved(w, p, *words, **more):
    before = {fd: flags for fd, (_, flags) in ((fd, v) for fd, v in links(p.pid).items() if fd.isdigit())}
    r = w.run("--pid", str(p.pid), *words, "-f", "json", **more)
    check(r.returncode == 0, r.stderr)
    after = links(p.pid)
    check({fd for fd in after if fd.isdigit()} == set(before), "other descriptors")
    for fd, info in before.items():
        check(info.split()[3] == after[fd][1].split()[3], f"descriptor {fd} has other flags")
    check(state(p.pid)[1] == "0" and state(p.pid)[0] in "SRD")
    check(os.sched_getscheduler(p.pid) not in (os.SCHED_FIFO, os.SCHED_RR), "it goes before others")
    return json.loads(r.stdout)


def leave(w):
    """umount OLD succeeds immediately."""
    sh("umount", w.old)
    w.mounts.remove(w.old)


def test_moved(w):
    """A tree with all kinds of files, and a job that writes; OLD is unmounted, and the job's log compared."""
    fill(w.old)
    os.makedirs(f"{w.old}/job")
    top = w.old
    w.old = f"{top}/job"
    p = writer(w)
    w.old = top
    write_more(w, p)
    out = moved(w, p)
    check(out["umount"] == "umount OLD would succeed now", out["umount"])
    old, new = tree(w.old), tree(w.new)
    for found in (old, new):
        for name in [name for name in found[0] if name.startswith("job")]:
            del found[0][name]
    check(old[0] == new[0], "\n".join(f"{n}: {old[0].get(n)} {new[0].get(n)}" for n in old[0].keys() | new[0].keys()
                                     if old[0].get(n) != new[0].get(n)))
    check(old[1] == new[1], "other hard links")
    check(os.stat(f"{w.new}/sparse").st_blocks < 1000, "holes were filled")
    leave(w)
    write_more(w, p)
    finish(w, p, f"{w.new}/job")


def test_room(w):
    """Threads share a descriptor table that is too small for the move: it grows before the pause, and
    the threads do not notice it."""
    p = w.job("""
fds = [os.open(f"f{i}", os.O_WRONLY | os.O_CREAT | os.O_APPEND) for i in range(100)]
gate = threading.Event()
for i in range(3):
    threading.Thread(target=gate.wait, daemon=True).start()
""" + END + """
for fd in fds: os.write(fd, b"moved")
gate.set()
""")
    moved(w, p)
    leave(w)
    p.stdin.write("\n")
    p.stdin.close()
    check(p.wait(60) == 0)
    for i in range(100):
        with open(f"{w.new}/f{i}", "rb") as f:
            check(f.read() == b"moved", f"f{i}")


def test_watches(w):
    """Inotify watches keep their numbers, even if the move is undone; the program gets no event."""
    p = w.job("""
n = libc.inotify_init1(0o4000)
os.mkdir("folder")
f = open("folder/file", "a")
def watch(path, mask): return libc.inotify_add_watch(n, path, mask)
first = watch(b"folder/file", 2)
numbers = [watch(b"folder", 0x300), watch(b".", 0xfff & ~0x31)] # all but access, opening and closing for reading
libc.inotify_rm_watch(n, first)
os.read(n, 4096)
numbers.append(watch(b"folder/file", 2))
def events():
    found = []
    with contextlib.suppress(BlockingIOError):
        data = os.read(n, 4096)
        while data:
            wd, mask, _, length = struct.unpack("iIII", data[:16])
            found.append((numbers.index(wd), mask, data[16:16 + length].rstrip(b"\\0").decode()))
            data = data[16 + length:]
    return found
import contextlib
""" + END + """
print(events())
f.write("x"); f.flush(); open("folder/new", "w").close(); os.unlink("folder/new")
print(events(), watch(b"/", 2) > max(numbers), flush=True)
sys.stdin.readline()
""")
    heard = [(2, 2, ""), (0, 0x100, "new"), (0, 0x200, "new")]
    r = w.run("--pid", str(p.pid), env=unsafe("fsync", 2))
    check(r.returncode == 1 and "Input/output" in r.stderr, r.stderr)
    moved(w, p)
    leave(w)
    p.stdin.write("\n")
    p.stdin.flush()
    check(p.stdout.readline() == "[]\n", "it heard of the move")
    line = p.stdout.readline()
    check(line == f"{heard} True\n", line)
    w.old, w.new = w.new, f"{w.top}/other"
    w.make(w.new)
    p = w.job(NAMED + """
n = libc.inotify_init(); libc.inotify_add_watch(n, b".", 0xfff); libc.inotify_add_watch(n, b"data", 0xfff)
def follow():
    while True: os.read(n, 4096)
threading.Thread(target=follow, daemon=True).start()
""")
    moved(w, p) # it hears of our reading
    w.stop_jobs()
    w.old, w.new = w.new, f"{w.top}/last"
    w.make(w.new)
    p = w.job(NAMED + 'n = libc.inotify_init(); libc.inotify_add_watch(n, b"data", 2); f.write("y"); f.flush()')
    refused(w, p, message="unread events")


def test_tail(w):
    """--all-users-of moves all users of OLD, also one that follows a log by inotify."""
    p = w.job('f = open("log", "a"); f.write("one\\n"); f.flush()' + END + 'f.write("two\\n"); f.flush(); sys.stdin.readline()')
    with subprocess.Popen(["tail", "-f", "log"], cwd=w.old, stdout=subprocess.PIPE, text=True) as tail:
        try:
            check(tail.stdout.readline() == "one\n")
            while not any("inotify" in str(link) for link in links(tail.pid).values()):
                time.sleep(0.01)
            r = w.run("--all-users-of", w.old)
            check(r.returncode == 0, r.stderr)
            leave(w)
            p.stdin.write("\n")
            p.stdin.flush()
            check(tail.stdout.readline() == "two\n")
        finally:
            tail.kill()


def test_options(w):
    """Moves with --verify checksum, --trust-append and --bandwidth."""
    p = writer(w)
    write_more(w, p)
    moved(w, p, "--verify", "checksum", "--trust-append", "--bandwidth", "100", new=f"{w.new}/made")
    leave(w)
    write_more(w, p)
    finish(w, p, f"{w.new}/made")


def test_swap(w):
    """--swap mounts NEW at OLD's path: absolute paths that the job opens later are on NEW."""
    p = writer(w)
    q = w.job("""
out = open("paths", "a"); out.close()
def follow():
    global i
    while not is_over:
        with open(os.environ["PATHS"], "a") as f: f.write("%d\\n" % i)
        i += 1
i = 0
is_over = False
t = threading.Thread(target=follow)
os.environ["PATHS"] = os.getcwd() + "/paths"
t.start()
""" + END + """
is_over = True
t.join()
print(i, flush=True)
sys.stdin.readline()
""")
    write_more(w, p)
    r = w.run("--pid", f"{p.pid},{q.pid}", "--swap", "-f", "json")
    check(r.returncode == 0, r.stderr)
    check(json.loads(r.stdout)["umount"].startswith("OLD is unmounted"), r.stdout)
    w.mounts.append(w.old)
    write_more(w, p)
    finish(w, p, w.new)
    q.stdin.write("\n")
    q.stdin.flush()
    count = int(q.stdout.readline())
    with open(f"{w.new}/paths", encoding="utf8") as f:
        check(f.read().split() == [str(i) for i in range(count)], "lines are missing")


def test_there_and_back(w):
    """The recipe of docs/relocate.md: to temporary storage, then back to the same path on a new file system."""
    p = writer(w)
    write_more(w, p)
    path = w.old
    moved(w, p, "--swap")
    w.mounts.append(path)
    sh("umount", w.new) # the job's files are on the mount at their old path
    w.mounts.remove(w.new)
    write_more(w, p)
    w.new = f"{w.top}/primary"
    w.make(w.new)
    out = moved(w, p, "--swap")
    check(out["umount"].startswith("OLD is unmounted"), out["umount"])
    w.mounts.append(path)
    sh("umount", w.new)
    w.mounts.remove(w.new)
    write_more(w, p)
    check(os.readlink(f"/proc/{p.pid}/cwd") == path)
    finish(w, p, path)


def test_partial(w):
    """With --force-partial things that cannot be moved stay, and the rest moves."""
    p = w.job(NAMED + 's = socket.socket(socket.AF_UNIX); s.bind("sock")')
    out = moved(w, p, "--force-partial")
    check({"descriptor": "moved"} == {row["what"].split()[0]: row["state"] for row in out["rows"] if row["path"] == "data"})
    check([row["state"] for row in out["rows"] if row["path"].startswith("socket:")] == ["stays"], str(out["rows"]))
    check(out["umount"] == "umount OLD would fail now", out["umount"])


def test_interrupted(w):
    """A signal during the copy: auger removes everything it created, and the job does not notice."""
    p = writer(w)
    with open(f"{w.old}/large", "wb") as f:
        f.write(os.urandom(20 * MIB))
    write_more(w, p)
    for signal in (2, 15):
        a = subprocess.Popen([AUGER, "relocate", "--pid", str(p.pid), "--from", w.old, "--to", f"{w.new}/made",
                              "--bandwidth", "1"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not (os.path.exists(f"{w.new}/made/large") and os.path.getsize(f"{w.new}/made/large") > MIB):
            check(a.poll() is None, "it ended by itself")
            time.sleep(0.01)
        a.send_signal(signal)
        err = a.communicate(timeout=60)[1]
        check(a.returncode == 1 and "interrupted" in err, f"{a.returncode} {err}")
        check(is_empty(w.new), str(os.listdir(w.new)))
        write_more(w, p)
    finish(w, p, w.old)


def test_reused_inodes(w):
    """During the copy names get other files of other kinds, which reuse inode numbers."""
    link, kind, large = names_in_order(w.old, 3)  # the large one keeps the copy from its end
    os.symlink("one", f"{w.old}/{link}")
    os.mkfifo(f"{w.old}/{kind}")
    with open(f"{w.old}/{large}", "wb") as f:
        f.write(os.urandom(4 * MIB))
    p = w.job(NAMED)
    a = subprocess.Popen([AUGER, "relocate", "--pid", str(p.pid), "--from", w.old, "--to", w.new, "--bandwidth", "1"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not (os.path.lexists(f"{w.new}/{link}") and os.path.lexists(f"{w.new}/{kind}")):
        check(a.poll() is None, "it ended by itself")
        time.sleep(0.01)
    a.send_signal(19) # it must not come to its end
    for path in (f"{w.old}/{link}", f"{w.old}/{kind}"):
        os.unlink(path)
    os.symlink("two", f"{w.old}/{link}")
    with open(f"{w.old}/{kind}", "w", encoding="ascii") as f:
        f.write("a file")
    a.send_signal(18)
    err = a.communicate(timeout=60)[1]
    check(a.returncode == 0, err)
    check(tree(w.new) == tree(w.old), f"{tree(w.old)} {tree(w.new)}")


CHURN = """
import random, shutil
def churn():
    for k in range(10**9):
        folder, name, other = f"d{random.randrange(20)}", f"f{random.randrange(100)}", f"f{random.randrange(100)}"
        path = f"{folder}/{name}"
        def write():
            os.makedirs(folder, exist_ok=True)
            with open(path, "w") as f: f.write(str(k) * random.randrange(3000))
        try:
            random.choice([
                write, write, write, write,
                lambda: os.rename(path, f"d{random.randrange(20)}/{other}"), lambda: os.rename(folder, f"d{random.randrange(20)}"),
                lambda: os.unlink(path), lambda: os.unlink(path), lambda: os.mkfifo(folder + "/p" + other), lambda: os.symlink(str(k), path),
                lambda: os.link(path, f"d{random.randrange(20)}/{other}"), lambda: os.chmod(path, random.choice([0o600, 0o755])),
                lambda: os.setxattr(path, "user.k", str(k).encode()), lambda: os.truncate(path, random.randrange(5000)),
                lambda: k % 20 or shutil.rmtree(folder),
            ])()
        except OSError:
            pass
threading.Thread(target=churn, daemon=True).start()
"""


def test_churn(w):
    """Names of all kinds come and go during the copy, and stop before its end for the comparison."""
    p = w.job(CHURN)
    while sum(len(files) for _, _, files in os.walk(w.old)) < 20:
        time.sleep(0.01)
    with open(f"{w.old}/large", "wb") as f:
        f.write(os.urandom(2 * MIB))
    a = subprocess.Popen([AUGER, "relocate", "--pid", str(p.pid), "--from", w.old, "--to", w.new, "--bandwidth", "4"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not os.path.exists(f"{w.new}/large"):
        check(a.poll() is None, "it ended by itself")
        time.sleep(0.01)
    p.send_signal(19)
    err = a.communicate(timeout=120)[1]
    check(a.returncode == 0, err)
    old, new = tree(w.old), tree(w.new)
    check(old[0] == new[0], "\n".join(f"{n}: {old[0].get(n)} {new[0].get(n)}" for n in old[0].keys() | new[0].keys()
                                     if old[0].get(n) != new[0].get(n)))
    check(old[1] == new[1], f"other hard links: {[x for x in old[1] if x not in new[1]]} {[x for x in new[1] if x not in old[1]]}")


# As CHURN, but until the working directory is on NEW; then it prints what it did last, which may have been half done.
WATCHED = """
import random, shutil
def folder():
    used.append(f"d{random.randrange(20)}")
    return used[-1]
def name(): return f"{folder()}/f{random.randrange(30)}"
def write(path, k):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f: f.write(str(k) * random.randrange(3000))
def churn():
    dev = os.stat(".").st_dev
    for k in range(10**9):
        if os.stat(".").st_dev != dev: break
        used.clear()
        try:
            random.choice([
                lambda: write(name(), k), lambda: write(name(), k), lambda: write(name() + "/deep", k), lambda: os.rename(name(), name()),
                lambda: os.rename(folder(), folder()), lambda: os.unlink(name()), lambda: os.mkfifo(folder() + f"/p{k % 30}"), lambda: os.symlink(str(k), name()),
                lambda: os.link(name(), name()), lambda: os.chmod(name(), random.choice([0o600, 0o755])), lambda: os.mkdir(name()),
                lambda: os.setxattr(name(), "user.k", str(k).encode()), lambda: os.truncate(name(), random.randrange(5000)),
                lambda: os.chmod(folder(), random.choice([0o700, 0o755])), lambda: k % 9 or shutil.rmtree(folder()),
            ])()
        except OSError: pass
used = []
thread = threading.Thread(target=churn, daemon=True)
thread.start()
print("ready", flush=True)
sys.stdin.readline()
thread.join()
print(" ".join(used), flush=True)
sys.stdin.readline()
"""


def test_watched(w):
    """The pause visits only names that have changed, while names of all kinds come and go until it begins."""
    for i in range(3000):
        if i % 100 == 0:
            os.mkdir(f"{w.old}/s{i // 100}")
        with open(f"{w.old}/s{i // 100}/{i}", "w", encoding="ascii") as f:
            f.write(str(i))
    for i in range(4):
        new = f"{w.new}/{i}"
        os.mkdir(new)
        p = w.job(WATCHED + "#" + END)
        r = w.run("--pid", str(p.pid), "-f", "json", "--max-pause", "60000", new=new)
        check(r.returncode == 0, r.stderr)
        visited = json.loads(r.stdout)["visited_in_pause"]
        check(0 < visited < 2500, f"{visited} names were visited in the pause")
        p.stdin.write("\n")
        p.stdin.flush()
        last = p.stdout.readline().split()
        check(p.poll() is None, "the job has ended")
        trees = tree(w.old), tree(new)
        halves = {name for _, groups in trees for group in groups if any(n.split("/")[0] in last for n in group) for name in group}
        old, found = ({name: entry for name, entry in names.items() if name not in halves and name.split("/")[0] not in last + ["."]}
                      for names, _ in trees)
        # What was half done last may have added a name to, or taken one from, a group of hard links.
        bad = [n for n in old.keys() | found.keys() if old.get(n) != found.get(n) and
               not (old.get(n) and found.get(n) and len(old[n]) > 6 and old[n][:6] + old[n][7:] == found[n][:6] + found[n][7:])]
        check(not bad, "\n".join(f"{n}: {old.get(n)} {found.get(n)}" for n in bad))
        p.kill()
        p.wait()


def names_in_order(folder, count):
    """Names in the order of the directory: ext4 sorts by a hash that differs between file systems."""
    names = [f"name{i}" for i in range(count)]
    for name in names:
        with open(f"{folder}/{name}", "wb"):
            pass
    told = [name for name in os.listdir(folder) if name in names]
    for name in names:
        os.unlink(f"{folder}/{name}")
    return told


def test_deep(w):
    """Paths longer than PATH_MAX are copied, and removed again."""
    fd = os.open(w.old, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=fd)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    file = os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=fd)
    os.write(file, b"deep")
    os.link("file", "link", src_dir_fd=fd, dst_dir_fd=fd)
    os.close(file)
    os.close(fd)
    p = w.job(NAMED)
    before = tree(w.new)
    r = w.run("--pid", str(p.pid), env=unsafe("fsync", 2))
    check(r.returncode == 1 and r.stderr.count("\n") == 1, r.stderr)
    check(tree(w.new) == before, f"{os.listdir(w.new)}")
    moved(w, p)
    found = [subprocess.run(["find", top, "-type", "f", "-printf", "%f %s %n %d\\n"], check=True, capture_output=True).stdout
             for top in (w.old, w.new)]
    check(sorted(found[0].split(b"\n")) == sorted(found[1].split(b"\n")) and b"link 4 2 31" in found[0], str(found))


def kill_in_copy(w, p):
    """auger is killed when it has copied part of the last file."""
    a = subprocess.Popen([AUGER, "relocate", "--pid", str(p.pid), "--from", w.old, "--to", w.new, "--bandwidth", "2"],
                         stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    large = f"{w.new}/zz/large"
    while not (os.path.exists(large) and os.path.getsize(large) > MIB):
        check(a.poll() is None, "it ended by itself")
        time.sleep(0.01)
    a.send_signal(19) # it must not come to its end
    r = w.run("--pid", str(p.pid))
    check(r.returncode == 1 and f"process {a.pid} is moving a job to it" in r.stderr, r.stderr)
    a.kill()
    a.communicate(timeout=60)
    check(os.path.exists(f"{w.new}/.auger-relocate"), str(os.listdir(w.new)))


def fill_for_kill(w):
    fill(w.old)
    os.mkdir(f"{w.old}/zz")
    with open(f"{w.old}/zz/large", "wb") as f:
        f.write(os.urandom(24 * MIB))


def test_killed_undo(w):
    """--undo removes the leftovers of a killed copy and restores NEW; the job does not notice."""
    fill_for_kill(w)
    os.chown(w.new, 7, 8)
    os.setxattr(w.new, "user.new", b"\0two")
    os.utime(w.new, ns=(10**18, 10**18 + 5))
    before = tree(w.new)
    p = writer(w)
    for words in (["--to", w.new], ["--to", w.old]):
        r = subprocess.run([AUGER, "relocate", "--undo", *words], text=True, capture_output=True, check=False)
        check(r.returncode == 1 and "no leftovers of a killed move" in r.stderr, r.stderr)
    kill_in_copy(w, p)
    sh(AUGER, "relocate", "--undo", "--to", w.new)
    check(tree(w.new) == before, f"{before} {tree(w.new)}")
    write_more(w, p)
    finish(w, p, w.old)


def test_killed_again(w):
    """The same command continues a killed one, though OLD has changed; another command fails."""
    fill_for_kill(w)
    p = writer(w)
    kill_in_copy(w, p)
    made = os.stat(f"{w.new}/zz/large").st_ino
    os.unlink(f"{w.old}/a/size5")
    os.mkdir(f"{w.old}/a/size5")
    shutil.rmtree(f"{w.old}/odd")
    with open(f"{w.old}/a/size6", "r+b") as f:
        f.seek(2 * MIB)
        f.write(b"changed")
    write_more(w, p)
    os.mkdir(f"{w.old}/other")
    r = subprocess.run([AUGER, "relocate", "--pid", str(p.pid), "--from", f"{w.old}/other", "--to", w.new], text=True,
                       capture_output=True, check=False)
    check(r.returncode == 1 and "--undo removes them" in r.stderr, r.stderr)
    moved(w, p)
    check(os.stat(f"{w.new}/zz/large").st_ino == made, "it was copied anew")
    old, new = tree(w.old), tree(w.new)
    for found in (old, new):
        for name in ("data", "slots", "table", "was-gone"):
            found[0].pop(name, None)
    check(old[0] == new[0], "\n".join(f"{n}: {old[0].get(n)} {new[0].get(n)}" for n in old[0].keys() | new[0].keys()
                                     if old[0].get(n) != new[0].get(n)))
    check(old[1] == new[1], "other hard links")
    check(not [name for name in os.listdir(w.new) if name.startswith(".auger")], str(os.listdir(w.new)))
    leave(w)
    write_more(w, p)
    finish(w, p, w.new)


def test_planted(w):
    """A journal of another owner in NEW is an ordinary file."""
    p = w.job(NAMED)
    os.makedirs(f"{w.new}/sub")
    with open(f"{w.new}/sub/.auger-relocate", "w", encoding="ascii") as f:
        f.write(f"auger relocate 1 1\nold 0 0 2 {w.old}\nnew 0 0 0 0 700 0 0 0 0\nattrs \nend\n")
    os.chmod(f"{w.new}/sub/.auger-relocate", 0o600)
    os.chown(f"{w.new}/sub/.auger-relocate", 1234, 1234)
    refused(w, p, message="is not empty", new=f"{w.new}/sub")
    r = subprocess.run([AUGER, "relocate", "--undo", "--to", f"{w.new}/sub"], text=True, capture_output=True, check=False)
    check(r.returncode == 1 and os.listdir(f"{w.new}/sub") == [".auger-relocate"], r.stderr)


def test_full(w):
    """NEW runs full during the copy: the move is undone."""
    w.make(f"{w.top}/small", 16 * MIB)
    with open(f"{w.old}/large", "wb") as f:
        f.write(os.urandom(5 * MIB))
    p = w.job("""
out = open("data", "ab", 0)
def grow():
    while not is_over:
        if os.path.exists(small + "/made/large"): os.write(out.fileno(), b"x" * 100000) if out.tell() < 30 << 20 else time.sleep(0.01)
small = os.path.dirname(os.getcwd()) + "/small"
is_over = False
t = threading.Thread(target=grow, daemon=True); t.start()
""")
    r = w.run("--pid", str(p.pid), "--bandwidth", "2", new=f"{w.top}/small/made")
    check(r.returncode == 1 and "No space left" in r.stderr, r.stderr)
    check(is_empty(f"{w.top}/small"))
    check(links(p.pid)["cwd"] == w.old)


def unsafe(call="", at=0, user=-1, kib=0, files=0):
    return {"LD_PRELOAD": UNSAFE, "UNSAFE_CALL": call, "UNSAFE_AT": str(at), "UNSAFE_USER": str(user), "UNSAFE_KIB": str(kib),
            "UNSAFE_FILES": str(files), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def test_unsafe(w):
    """NEW fails to flush: before and in the pause the move is undone, after it there is a warning."""
    p = writer(w)
    write_more(w, p)
    before = tree(w.new)
    for call, at in (("syncfs", 1), ("fsync", 1), ("fsync", 2)):
        r = w.run("--pid", str(p.pid), env=unsafe(call, at))
        check(r.returncode == 1 and "Input/output error" in r.stderr and r.stderr.count("\n") == 1, f"{call} {at}: {r.stderr}")
        check(tree(w.new) == before, f"{call} {at}: {tree(w.new)}")
        check(state(p.pid)[1] == "0" and links(p.pid)["cwd"] == w.old)
        write_more(w, p)
    r = w.run("--pid", str(p.pid), env=unsafe("syncfs", 2))
    check(r.returncode == 0 and "its new storage fails" in r.stderr, r.stderr)
    leave(w)
    write_more(w, p)
    finish(w, p, w.new)


def test_hanging(w):
    """NEW's storage hangs in the pause: the job runs on with OLD, and --undo removes the copy."""
    p = writer(w)
    write_more(w, p)
    before = tree(w.new)
    r = w.run("--pid", str(p.pid), "--max-pause", "300", env=unsafe("hang", 2))
    check(r.returncode == 1 and "does not answer within --max-pause 300 ms" in r.stderr and r.stderr.count("\n") == 1, r.stderr)
    check(state(p.pid)[1] == "0" and links(p.pid)["cwd"] == w.old)
    write_more(w, p)
    r = subprocess.run([AUGER, "relocate", "--undo", "--to", w.new], capture_output=True, text=True, check=False)
    check(r.returncode == 0 and tree(w.new) == before, r.stderr + str(tree(w.new)))
    moved(w, p)
    write_more(w, p)
    finish(w, p, w.new)


SQLITE = """
import sqlite3
db = sqlite3.connect("base", isolation_level=None, check_same_thread=False)
db.execute("pragma locking_mode=%s")
db.execute("pragma journal_mode=%s")
db.execute("create table t (i integer)")
def write():
    i = 0
    while not is_over:
        db.execute("insert into t values (?)", (i,))
        os.write(log, struct.pack("<Q", i))
        i += 1
        time.sleep(0.001)
is_over = False
thread = threading.Thread(target=write)
thread.start()
""" + END + """
is_over = True
thread.join()
print("over", flush=True)
"""


def test_sqlite(w):
    """A writer with a rollback journal is refused, because SQLite checks the inode; with a write-ahead log it
    moves, and nothing is lost."""
    for locking in ("exclusive", "normal"):
        p = w.job(SQLITE % (locking, "delete"))
        write_more(w, p)
        for words in ([], ["--swap"]):
            r = w.run("--pid", str(p.pid), *words)
            check(r.returncode == 1 and "rollback journal" in r.stderr and is_empty(w.new), r.stderr)
            write_more(w, p)
        w.stop_jobs()
        os.unlink(f"{w.top}/job0.log")
        os.unlink(f"{w.old}/base")
    move_sqlite(w, "normal")


def test_sqlite_exclusive(w):
    """A write-ahead log and a lock that is never released."""
    move_sqlite(w, "exclusive")


def move_sqlite(w, locking):
    p = w.job(SQLITE % (locking, "wal"))
    write_more(w, p)
    rows = json.loads(w.run("--dry-run", "--pid", str(p.pid), "-f", "json").stdout)["rows"]
    check([row["state"] for row in rows if "SQLite" in (row["reason"] or "")] == ["note"], str(rows))
    moved(w, p, "--swap")
    w.mounts.append(w.old)
    write_more(w, p)
    p.stdin.write("\n")
    p.stdin.flush()
    check(p.stdout.readline() == "over\n", "the job did not end well")
    with contextlib.closing(sqlite3.connect(f"{w.new}/base")) as db:
        count = db.execute("select count(*), max(i) from t").fetchone()
        check(db.execute("pragma integrity_check").fetchone() == ("ok",), "damaged")
    check(count == (count[1] + 1, os.path.getsize(f"{w.top}/job0.log") // 8 - 1), str(count))


# Two processes that write to one database, each under the lock in memory that they share, and read what is there.
LMDB = """
import lmdb
child = os.fork()
if child == 0: libc.prctl(1, 9)
is_over = []
if child == 0: signal.signal(signal.SIGTERM, lambda *_: is_over.append(1))
def run(n):
    i = 0
    with lmdb.open("base", map_size=16 << 20, sync=False) as env:
        while not is_over:
            key = struct.pack(">QQ", n, i)
            with env.begin(write=True) as t:
                assert t.put(key, key * 10, overwrite=False)
            os.write(log, key)
            with env.begin() as t:
                assert t.get(key) == key * 10 and t.stat()["entries"] > i
            i += 1
            time.sleep(0.0005)
if child == 0:
    run(1)
    os._exit(0)
thread = threading.Thread(target=run, args=(0,))
thread.start()
""" + END + """
is_over.append(1)
thread.join()
os.kill(child, signal.SIGTERM)
print(os.waitpid(child, 0)[1], flush=True)
sys.stdin.readline()
"""


def test_lmdb(w):
    """LMDB: a mapped database, with a lock in shared memory of two processes; no transaction is lost."""
    try:
        import lmdb
    except ImportError:
        return
    p = w.job(LMDB)
    write_more(w, p)
    moved(w, p, "--swap")
    w.mounts.append(w.old)
    write_more(w, p)
    p.stdin.write("\n")
    p.stdin.flush()
    line = p.stdout.readline()
    check(line == "0\n", f"the jobs did not end well: {line!r}")
    with open(f"{w.top}/job0.log", "rb") as f:
        told = f.read()
    with lmdb.open(f"{w.new}/base", readonly=True) as env, env.begin() as t:
        found = dict(t.cursor())
    check({told[at:at + 16] for at in range(0, len(told), 16)} == found.keys(), f"{len(told) // 16} transactions, {len(found)} found")
    check(all(value == key * 10 for key, value in found.items()), "the database is not what was written")


# Four processes that append to one log, each through a description of its own; a database as LMDB has it: mapped for
# reading, written by pwrite; a memfd; a module that is imported by OLD's path after the move.
JOBS = """
import json, sys
sys.path.insert(0, os.getcwd())
open("early.py", "w").write("x = 1")
open("late.py", "w").write("import early; x = early.x + 1")
import early
sys.dont_write_bytecode = True
children = []
for n in range(4):
    if os.fork() == 0:
        libc.prctl(1, 9)
        out = os.open("many.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        signal.signal(signal.SIGTERM, lambda *_: is_over.append(1))
        is_over, i = [], 0
        while not is_over:
            os.write(out, b"%d %d\\n" % (n, i))
            i += 1
            time.sleep(0.0005)
        os.write(log, b"%d %d\\n" % (n, i))
        os._exit(0)
base = os.open("data.mdb", os.O_RDWR | os.O_CREAT)
os.pwrite(base, bytes(65536), 0)
view = mmap.mmap(base, 65536, prot=mmap.PROT_READ)
bad = []
def transact():
    i = 0
    while not is_ended:
        i += 1
        os.pwrite(base, struct.pack("<Q", i), i % 16 * 4096)
        if struct.unpack_from("<Q", view, i % 16 * 4096)[0] != i: bad.append(i)
        time.sleep(0.0005)
    children.append(i)
is_ended = []
thread = threading.Thread(target=transact)
thread.start()
anonymous = os.memfd_create("mine")
os.write(anonymous, b"memory")
while os.stat("many.log").st_size < 100: time.sleep(0.01)
""" + END + """
import late
is_ended.append(1)
thread.join()
print(json.dumps([late.x, late.__file__, bad, children[-1], os.pread(anonymous, 10, 0).decode()]), flush=True)
sys.stdin.readline()
"""


def test_jobs(w):
    """What people run: logs of several processes, databases, imports by path. Nothing is lost, and paths lead to NEW."""
    p = w.job(JOBS)
    with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
        children = [int(word) for word in f.read().split()]
    check(len(children) == 4, str(children))
    moved(w, p, "--swap")
    w.mounts.append(w.old)
    size = os.path.getsize(f"{w.new}/many.log")
    until = time.monotonic() + 30
    while os.path.getsize(f"{w.new}/many.log") < size + 500:
        check(time.monotonic() < until, "the children do not write any more")
        time.sleep(0.01)
    p.stdin.write("\n")
    p.stdin.flush()
    value, path, bad, count, anonymous = json.loads(p.stdout.readline())
    check((value, path, bad, anonymous) == (2, f"{w.old}/late.py", [], "memory"), f"{value} {path} {bad} {anonymous}")
    with open(f"{w.new}/data.mdb", "rb") as f:
        check(struct.unpack_from("<Q", f.read(), count % 16 * 4096)[0] == count, "the database is not what was written")
    for child in children:
        os.kill(child, 15)
    counts = {}
    while len(counts) < 4:
        check(time.monotonic() < until, "a child does not end")
        time.sleep(0.01)
        with open(f"{w.top}/job0.log", encoding="ascii") as f:
            counts = dict(map(int, line.split()) for line in f if line.endswith("\n"))
    with open(f"{w.new}/many.log", encoding="ascii") as f:
        lines = [tuple(map(int, line.split())) for line in f]
    for n in range(4):
        check([i for k, i in lines if k == n] == list(range(counts[n])), f"lines of {n} are lost, doubled or not in order")


REWRITER = """
out = open("large", "r+b", 0)
block = os.urandom(1 << 20)
def write():
    i = 0
    while not is_over:
        os.pwrite(out.fileno(), block, (i % 24) << 20)
        m[0:8] = struct.pack("<Q", i)
        i += 1
is_over = False
m = mmap.mmap(out.fileno(), 0)
thread = threading.Thread(target=write)
thread.start()
"""


def test_max_pause(w):
    """A job that changes too much for a pause of a millisecond goes on with OLD, and is moved in a longer one."""
    with open(f"{w.old}/large", "wb") as f:
        f.write(os.urandom(24 * MIB))
    p = w.job(REWRITER + END)
    before = tree(w.new)
    r = w.run("--pid", str(p.pid), "--max-pause", "1")
    check(r.returncode == 1 and "longer than --max-pause 1" in r.stderr and r.stderr.count("\n") == 1, r.stderr)
    check(tree(w.new) == before, str(tree(w.new)))
    check(state(p.pid)[1] == "0" and links(p.pid)["cwd"] == w.old)
    out = moved(w, p, "--max-pause", "60000")
    check(out["expected_pause_ns"] > 10**6, out["expected_pause_ns"])


def test_progress(w):
    """On a terminal auger shows the progress of the copy."""
    with open(f"{w.old}/large", "wb") as f:
        f.write(os.urandom(4 * MIB))
    p = w.job(NAMED)
    mine, its = os.openpty()
    r = subprocess.run([AUGER, "relocate", "--pid", str(p.pid), "--from", w.old, "--to", w.new, "--bandwidth", "4"], check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=its)
    os.close(its)
    text = os.read(mine, 65536).decode()
    os.close(mine)
    check(r.returncode == 0 and "\rcopying: " in text and " of 4 MiB" in text, repr(text))


def test_failed_report(w):
    """A table that cannot be written is not a failed move."""
    p = w.job(NAMED)
    with open("/dev/full", "w", encoding="ascii") as full:
        r = subprocess.run([AUGER, "relocate", "--pid", str(p.pid), "--from", w.old, "--to", w.new], text=True, stdout=full,
                           stderr=subprocess.PIPE, check=False)
    check(r.returncode == 0 and "the job was moved, but the report failed" in r.stderr, f"{r.returncode} {r.stderr}")
    check(links(p.pid)["cwd"] == w.new)


def test_only(w):
    """--only leaves descendants on OLD, unless they share a file."""
    p = w.job(NAMED + """
import subprocess
child = subprocess.Popen(["sleep", "1000"], close_fds=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
""")
    with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
        child = int(f.read())
    while os.readlink(f"/proc/{child}/exe") == os.readlink(f"/proc/{p.pid}/exe"):
        time.sleep(0.01)
    r = w.run("--dry-run", "--pid", str(p.pid), "-f", "json")
    check({row["pid"] for row in json.loads(r.stdout)["rows"]} == {p.pid, child}, r.stdout)
    out = moved(w, p, "--only")
    check({row["pid"] for row in out["rows"] if row["state"] == "moved"} == {p.pid}, str(out["rows"]))
    check(links(p.pid)["cwd"] == w.new and links(child)["cwd"] == w.old)
    check([(row["pid"], row["state"]) for row in out["rows"] if row["pid"] == child] == [(child, "note")], str(out["rows"]))
    w.stop_jobs()
    os.mkdir(f"{w.new}/sub")
    p = w.job(NAMED + "if os.fork() == 0: time.sleep(1000)")
    refused(w, p, "--only", message="moves that process, too", new=f"{w.new}/sub")


def test_formats(w):
    """Table, CSV and JSON have the same content."""
    p = w.job(NAMED)
    rows = json.loads(w.run("--dry-run", "--pid", str(p.pid), "-f", "json").stdout)["rows"]
    text = w.run("--dry-run", "--pid", str(p.pid), "-f", "csv").stdout
    table = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    check([{k: "" if v is None else str(v) for k, v in row.items()} for row in rows] == table, f"{rows} {table}")
    text = w.run("--dry-run", "--pid", str(p.pid)).stdout
    check(all(row["what"] in text and row["state"] in text for row in rows), text)


def test_verify(w):
    """--verify checksum finds that the storage of NEW returns other data than was written."""
    with open(f"{w.old}/large", "wb") as f:
        f.write(os.urandom(3 * MIB))
    p = w.job(NAMED)
    while time.time_ns() < os.stat(f"{w.old}/large").st_ctime_ns + 10**8: # what changed just before a look is not judged
        time.sleep(0.01)
    refused(w, p, "--verify", "checksum", message="returned other data", env=unsafe("spoil", 1))
    moved(w, p, "--verify", "checksum")
    check(tree(w.old)[0]["large"] == tree(w.new)[0]["large"])


def test_quota(w):
    """A quota on NEW that is too small for an owner of files: the move fails; if it fits, it succeeds."""
    with open(f"{w.old}/theirs", "wb") as f:
        f.write(os.urandom(3 * MIB))
    os.chown(f"{w.old}/theirs", 1234, 0)
    p = w.job(NAMED)
    for words in ([], ["--dry-run"]):
        refused(w, p, *words, message="3 MiB of user 1234, whose quota there leaves 1 MiB", env=unsafe(user=1234, kib=2048))
        refused(w, p, *words, message="1 files of user 1234, whose quota there leaves 0", env=unsafe(user=1234, files=1))
    moved(w, p, env=unsafe(user=1234, kib=3080, files=2))


def lsattr(top):
    """Inode flags (chattr) and project ids, by path; without those that ext4 sets itself."""
    lines = subprocess.run(["lsattr", "-R", "-p", "-a", top], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split(None, 2) for line in lines if line and not line.endswith(":")]
    return {os.path.relpath(path, top): (project, flags.replace("e", "").replace("-", "")) for project, flags, path in rows
            if not path.endswith("/..")}


def flag(w):
    """A tree with inode flags, and a job that appends to an append-only file."""
    p = writer(w)
    os.makedirs(f"{w.old}/sealed/below")
    for name in ("sealed/still", "fast", "other"):
        with open(f"{w.old}/{name}", "w", encoding="ascii") as f:
            f.write(name)
    os.link(f"{w.old}/sealed/still", f"{w.old}/again")
    for flags, name in (("+i", "sealed/still"), ("+i", "sealed"), ("+a", "data"), ("+dA", "fast"), ("+dS", "sealed/below")):
        sh("chattr", flags, f"{w.old}/{name}")
    return p


def unflag(top):
    for name in ("sealed", "again", "data"):
        if os.path.exists(f"{top}/{name}"):
            sh("chattr", "-ia", f"{top}/{name}")


def test_flags(w):
    """The move copies inode flags; undo removes files that are immutable already."""
    p = flag(w)
    before = tree(w.new)
    try:
        write_more(w, p)
        r = w.run("--pid", str(p.pid), env=unsafe("fsync", 2))
        check(r.returncode == 1 and r.stderr.count("\n") == 1, r.stderr)
        check(tree(w.new) == before, f"{tree(w.new)}")
        moved(w, p)
        old, new = lsattr(w.old), lsattr(w.new)
        check(old["data"][1] == "a" and old["again"][1] == "i" and old["fast"][1] == "dA", str(old))
        check(old == new, f"{old} {new}")
        write_more(w, p)
        finish(w, p, w.new)
    finally:
        unflag(w.old)
        unflag(w.new)


def test_projects(w):
    """The move copies project ids; where OLD has none, those inherited on NEW stay."""
    if not shutil.which("mkfs.xfs"):
        return # ext4 has them only where the kernel knows quotas
    w.old, w.new = f"{w.top}/xfs1", f"{w.top}/xfs2"
    w.make(w.old, 320 * MIB, kind="xfs")
    w.make(w.new, 320 * MIB, kind="xfs")
    os.makedirs(f"{w.old}/ours/below")
    sh("chattr", "-p", "42", "+P", f"{w.old}/ours")
    for name in ("ours/data", "data"):
        with open(f"{w.old}/{name}", "w", encoding="ascii") as f:
            f.write(name)
    os.mkdir(f"{w.new}/to")
    sh("chattr", "-p", "7", "+P", f"{w.new}/to")
    p = w.job(NAMED)
    out = w.run("--pid", str(p.pid), new=f"{w.new}/to")
    check(out.returncode == 0, out.stderr)
    new = lsattr(f"{w.new}/to")
    check(new["ours"] == ("42", "P") and new["ours/data"][0] == "42" and new["data"][0] == "7", str(new))


def test_failing_device(w):
    """NEW's device is smaller than its file system: data does not reach it. Leftovers may stay,
    because nothing can be written there any more."""
    os.mkdir(f"{w.top}/small")
    w.mount("-t", "tmpfs", "-o", "size=4m", "none", f"{w.top}/small")
    w.make(f"{w.top}/small/disk")
    with open(f"{w.old}/large", "wb") as f:
        f.write(os.urandom(20 * MIB))
    p = w.job(NAMED)
    before = links(p.pid)
    r = w.run("--pid", str(p.pid), new=f"{w.top}/small/disk/made")
    # The error depends on what fails first: content, the file system's journal or its superblock.
    last = r.stderr.splitlines()[-1]
    check(r.returncode == 1 and any(os.strerror(code) in last for code in (errno.EIO, errno.ENOSPC, errno.EROFS)), r.stderr)
    check(links(p.pid) == before and state(p.pid)[1] == "0")


def main():
    enter()
    os.environ["AUGER"] = AUGER
    tests = [value for name, value in globals().items() if name.startswith("test_") and name[5:] in (sys.argv[3:] or [name[5:]])]
    print(f"1..{len(tests)}")
    bad = 0
    top = tempfile.mkdtemp(prefix="auger-relocate-")
    os.chmod(top, 0o755)
    sh("mount", "-t", "tmpfs", "none", top)
    try:
        for i, test in enumerate(tests):
            w = None
            try:
                os.mkdir(f"{top}/{i}")
                w = World(f"{top}/{i}")
                test(w)
                print(f"ok {i + 1} - {test.__name__[5:]}", flush=True)
            except (AssertionError, OSError, subprocess.SubprocessError, KeyError, ValueError) as e:
                bad = 1
                print(f"not ok {i + 1} - {test.__name__[5:]}", flush=True)
                print(f"{test.__name__}: {e}\n{getattr(e, 'stderr', '')}", file=sys.stderr)
            finally:
                if w:
                    w.stop()
    finally:
        subprocess.run(["umount", "-l", top], check=False)
        os.rmdir(top)
    return bad


sys.exit(main())

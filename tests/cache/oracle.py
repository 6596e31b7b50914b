#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""oracle.py AUGER: a view of a folder beside the same folder mounted read-only, which is right by definition.

Every change in every wrong way, every mode for another user, locks between processes, reads of all
kinds in random order, programs and libraries that are run from it: equal results and errors.
"""
import contextlib
import errno
import fcntl
import itertools
import json
import mmap
import os
import random
import shutil
import subprocess
import sys

import views
from views import outcome

CHUNK = 1 << 20
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}


@contextlib.contextmanager
def read_only(bench):
    """The target, mounted read-only by the kernel."""
    path = f"{bench.dir}/oracle"
    os.mkdir(path)
    subprocess.run(["mount", "--bind", bench.target, path], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind,nosuid,nodev", path], check=True)
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(root):
    os.makedirs(f"{root}/folder/inner")
    for name in ("file", "folder/file", "other", "folder/inner/file"):
        with open(f"{root}/{name}", "wb") as f:
            f.write(b"some bytes")
    os.mkdir(f"{root}/empty")
    os.mkfifo(f"{root}/fifo")
    for name, to in (("link", "file"), ("broken", "none"), ("loop", "loop"), ("to-folder", "folder")):
        os.symlink(to, f"{root}/{name}")


NAMES = ["file", "folder", "empty", "fifo", "link", "broken", "loop", "to-folder", "none", "none/none", "file/none",
         "folder/file", "folder/none", "empty/", "file/", "none/", "to-folder/file", "n" * 255, "n" * 256, "folder/../file"]


def changes(root):
    """(name, call) of all calls that would change the folder."""
    opens = [os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT, os.O_RDWR | os.O_CREAT | os.O_EXCL,
             os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND, os.O_TMPFILE | os.O_RDWR]
    for name in NAMES:
        p = f"{root}/{name}"
        for flags in opens:
            yield f"open {name} {flags:o}", lambda p=p, flags=flags: os.close(os.open(p, flags | os.O_NONBLOCK, 0o600))
        for call, *args in ((os.unlink,), (os.rmdir,), (os.mkdir, 0o700), (os.mkfifo,), (os.truncate, 0), (os.chmod, 0o600),
                            (os.chown, 1, 1), (os.lchown, 1, 1), (os.utime,), (os.setxattr, "user.a", b"1"),
                            (os.removexattr, "user.a"), (os.mknod, 0o100600)):
            yield f"{call.__name__} {name}", lambda call=call, p=p, args=args: call(p, *args)
        yield f"symlink {name}", lambda p=p: os.symlink("x", p)
        yield f"access {name}", lambda p=p: [os.access(p, mode) for mode in range(8)]
        for other in ("file", "folder", "empty", "none", "link"):
            q = f"{root}/{other}"
            yield f"rename {name} {other}", lambda p=p, q=q: os.rename(p, q)
            yield f"link {name} {other}", lambda p=p, q=q: os.link(p, q, follow_symlinks=False)


def test_changes(bench):
    """Each fails as on a read-only file system, and changes nothing."""
    fill(bench.target)
    with read_only(bench) as oracle:
        bench.mount()
        want = [(name, outcome(call)) for name, call in changes(oracle)]
        got = [(name, outcome(call)) for name, call in changes(bench.view)]
        # An open of a file that is there anyway, or of a FIFO, is right; only its number differs.
        wrong = [(name, w, g) for (name, w), (_, g) in zip(want, got) if w != g]
        assert len(want) > 500 and not wrong, (len(wrong), wrong[:8])
        assert sorted(os.listdir(bench.target)) == sorted(os.listdir(bench.view))


def test_descriptors(bench):
    """Calls that fail on a descriptor for reading, and on one of a folder."""
    fill(bench.target)
    with read_only(bench) as oracle:
        bench.mount()

        def told(root):
            f, d = os.open(f"{root}/file", os.O_RDONLY), os.open(f"{root}/folder", os.O_RDONLY)
            try:
                return [outcome(call, *args) for call, *args in (
                    (os.write, f, b"x"), (os.ftruncate, f, 0), (os.fchmod, f, 0), (os.fchown, f, 1, 1), (os.fsync, f),
                    (os.fdatasync, f), (os.read, d, 10), (os.fsync, d), (os.read, f, 4), (os.lseek, f, 0, os.SEEK_END),
                    (os.pread, f, 10, 100), (os.posix_fadvise, f, 0, 0, os.POSIX_FADV_WILLNEED), (os.posix_fallocate, f, 0, 9),
                    (os.utime, f), (os.setxattr, f, "user.a", b"1"), (os.listdir, d), (os.fchdir, f),
                    (os.stat, f"/proc/self/fd/{f}/x"), (lambda fd: os.fstat(fd).st_size, f), (os.dup, -1),
                    (os.pwrite, f, b"x", 0), (os.truncate, f, 1))]
            finally:
                os.close(f)
                os.close(d)

        assert told(bench.view) == told(oracle), (told(bench.view), told(oracle))


LOOK_AS_NOBODY = r"""
import json, os, sys
def told(call, *args):
    try:
        r = call(*args)
        return r if isinstance(r, (bool, int, str, list)) else "ok"
    except OSError as e:
        return e.errno
def opened(path, flags):
    os.close(os.open(path, flags | os.O_NONBLOCK))
root = sys.argv[1]
out = []
for name in sys.argv[2:]:
    p = root + "/" + name
    out.append([name] + [told(c, *a) for c, *a in (
        (opened, p, os.O_RDONLY), (opened, p, os.O_WRONLY), (os.listdir, p), (os.stat, p), (os.stat, p + "/x"),
        (opened, p + "/x", os.O_RDONLY), (os.chdir, p), *((os.access, p, m) for m in range(8)), (os.readlink, p),
        (os.unlink, p), (os.mkdir, p + "/new"), (os.chmod, p, 0o777))])
    os.chdir("/")
print(json.dumps(out))
"""


def test_modes_for_others(bench):
    """Every mode of a file and of a folder, of three owners, seen by another user."""
    names = []
    for bits, owner in itertools.product(range(0, 0o1000, 0o7), ((0, 0), (65534, 0), (0, 65534))):
        for kind in "fd":
            names.append(f"{kind}{bits:03o}-{owner[0]}-{owner[1]}")
            path = f"{bench.target}/{names[-1]}"
            if kind == "d":
                os.mkdir(path)
            with open(path + "/x" if kind == "d" else path, "wb") as f:
                f.write(b"x")
            os.chown(path, *owner)
            os.chmod(path, bits)
    os.chmod(bench.dir, 0o755)
    with read_only(bench) as oracle:
        for options in ((), ("--exact",)):
            bench.mount("--allow-other", *options)
            want, got = (json.loads(subprocess.run(["/usr/bin/python3", "-c", LOOK_AS_NOBODY, root, *names], check=True, text=True,
                                                   capture_output=True, **NOBODY).stdout) for root in (oracle, bench.view))
            for w, g in zip(want, got):
                if w[2] == errno.EACCES and g[2] == errno.EROFS:
                    w[2] = g[2]  # a whole file system that is read-only says so first
            wrong = [(w, g) for w, g in zip(want, got) if w != g]
            assert len(got) == len(names) and not wrong, (len(wrong), wrong[:3])
            assert not bench.end()


LOCKS = r"""
import fcntl, os, struct, sys
def told(call, *args):
    try:
        call(*args)
        return 0
    except OSError as e:
        return e.errno
fd = os.open(sys.argv[1], os.O_RDONLY)
lock = lambda kind, command=fcntl.F_SETLK: fcntl.fcntl(fd, command, struct.pack("hhqqi", kind, 0, 0, 10, 0))
print([told(fcntl.flock, fd, fcntl.LOCK_SH | fcntl.LOCK_NB), told(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
       told(lock, fcntl.F_RDLCK), told(lock, fcntl.F_WRLCK)])
"""


def test_locks(bench):
    """Two processes lock a file, with the same results as on other file systems."""
    fill(bench.target)

    def told(root):
        rows = []
        for kind in (fcntl.LOCK_SH, fcntl.LOCK_EX, fcntl.LOCK_UN):
            with open(f"{root}/file", "rb") as f:
                fcntl.flock(f, kind)
                rows.append(subprocess.run(["/usr/bin/python3", "-c", LOCKS, f"{root}/file"], check=True, capture_output=True,
                                           text=True).stdout)
        return rows

    with read_only(bench) as oracle:
        bench.mount()
        assert told(bench.view) == told(oracle), (told(bench.view), told(oracle))


def read_some(rng, fd, size, folder):
    """Reads bytes of a file in one of several ways; returns them with their offset."""
    at, length = rng.randrange(size), rng.randrange(1, 300000)
    way = rng.randrange(6)
    if way == 0:
        return at, os.pread(fd, length, at)
    if way == 1:
        parts = [bytearray(rng.randrange(1, 9000)) for _ in range(rng.randrange(1, 20))]
        n = os.preadv(fd, parts, at)
        return at, b"".join(parts)[:n]
    if way in (2, 3):
        with mmap.mmap(fd, 0, flags=(mmap.MAP_SHARED, mmap.MAP_PRIVATE)[way - 2], prot=mmap.PROT_READ) as m:
            return at, m[at:at + length]
    if way == 4:
        os.posix_fadvise(fd, at, length, rng.choice((os.POSIX_FADV_DONTNEED, os.POSIX_FADV_WILLNEED)))
        return at, os.pread(fd, 10, at)
    with open(f"{folder}/sent{os.getpid()}", "w+b") as out:
        n = os.sendfile(out.fileno(), fd, at, length)
        return at, os.pread(out.fileno(), n, 0)


def read_randomly(path, want, seed, count, folder):
    rng, wrong = random.Random(seed), []
    with open(path, "rb", buffering=0) as f:
        for _ in range(count):
            at, got = read_some(rng, f.fileno(), len(want), folder)
            if not got or got != want[at:at + len(got)]:
                wrong.append((seed, at, len(got)))
    return wrong


def test_random_reads(bench):
    """Processes read a sparse file in all ways while its chunks are evicted."""
    rng = random.Random(7)
    want = bytearray(6 * CHUNK + 12345)
    for _ in range(40):
        at, length = rng.randrange(len(want)), rng.randrange(100000)
        want[at:at + length] = rng.randbytes(len(want[at:at + length]))
    with open(f"{bench.target}/file", "wb") as f:
        f.write(want)
    want = bytes(want)
    for options in (("--budget", "2M"), ("--budget", "2M", "--exact"), ("--max-file", "1M"), ()):
        bench.mount(*options)
        children = []
        for seed in range(4):
            pid = os.fork()
            if not pid:
                status = 1
                try:
                    status = 1 if read_randomly(f"{bench.view}/file", want, seed, 150, bench.dir) else 0
                finally:
                    os._exit(status)
            children.append(pid)
        assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4, options
        words = bench.end()
        assert not words, words


def test_programs(bench):
    """Programs and libraries of the view run, also as the interpreter of a script."""
    shutil.copy("/bin/cat", f"{bench.target}/cat")
    library = os.path.realpath("/lib/x86_64-linux-gnu/libz.so.1")
    if os.path.exists(library):
        shutil.copy(library, f"{bench.target}/libz.so")
    with open(f"{bench.target}/script", "w", encoding="ascii") as f:
        f.write(f"#!{bench.view}/cat\nline\n")
    for name in ("cat", "script"):
        os.chmod(f"{bench.target}/{name}", 0o755)
    bench.mount()
    done = subprocess.run([f"{bench.view}/script"], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("line\n"), done
    if os.path.exists(library):
        code = "import ctypes,sys; ctypes.CDLL(sys.argv[1]).zlibVersion; print(sys.argv[1] in open('/proc/self/maps').read())"
        done = subprocess.run(["/usr/bin/python3", "-c", code, f"{bench.view}/libz.so"], capture_output=True, text=True, check=True)
        assert done.stdout == "True\n", done


if os.geteuid() != 0:
    print("1..0 # SKIP needs root")
    sys.exit(0)
sys.exit(views.main(globals()))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cache.py AUGER: a view of a folder, and the folder itself as the oracle.

Every operation is made on both; results and errors must be equal. Mounts and daemons end with the
test, also when it fails.
"""
import contextlib
import errno
import mmap
import os
import random
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

import views
from views import outcome, run, usage

AUGER = views.AUGER
OPERATIONS = 20000
THREADS = 8
CHUNK = 1 << 20


def fill(root):
    """Folders, files of all kinds of sizes, links of both kinds, a hole, odd names, a FIFO, a socket."""
    rng = random.Random(1)
    for folder in ("a", "a/b", "a/b/c", "empty", "many", "odd"):
        os.makedirs(f"{root}/{folder}")
    sizes = [0, 1, 100, 4095, 4096, 4097, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 17]
    for i, size in enumerate(sizes):
        with open(f"{root}/a/size{i}", "wb") as f:
            f.write(rng.randbytes(size))
    for i in range(600):
        with open(f"{root}/many/file{i}", "wb") as f:
            f.write(rng.randbytes(rng.randrange(3000)))
    with open(f"{root}/a/b/hole", "wb") as f:
        f.seek(2 * CHUNK)
        f.write(b"end")
        f.truncate(5 * CHUNK)
    os.link(f"{root}/a/size3", f"{root}/a/b/hard")
    os.symlink("../size4", f"{root}/a/b/soft")
    os.symlink("/nowhere", f"{root}/a/dangling")
    os.symlink("../../a", f"{root}/a/b/up")
    for name in (b"new\nline", b"\xff\xfe", b"quo\"te", b"n" * 255, b"caf\xc3\xa9", b"cafe\xcc\x81"):
        with open(root.encode() + b"/odd/" + name, "wb") as f:
            f.write(name)
    os.mkfifo(f"{root}/odd/fifo")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(f"{root}/odd/socket")
    os.chmod(f"{root}/a/size2", 0o600)
    with contextlib.suppress(OSError):
        os.setxattr(f"{root}/a/size1", "user.colour", b"blue")
    shutil.copy("/bin/true", f"{root}/a/true")


def same_stat(path):
    s = os.lstat(path)
    return (s.st_mode, s.st_ino, s.st_nlink, s.st_uid, s.st_gid, s.st_rdev, s.st_size, s.st_mtime_ns, s.st_ctime_ns,
            s.st_blocks)


def entries(path):
    with os.scandir(path) as scan:
        return sorted((e.name, e.inode(), e.is_symlink(), e.is_dir(follow_symlinks=False), e.is_file(follow_symlinks=False))
                      for e in scan)


def read_at(path, where):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        return os.pread(fd, where[1], where[0])
    finally:
        os.close(fd)


def read_mapped(path, where):
    with open(path, "rb") as f:
        with mmap.mmap(f.fileno(), 0, flags=where[2], prot=mmap.PROT_READ) as m:
            return m[where[0]:where[0] + where[1]]


def find_holes(path, where):
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return None  # of a folder they mean nothing
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        return [os.lseek(fd, where[0], whence) for whence in (os.SEEK_DATA, os.SEEK_HOLE)]
    finally:
        os.close(fd)


def xattrs(path):
    return sorted((name, os.getxattr(path, name)) for name in os.listxattr(path))


class Differ(threading.Thread):
    def __init__(self, seed, target, view, paths, count, flags=(mmap.MAP_SHARED, mmap.MAP_PRIVATE)):
        super().__init__()
        self.rng = random.Random(seed)
        self.target, self.view, self.paths, self.count, self.flags = target, view, paths, count, flags
        self.wrong = []

    def pick(self):
        path = self.rng.choice(self.paths)
        if self.rng.random() < 0.2:
            path += self.rng.choice(("/none", ".missing", "/..", f"/x{self.rng.randrange(50)}"))
        return path

    def one(self):
        rng, path = self.rng, self.pick()
        where = (rng.randrange(4 * CHUNK) if rng.random() < 0.5 else rng.randrange(5000), rng.randrange(1, 200000),
                 rng.choice(self.flags))
        call, *args = rng.choice(((same_stat,), (same_stat,), (entries,), (os.readlink,), (read_at, where),
                                  (read_at, where), (read_mapped, where), (find_holes, where), (xattrs,),
                                  (os.access, os.R_OK), (os.access, os.X_OK)))
        want = outcome(call, self.target + path, *args)
        got = outcome(call, self.view + path, *args)
        if got != want:
            self.wrong.append((call.__name__, path, args, str(want)[:200], str(got)[:200]))

    def run(self):
        for _ in range(self.count):
            self.one()


def paths_of(root):
    found = [""]
    for folder, folders, files in os.walk(os.fsencode(root)):
        found += [os.fsdecode(os.path.join(folder, name))[len(root):] for name in folders + files]
    return sorted(p for p in found if not p.endswith(("/fifo", "/socket"))) + ["/odd/socket"]


def compare(bench, options, count=OPERATIONS, **more):
    fill(bench.target)
    bench.mount(*options)
    paths = paths_of(bench.target)
    differs = [Differ(i, bench.target, bench.view, paths, count // THREADS, **more) for i in range(THREADS)]
    for d in differs:
        d.start()
    for d in differs:
        d.join()
    wrong = [w for d in differs for w in d.wrong]
    words = bench.end()
    assert not wrong, f"{len(wrong)} differ: {wrong[:5]}"
    assert not words, words


def test_small_budget(bench):
    compare(bench, ["--budget", "1M"])


def test_exact(bench):
    """Before Linux 6.6, shared mappings fail in exact mode, as with Copper."""
    compare(bench, ["--exact", "--budget", "1M"], OPERATIONS // 4, flags=(mmap.MAP_PRIVATE,))


def test_passthrough(bench):
    """Backing files are filled, evicted and passed through, all the time."""
    compare(bench, ["--passthrough", "--budget", "12M"])


def test_short_lives(bench):
    compare(bench, ["--revalidate", "0.001", "--enoent-ttl", "0"], OPERATIONS // 4)


def test_not_kept(bench):
    compare(bench, ["--max-file", "3000", "--threads", "1"], OPERATIONS // 4)


def test_nothing_kept(bench):
    """No data is cached."""
    with open(f"{bench.target}/file", "w", encoding="ascii") as f:
        f.write("x")
    bench.mount("-max_cacheable_byte_size", "0")
    with open(f"{bench.view}/file", encoding="ascii") as f:
        assert f.read() == "x"
    assert usage(bench.view)["data"]["used_bytes"] == 0, usage(bench.view)


def test_read_only(bench):
    fill(bench.target)
    bench.mount()
    v = bench.view
    changes = (
        lambda: os.open(f"{v}/a/size1", os.O_WRONLY), lambda: os.open(f"{v}/new", os.O_CREAT | os.O_RDWR),
        lambda: os.unlink(f"{v}/a/size1"), lambda: os.mkdir(f"{v}/new"), lambda: os.rmdir(f"{v}/empty"),
        lambda: os.rename(f"{v}/a/size1", f"{v}/a/new"), lambda: os.chmod(f"{v}/a", 0), lambda: os.truncate(f"{v}/a/size1", 0),
        lambda: os.symlink("x", f"{v}/new"), lambda: os.link(f"{v}/a/size1", f"{v}/new"), lambda: os.utime(f"{v}/a"),
        lambda: os.mkfifo(f"{v}/new"), lambda: os.chown(f"{v}/a", 1, 1), lambda: os.setxattr(f"{v}/a", "user.x", b""))
    got = [outcome(c) for c in changes]
    assert got == [errno.EROFS] * len(changes), got
    assert not os.access(f"{v}/a/size1", os.W_OK)
    assert subprocess.run([f"{v}/a/true"], check=False).returncode in (0, 126)
    one, two = os.stat(f"{v}/a/size3"), os.stat(f"{v}/a/b/hard")
    assert (one.st_dev, one.st_ino, one.st_nlink) == (two.st_dev, two.st_ino, 2)
    fs, want = os.statvfs(v), os.statvfs(bench.target)
    assert (fs.f_bsize, fs.f_blocks, fs.f_files) == (want.f_bsize, want.f_blocks, want.f_files)
    with tempfile.TemporaryDirectory() as copy:
        subprocess.run(["cp", f"{v}/a/b/hole", copy], check=True, timeout=20)
        assert os.stat(f"{copy}/hole").st_size == 5 * CHUNK


def test_permissions(bench):
    """The view grants no access that the target denies, also when root serves it."""
    if os.geteuid() != 0:
        return
    fill(bench.target)
    os.mkdir(f"{bench.target}/closed", 0o700)
    with open(f"{bench.target}/closed/file", "w", encoding="ascii") as f:
        f.write("x")
    os.chmod(bench.dir, 0o755)
    bench.mount("--allow-other")
    script = "import os,sys\nfor p in ('a/size2','closed/file','closed','a/size1'):\n" \
             "  try: (os.listdir if p=='closed' else open)(sys.argv[1]+'/'+p); print('ok')\n  except OSError as e: print(e.errno)"
    for root in (bench.target, bench.view):
        said = subprocess.run(["/usr/bin/python3", "-c", script, root], user=65534, group=65534, extra_groups=[],
                              capture_output=True, text=True, check=True).stdout.split()
        assert said == ["13", "13", "13", "ok"], (root, said)


def test_not_itself(bench):
    """A view below its target is hidden in it, and a neighbor with a longer name is not."""
    inner = f"{bench.target}/in/view"
    os.makedirs(inner)
    os.mkdir(inner + "2")
    bench.mount(target=bench.target, view=inner)
    assert os.listdir(f"{inner}/in") == ["view2"]
    assert outcome(os.stat, f"{inner}/in/view") == errno.ENOENT
    assert stat.S_ISDIR(os.stat(f"{inner}/in/view2").st_mode)


def test_changes(bench):
    """Size and content are of one state of the file, however it changes."""
    path, seen = f"{bench.target}/file", f"{bench.view}/file"
    with open(path, "wb") as f:
        f.write(b"1" * 3 * CHUNK)
    bench.mount()
    assert os.stat(seen).st_size == 3 * CHUNK
    with open(path, "wb") as f:
        f.write(b"22")
    with open(seen, "rb") as f:
        first = outcome(f.read)
    assert first in (errno.ESTALE, errno.EIO, b"22"), first if isinstance(first, int) else (len(first), first[:20])
    time.sleep(0.2)
    with open(seen, "rb") as f:
        assert f.read() == b"22"
    assert os.stat(seen).st_size == 2


def test_awaited(bench):
    """A process that polls for one name sees the file when it appears."""
    bench.mount("--exact", "--enoent-ttl", "50")
    threads = [threading.Thread(target=lambda: [outcome(os.stat, f"{bench.view}/sub/done") for _ in range(20)]) for _ in range(4)]
    os.mkdir(f"{bench.target}/sub")
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(f"{bench.target}/sub/done", "w", encoding="ascii"):
        pass
    end = time.monotonic() + 15
    while outcome(os.stat, f"{bench.view}/sub/done") == errno.ENOENT:
        assert time.monotonic() < end, "it is not seen"
        time.sleep(0.02)


def test_revalidate(bench):
    path, seen = f"{bench.target}/file", f"{bench.view}/file"
    bench.mount("--revalidate", "0.2", "--enoent-ttl", "100")
    for _ in range(10):
        assert outcome(os.stat, seen) == errno.ENOENT
    assert os.listdir(bench.view) == []
    with open(path, "w", encoding="ascii") as f:
        f.write("one")
    time.sleep(0.4)
    with open(seen, encoding="ascii") as f:
        assert f.read() == "one"
    assert os.listdir(bench.view) == ["file"]
    with open(path, "w", encoding="ascii") as f:
        f.write("two and more")
    time.sleep(0.4)
    with open(seen, encoding="ascii") as f:
        assert f.read() == "two and more"
    os.unlink(path)
    time.sleep(0.4)
    assert outcome(os.stat, seen) == errno.ENOENT


def test_commands(bench):
    """The daemon: ready when mount returns, ended when umount does; busy views; killed daemons; foreign mounts."""
    fill(bench.target)
    done = run("mount", "-s", "-tpath", bench.target, "-vpath", bench.view, "-max_cacheable_byte_size", "10485760",
               "-md_enoent_ttl_ms", "2000", "-trees", "1", "--plus", "-o", "ro,allow_other", "-odefault_permissions", bench.view)
    bench.daemons.append((subprocess.Popen(["true"], stderr=subprocess.PIPE, text=True), bench.view))
    assert done.returncode == 0 and "ready after" in done.stderr, done
    assert sorted(os.listdir(bench.view)) == sorted(os.listdir(bench.target))
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        assert any(f" {bench.view} " in line and ",allow_other" in line for line in f)
    with open(f"{bench.view}/a/size5", "rb"):
        done = run("umount", bench.view)
        assert done.returncode == 1 and f" ({os.getpid()}); --lazy " in done.stderr, done
    assert run("umount", bench.view).returncode == 0
    assert os.listdir(bench.view) == []
    done = run("umount", bench.view)
    assert done.returncode == 1 and "no cache is mounted" in done.stderr, done
    done = run("mount", "--target", f"{bench.target}/none", bench.view)
    assert done.returncode == 1 and "No such file" in done.stderr, done


def test_keeps_nothing(bench):
    """The daemon holds no descriptor of the process that started it."""
    ours, theirs = os.pipe()
    with open(ours, "rb") as end:
        done = run("mount", "--target", bench.target, bench.view, pass_fds=(theirs,))
        os.close(theirs)
        try:
            assert done.returncode == 0 and select.select([end], [], [], 60)[0] and end.read() == b"", done
        finally:
            run("umount", bench.view)


def in_use(view, how):
    """A process that uses the view in one way until its standard input ends."""
    ways = {"folder": "import os; os.chdir(view)",
            "file": "f = open(f'{view}/a/size5')",
            "mapping": "import mmap; f = open(f'{view}/a/size5'); m = mmap.mmap(f.fileno(), 5, prot=mmap.PROT_READ); f.close()"}
    user = subprocess.Popen([sys.executable, "-c", f"import sys; view = sys.argv[1]; {ways[how]}; print('on', flush=True); "
                             "sys.stdin.read()", view], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert user.stdout.readline() == "on\n"
    return user


def test_ended_by_several(bench):
    """Two umounts of one view at the same time both succeed."""
    bench.mount()
    with open(f"{bench.target}/held", "w", encoding="ascii") as f:
        f.write("x")
    with open(f"{bench.view}/held", encoding="ascii"):
        ends = [subprocess.Popen([views.AUGER, "cache", "umount", bench.view], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                for _ in range(6)]
        time.sleep(0.1)
    words = [end.communicate()[1].strip() for end in ends]
    known = (f"auger cache umount: {bench.view}: no cache is mounted there", "in use by")  # came later; waited too long
    assert all(not said or said == known[0] or known[1] in said for said in words), words


def test_in_use(bench):
    """umount names the processes that use the view, and waits for those that exit."""
    fill(bench.target)
    for how in ("folder", "file", "mapping"):
        bench.mount()
        with in_use(bench.view, how) as user:
            done = run("umount", bench.view)
            assert done.returncode == 1 and f" ({user.pid}); --lazy " in done.stderr, (how, done)
            with subprocess.Popen([AUGER, "cache", "umount", bench.view]) as ending:
                user.stdin.close()
            assert ending.returncode == 0, how
        assert os.listdir(bench.view) == []
        bench.end()


def test_killed(bench):
    """A view whose daemon and guardian died can be unmounted, also while a process uses it."""
    fill(bench.target)
    daemon = bench.mount()
    fd = os.open(f"{bench.view}/a/size5", os.O_RDONLY)
    os.kill(views.guardian_of(daemon.pid), signal.SIGKILL)
    daemon.stderr.readline()
    daemon.kill()
    daemon.wait()
    assert outcome(os.statvfs, bench.view) == errno.ENOTCONN
    assert run("umount", bench.view).returncode == 0
    assert os.listdir(bench.view) == []
    outcome(os.close, fd)


def test_copies(bench):
    """An unused copy of the mount in another namespace does not keep the daemon."""
    daemon = bench.mount()
    with subprocess.Popen(["unshare", "-m", "sh", "-c", "echo on; read x"], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as other:
        if other.stdout.readline() == "on\n":  # else there are no name spaces
            assert run("umount", bench.view).returncode == 0
            assert daemon.wait(20) == 0
        other.stdin.close()


def test_terminated(bench):
    """SIGTERM unmounts, also a view in use, and names the processes that lose it."""
    fill(bench.target)
    daemon = bench.mount()
    fd = os.open(f"{bench.view}/a/size5", os.O_RDONLY)
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(20) == 0
    assert daemon.stderr.read() == f"auger: {bench.view}: unmounted while in use by python3 ({os.getpid()})\n"
    assert os.listdir(bench.view) == []
    outcome(os.close, fd)


sys.exit(views.main(globals()))

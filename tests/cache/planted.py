#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""planted.py AUGER OLD_KERNEL: what another user plants where a cache writes its files is refused, and the cache goes on.
Run as root: the cache is root's, and the other user is not."""
import contextlib
import errno
import fcntl
import os
import shutil
import socket
import stat
import subprocess
import sys

import views

AUGER, OLD_KERNEL = views.AUGER, sys.argv[2]
OTHER = 65534
SLOWEST = 2 << 30 | (8 + 5 * (16 + 1024)) << 16 | ord("a") << 8 | 2  # of control.h
# What the user does with a name: it must end in a refusal. `victim` is root's.
PLANT = {
    "symlink": os.symlink,
    "dangling": lambda victim, name: os.symlink(victim + ".new", name),
    "fifo": lambda victim, name: os.mkfifo(name),
    "file": lambda victim, name: Bench.write(name, "theirs"),
    "socket": lambda victim, name: os.mknod(name, stat.S_IFSOCK | 0o666),
    "folder": lambda victim, name: os.mkdir(name),
}
COMMAND = """import fcntl, os, sys
for number in sys.argv[2:]:
    try: print(fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), int(number), 0))
    except OSError as e: print(-e.errno)"""


@contextlib.contextmanager
def as_other():
    """With the rights of the other user."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(OTHER)
    os.seteuid(OTHER)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def commands_as_other(path, *numbers):
    done = subprocess.run(["/usr/bin/python3", "-c", COMMAND, path, *map(str, numbers)], user=OTHER, group=OTHER,
                          extra_groups=[], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
    return list(map(int, done.stdout.split()))


class Bench(views.Bench):
    """A job's folder below the target, where everybody may write, and a file that is root's."""

    def __init__(self):
        super().__init__()
        os.chmod(self.dir, 0o755)
        self.victim, self.job = f"{self.dir}/victim", f"{self.target}/job"
        self.write(self.victim, "precious")
        for folder in (self.target, f"{self.target}/sub", self.job, f"{self.job}/metrics"):
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, 0o777)
        self.write(f"{self.target}/sub/c", "c")
        self.write(f"{self.job}/metrics/.spec_ioctl_file", "")
        self.prefix = ()

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)

    def mount(self, *options, **more):
        """In the foreground, as views.Bench does, perhaps by an old kernel's rules."""
        daemon = subprocess.Popen([*self.prefix, AUGER, "cache", "mount", "--foreground", "--target", self.target, "--job-dir",
                                   self.job, *options, self.view], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, text=True, **more)
        self.daemons.append((daemon, self.view))
        line = daemon.stderr.readline()
        assert "ready after" in line, line
        self.rank = f"{socket.gethostname()}-{daemon.pid}"
        return daemon

    def plant(self, kind, path):
        with as_other():
            PLANT[kind](self.victim, path)

    def command(self, number, path="job/metrics/.spec_ioctl_file", flags=os.O_RDONLY):
        """The result of the ioctl, or the negative errno."""
        fd = os.open(f"{self.view}/{path}", flags)
        try:
            return fcntl.ioctl(fd, number, 0)
        except OSError as e:
            return -e.errno
        finally:
            os.close(fd)

    def check(self):
        """The victim is as it was, and the cache serves."""
        with open(self.victim, encoding="ascii") as f:
            assert f.read() == "precious"
        assert not os.path.exists(self.victim + ".new")
        with open(f"{self.view}/sub/c", encoding="ascii") as f:
            assert f.read() == "c"


def check_planted(bench, number, folder, base, kinds=tuple(PLANT)):
    """Each kind at the place of a command's file is an error with its reason, and nothing is written through it."""
    name = f"{bench.job}/{folder}/{bench.rank}-{base}"
    assert bench.command(number) == 0
    os.chmod(os.path.dirname(name), 0o777)
    for kind in kinds:
        os.unlink(name)
        bench.plant(kind, name)
        assert bench.command(number) == 1, (kind, number)
        told = views.run("snapshot", bench.view) if number == 2000 and kind == "fifo" else None
        assert not told or told.returncode == 1 and told.stderr.count("\n") == 1 and name in told.stderr, told
        bench.check()
        if kind == "folder":
            os.rmdir(name)
        elif kind == "file":
            with open(name, encoding="ascii") as f:
                assert f.read() == "theirs"
        if os.path.lexists(name):
            os.unlink(name)
        assert bench.command(number) == 0, (kind, number)
    assert stat.S_ISREG(os.lstat(name).st_mode) and os.lstat(name).st_uid == 0


def test_planted(bench):
    """By openat2, and component by component where a kernel or a container has none."""
    for bench.prefix in ((), (OLD_KERNEL, "ENOSYS"), (OLD_KERNEL, "EPERM")):
        bench.mount("--profile-top", "3", "--copper-files")
        check_planted(bench, 300, "metrics", "operation_count.output")
        if not bench.prefix:
            check_planted(bench, 2000, "tables/final", "cache_tables.output", ("symlink", "fifo"))
            check_planted(bench, 2000, "profiling/ioctl-snapshot", "ioctl-snapshot-profile.pb.gz", ("fifo", "file"))
        check_linked_folder(bench)
        bench.end()


def check_linked_folder(bench):
    """A folder of the job that became a link is not entered, not even at the unmount."""
    os.mkdir(f"{bench.dir}/elsewhere")
    for folder, number in (("metrics", None), ("tables", 2000), ("profiling", 2000)):
        os.rename(f"{bench.job}/{folder}", f"{bench.job}/{folder}.was")
        with as_other():
            os.symlink(f"{bench.dir}/elsewhere", f"{bench.job}/{folder}")
        if number:
            assert bench.command(number, "sub/c") == 1, folder
        bench.check()
        assert not os.listdir(f"{bench.dir}/elsewhere"), os.listdir(f"{bench.dir}/elsewhere")
        os.unlink(f"{bench.job}/{folder}")
        os.rename(f"{bench.job}/{folder}.was", f"{bench.job}/{folder}")
    os.rmdir(f"{bench.dir}/elsewhere")


def test_only_in_job(bench):
    """A dump is beside the file of the ioctl only in the job's folder. Elsewhere it goes to its tables."""
    bench.mount()
    for path in ("sub/c", "sub", ""):
        assert bench.command(300, path) == 0
        assert os.listdir(f"{bench.target}/sub") == ["c"] and sorted(os.listdir(bench.target)) == ["job", "sub"]
        os.unlink(f"{bench.job}/tables/final/{bench.rank}-operation_count.output")
    for path, folder in (("job/metrics/.spec_ioctl_file", "metrics"), ("job/metrics", ".")):
        assert bench.command(300, path) == 0
        os.unlink(f"{bench.job}/{folder}/{bench.rank}-operation_count.output")


def test_last_files(bench):
    """Planted at the places of the last files, which are written at the unmount: it ends, with a message."""
    for kind in ("symlink", "fifo"):
        daemon = bench.mount("--profile-top", "3")
        name = f"{bench.job}/profiling/final/{bench.rank}-profile.pb.gz"
        os.chmod(os.path.dirname(name), 0o777)
        bench.plant(kind, name)
        subprocess.run(["umount", bench.view], check=True)
        words = daemon.communicate(timeout=30)[1]
        assert daemon.returncode == 0 and name in words, (kind, daemon.returncode, words)
        os.unlink(name)
    with open(bench.victim, encoding="ascii") as f:
        assert f.read() == "precious"


def test_job_is_link(bench):
    """A link of another user in a shared folder is not followed to the job's folder."""
    shared = f"{bench.dir}/shared"
    os.mkdir(shared)
    os.chmod(shared, 0o1777)
    os.mkdir(f"{bench.dir}/elsewhere")
    with as_other():
        os.symlink(f"{bench.dir}/elsewhere", f"{shared}/job")
    done = views.run("mount", "--target", bench.target, "--job-dir", f"{shared}/job", "--profile", bench.view)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and f"{shared}/job" in done.stderr, done
    assert not os.listdir(f"{bench.dir}/elsewhere") and not os.path.ismount(bench.view)


def test_callers(bench):
    """Only the owner and root may dump, reset and control; the files of a command have the caller's group."""
    bench.mount("--allow-other", "--profile")
    path = f"{bench.view}/job/metrics/.spec_ioctl_file"
    numbers = (*range(100, 2600, 100), SLOWEST)
    assert commands_as_other(path, *numbers, 12345) == [-errno.EPERM] * len(numbers) + [-errno.ENOTTY]
    done = subprocess.run(["/usr/bin/python3", "-c", COMMAND, path, "300"], group=OTHER, extra_groups=[], capture_output=True,
                          text=True, check=True)
    assert done.stdout == "0\n", done
    written = os.stat(f"{bench.job}/metrics/{bench.rank}-operation_count.output")
    assert (written.st_uid, written.st_gid) == (0, OTHER), written
    assert bench.command(400) == 0  # the thread has its own rights again
    assert os.stat(f"{bench.job}/metrics/{bench.rank}-operation_time.output").st_gid == 0


def test_many_opens(bench):
    """10,000 files open for another user: the cache stays within its budget, and its owner is served."""
    for i in range(100):
        bench.write(f"{bench.target}/sub/{i}", "x" * 5000)
    for options in ((), ("--exact",)):
        daemon = bench.mount("--allow-other", "--budget", "4M", *options)
        hold = """import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
try:
    for i in range(10000): held.append(os.open(f"{sys.argv[1]}/sub/{i % 100}", os.O_RDONLY)); os.read(held[-1], 5000)
except OSError as e: print(e.errno)
print(len(held), flush=True)
sys.stdin.read()"""
        with subprocess.Popen(["/usr/bin/python3", "-c", "import os, sys\n" + hold, bench.view], user=OTHER, group=OTHER,
                              extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
            assert int(holder.stdout.readline()) > 9000
            with open(f"/proc/{daemon.pid}/status", encoding="ascii") as f:
                rss = next(int(line.split()[1]) for line in f if line.startswith("RssAnon:"))
            assert rss < 24 << 10 or views.is_sanitized(), rss
            bench.check()
            assert bench.command(300) == 0
            assert views.run("stats", bench.view).returncode == 0
            holder.stdin.close()
        bench.end()


def refused(call, *args):
    try:
        return call(*args)
    except OSError as e:
        return e.errno


def check_changes(bench, options):
    """All changes fail with EROFS, whatever the mode of the mount."""
    v = bench.view
    changes = [(os.open, f"{v}/sub/c", flags) for flags in (os.O_RDWR, os.O_WRONLY, os.O_RDONLY | os.O_TRUNC, os.O_RDWR | os.O_CREAT,
                                                            os.O_WRONLY | os.O_TRUNC | os.O_APPEND)]
    changes += [(os.open, f"{v}/sub/new", os.O_RDWR | os.O_CREAT), (os.mkdir, f"{v}/sub/new"), (os.unlink, f"{v}/sub/c"),
                (os.rmdir, f"{v}/job"), (os.symlink, "x", f"{v}/sub/new"), (os.link, f"{v}/sub/c", f"{v}/sub/new"),
                (os.rename, f"{v}/sub/c", f"{v}/sub/new"), (os.mknod, f"{v}/sub/new"), (os.mkfifo, f"{v}/sub/new"),
                (os.chmod, f"{v}/sub/c", 0o600), (os.chown, f"{v}/sub/c", 0, 0), (os.utime, f"{v}/sub/c"),
                (os.truncate, f"{v}/sub/c", 0), (os.setxattr, f"{v}/sub/c", "user.a", b"x"),
                (os.removexattr, f"{v}/sub/c", "user.a")]
    for call, *args in changes:
        assert refused(call, *args) == errno.EROFS, (options, call, args, refused(call, *args))
    script = "import ctypes, sys\nlibc = ctypes.CDLL(None, use_errno=True)\nfor p in sys.argv[1:]: print(libc.access(p.encode(), 2), ctypes.get_errno())"
    done = subprocess.run(["/usr/bin/python3", "-c", script, f"{v}/sub/c", f"{v}/sub"], capture_output=True, text=True, check=True)
    assert done.stdout == f"-1 {errno.EROFS}\n" * 2, done
    assert os.path.exists(f"{bench.target}/sub/c") and os.listdir(f"{bench.target}/sub") == ["c"]


def test_read_write(bench):
    """Copper's scripts open metrics/.spec_ioctl_file for reading and writing. All else stays read-only."""
    for options, is_copper in (((), True), (("--exact",), True), (("--copper-files",), True), (("--allow-other",), False)):
        bench.mount(*options)
        if is_copper:
            assert bench.command(300, flags=os.O_RDWR) == 0
            assert os.path.exists(f"{bench.job}/metrics/{bench.rank}-operation_count.output")
            fd = os.open(f"{bench.view}/job/metrics/.spec_ioctl_file", os.O_RDWR)
            assert refused(os.write, fd, b"x") == errno.EROFS and os.read(fd, 10) == b""
            os.close(fd)
        else:
            assert refused(os.open, f"{bench.view}/job/metrics/.spec_ioctl_file", os.O_RDWR) == errno.EROFS
        check_changes(bench, options)
        bench.end()
    os.rename(f"{bench.job}/metrics", f"{bench.target}/metrics")
    bench.daemons.append((subprocess.Popen([AUGER, "cache", "mount", "--foreground", "-t", bench.target, bench.view],
                                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True), bench.view))
    assert "ready after" in bench.daemons[-1][0].stderr.readline()
    before = os.listdir(f"{bench.target}/metrics")
    assert bench.command(300, "metrics/.spec_ioctl_file", os.O_RDWR) == 1  # there is no job's folder
    assert os.listdir(f"{bench.target}/metrics") == before
    check_changes(bench, "metrics in the target")
    bench.end()
    shutil.rmtree(f"{bench.target}/metrics")
    bench.mount()
    check_changes(bench, "no metrics")


if os.geteuid() != 0:
    print("1..0 # SKIP needs root")
    sys.exit(0)
sys.exit(views.run_tests([(n, t) for n, t in list(globals().items()) if n.startswith("test_")], Bench))

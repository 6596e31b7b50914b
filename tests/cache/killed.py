#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""killed.py AUGER FAULTY: a view ends with its daemon, however that ends, and whatever storage does.

A file system that hangs on demand is the target. Its requests cannot be interrupted, so a daemon that has some exits only
when storage replies; its view must be gone before.
"""
import ctypes
import errno
import os
import signal
import subprocess
import sys
import threading
import time

import views
from views import guardian_of, outcome

FAULTY = sys.argv[2]
SOON_S = 60  # for what takes a moment, on a machine that has other things to do
ENDS_S = 2  # for the end of a view, of a machine that has not; it is reported, and SOON_S is checked
READERS = 20
# The daemon leaves threads that hang behind: leak checkers would wait for them, or report them.
NO_LEAKS = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0",
                TSAN_OPTIONS=os.environ.get("TSAN_OPTIONS", "") + ":report_thread_leaks=0")
GONE = (errno.ENOTCONN, errno.ECONNABORTED)
LIBC = ctypes.CDLL(None, use_errno=True)
O_CLOEXEC = 0o2000000


class Target:
    """A folder behind a file system that hangs where a rule says so, and only until the test ends."""

    def __init__(self, bench):
        self.source, self.path, self.rules = f"{bench.dir}/source", bench.target, f"{bench.dir}/rules"
        os.mkdir(self.source)
        for i in range(READERS):
            with open(f"{self.source}/file{i}", "wb") as f:
                f.write(b"%d" % i * 1000)
        self.rule()
        self.process = subprocess.Popen([FAULTY, self.source, self.rules, self.path], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.ismount(self.path))

    def rule(self, *lines):
        with open(self.rules + ".new", "w", encoding="ascii") as f:
            f.write("".join(line + "\n" for line in lines))
        os.rename(self.rules + ".new", self.rules)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.rule()
        subprocess.run(["umount", "-l", self.path], stderr=subprocess.DEVNULL, check=False)
        self.process.kill()
        self.process.wait()


def wait_for(condition, within_s=SOON_S):
    """The seconds it took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < within_s, "it did not come in time"
        time.sleep(0.01)
    return time.monotonic() - begin


def is_mounted(path):
    """A stat of a view could hang."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return any(f" {path} " in line for line in f)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Readers:
    """Threads that read files of the view, all of which hang."""

    def __init__(self, bench, target, count=READERS):
        self.got = []
        target.rule("read file hang")
        self.threads = [threading.Thread(target=lambda i=i: self.got.append(outcome(read, f"{bench.view}/file{i}")))
                        for i in range(count)]
        for thread in self.threads:
            thread.start()
        wait_for(lambda: waits_in_fuse() >= count and has_open(bench.view) >= count)

    def join(self):
        for thread in self.threads:
            thread.join(SOON_S)
        assert len(self.got) == len(self.threads) and set(self.got) <= set(GONE), self.got


def waits_in_fuse():
    """How many threads of this process wait for a request or a page."""
    count = 0
    for tid in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{tid}/wchan", encoding="ascii") as f:
                count += f.read() in ("request_wait_answer", "folio_wait_bit_common", "__fuse_simple_request", "fuse_read_folio")
        except OSError:
            pass
    return count


def has_open(view):
    """How many files of the view this process has open."""
    count = 0
    for fd in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{fd}").startswith(f"{view}/")
        except OSError:
            pass
    return count


def ends_within(bench, what):
    """The view ends; reported on standard error."""
    took = wait_for(lambda: not is_mounted(bench.view))
    if took > ENDS_S:
        print(f"{what}: the view ended after {took:.1f} s", file=sys.stderr)


def test_idle(bench):
    """Nothing is left, in the foreground and in the background; the starter's pipes have ended before."""
    for background in (False, True):
        if background:
            assert views.run("mount", "--target", bench.target, bench.view).returncode == 0
            pid = views.daemon_of(bench.view)
        else:
            pid = bench.mount().pid
        other = guardian_of(pid)
        os.kill(pid, signal.SIGKILL)
        ends_within(bench, "idle")
        wait_for(lambda: not is_alive(other) and not is_alive(pid))
        bench.end()


def test_killed_with_its_group(bench):
    """The guardian is in a session of its own."""
    daemon = bench.mount(start_new_session=True)
    other = guardian_of(daemon.pid)
    wait_for(lambda: os.getsid(other) == other)
    os.killpg(daemon.pid, signal.SIGKILL)
    ends_within(bench, "with its group")
    wait_for(lambda: not is_alive(other))


def test_signals_to_the_guardian(bench):
    """It ignores what a batch system sends to all processes, and ends with an orderly daemon."""
    daemon = bench.mount()
    other = guardian_of(daemon.pid)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGURG):
        os.kill(other, number)
    assert views.run("stats", bench.view).returncode == 0 and is_alive(other) and is_mounted(bench.view)
    daemon.terminate()
    assert daemon.wait(SOON_S) == 0 and not is_alive(other) and not is_mounted(bench.view)


def test_guardian_killed(bench):
    """The daemon says so, and goes on."""
    daemon = bench.mount()
    os.kill(guardian_of(daemon.pid), signal.SIGKILL)
    assert "its guardian has ended" in daemon.stderr.readline()
    assert views.run("stats", bench.view).returncode == 0
    assert views.run("umount", bench.view).returncode == 0
    assert daemon.wait(SOON_S) == 0


def test_no_descriptors(bench):
    """No child of the daemon inherits a descriptor, and the guardian has but its own."""
    bench.mount("--job-dir", f"{bench.dir}/job", "--profile", "--log-level", "4", "--log-to", "file")
    os.listdir(bench.view)
    pid = bench.daemons[0][0].pid
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
            flags = next(int(line.split()[1], 8) for line in f if line.startswith("flags:"))
        assert int(fd) <= 2 or flags & O_CLOEXEC, (fd, os.readlink(f"/proc/{pid}/fd/{fd}"))
    other = guardian_of(pid)

    def strangers():
        links = [os.readlink(f"/proc/{other}/fd/{fd}") for fd in os.listdir(f"/proc/{other}/fd")]
        return len(links) > 6 or [link for link in links if link != "/dev/null" and not link.endswith("/abort")
                                  and not link.startswith(("pipe:", "anon_inode:[signalfd]"))]

    wait_for(lambda: not outcome(strangers))  # it may just have been forked
    assert os.readlink(f"/proc/{other}/cwd") == "/"


def test_another_mount(bench):
    """Only the daemon's own mount is detached, never one on top of it."""
    if os.geteuid() != 0:
        return  # may not mount
    daemon = bench.mount()
    other = guardian_of(daemon.pid)
    subprocess.run(["mount", "-t", "tmpfs", "none", bench.view], check=True)
    try:
        daemon.kill()
        daemon.wait()
        wait_for(lambda: not is_alive(other))
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            types = [line.split(" - ")[1].split()[0] for line in f if f" {bench.view} " in line]
        assert types == ["fuse.auger", "tmpfs"], types
        done = views.run("umount", bench.view)
        assert done.returncode == 1 and "no cache is mounted there" in done.stderr, done
    finally:
        subprocess.run(["umount", bench.view], check=True)
    assert views.run("umount", bench.view).returncode == 0 and not is_mounted(bench.view)


def test_readers(bench):
    """Readers of hanging storage get an error when the daemon is killed."""
    with Target(bench) as t:
        daemon = bench.mount("--storage-timeout", "300")
        other, readers = guardian_of(daemon.pid), Readers(bench, t)
        daemon.kill()
        ends_within(bench, "while readers wait")
        readers.join()
        wait_for(lambda: not is_alive(other))
        t.rule()
        assert daemon.wait(SOON_S) == -signal.SIGKILL


def hang_in_invalidation(bench):
    """A thread of the daemon waits for a page that a request for hanging storage has locked; or would, if the daemon sent
    invalidations regardless of its own requests."""
    reset = subprocess.Popen([views.AUGER, "cache", "reset", bench.view], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = views.daemon_of(bench.view)

    def is_stuck():
        for tid in os.listdir(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{tid}/stack", encoding="ascii") as f:
                    if "fuse_reverse_inval" in f.read():
                        return True
            except OSError:
                pass
        return False

    until = time.monotonic() + 1
    while not is_stuck() and time.monotonic() < until:
        time.sleep(0.01)
    return reset


def test_in_an_invalidation(bench):
    """A killed daemon that cannot exit, because it waits for its own readers, is freed."""
    if os.geteuid() != 0:
        return  # which thread is stuck cannot be seen
    with Target(bench) as t:
        daemon = bench.mount("--storage-timeout", "300")
        readers = Readers(bench, t, 4)
        reset = hang_in_invalidation(bench)
        daemon.kill()
        ends_within(bench, "in an invalidation")
        readers.join()
        reset.wait(SOON_S)
        t.rule()
        assert daemon.wait(SOON_S) == -signal.SIGKILL


def test_terminated_in_an_invalidation(bench):
    if os.geteuid() != 0:
        return
    with Target(bench) as t:
        daemon = bench.mount("--storage-timeout", "300")
        readers = Readers(bench, t, 4)
        reset = hang_in_invalidation(bench)
        daemon.terminate()
        ends_within(bench, "SIGTERM in an invalidation")
        readers.join()
        reset.wait(SOON_S)
        t.rule()
        assert daemon.wait(SOON_S) == 0


def test_terminated_while_readers_wait(bench):
    """SIGTERM ends the view, and the log names the processes that lose it."""
    with Target(bench) as t:
        daemon = bench.mount("--storage-timeout", "300")
        readers = Readers(bench, t)
        daemon.terminate()
        ends_within(bench, "SIGTERM while readers wait")
        readers.join()
        line = daemon.stderr.readline()
        assert f"unmounted while in use by python3 ({os.getpid()})" in line, line
        t.rule()
        assert daemon.wait(SOON_S) == 0


def test_umount_while_readers_wait(bench):
    """umount ends the view, names the processes that lose it, and the daemon that cannot exit yet."""
    with Target(bench) as t:
        daemon = bench.mount("--storage-timeout", "300", env=NO_LEAKS)
        readers = Readers(bench, t)
        done = subprocess.Popen([views.AUGER, "cache", "umount", bench.view], stdin=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
        ends_within(bench, "umount while readers wait")
        readers.join()
        words = done.communicate(timeout=SOON_S)[1]
        assert done.returncode == 0 and words.count("\n") == 2, (done.returncode, words)
        assert f"storage hangs; it is unmounted while in use by python3 ({os.getpid()})" in words, words
        assert f"its process {daemon.pid} stays until storage replies" in words, words
        t.rule()
        assert daemon.wait(SOON_S) == 0


def waits_for_storage(daemon):
    """Does a thread of the daemon wait for the target, which is a FUSE file system itself?"""
    tasks = f"/proc/{daemon}/task"
    return any("request_wait_answer" in open(f"{tasks}/{t}/wchan", encoding="ascii").read() for t in os.listdir(tasks))


def test_umount_without_users(bench):
    """The readers were killed; the threads that read for them are still there."""
    with Target(bench) as t:
        daemon = bench.mount("--storage-timeout", "300", env=NO_LEAKS)
        t.rule("getattr file hang")
        reader = subprocess.Popen(["stat", f"{bench.view}/file1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: "request_wait_answer" in open(f"/proc/{reader.pid}/wchan", encoding="ascii").read())
        wait_for(lambda: waits_for_storage(daemon.pid))
        reader.kill()
        assert reader.wait(SOON_S) == -signal.SIGKILL
        done = views.run("umount", bench.view)
        assert done.returncode == 0 and f"its process {daemon.pid} stays until storage replies" in done.stderr, done
        assert done.stderr.count("\n") == 1 and not is_mounted(bench.view), done
        t.rule()
        assert daemon.wait(SOON_S) == 0


def test_umount_while_it_replies(bench):
    """Storage that replies does not end a view in use."""
    with open(f"{bench.target}/file", "w", encoding="ascii") as f:
        f.write("x")
    bench.mount()
    with open(f"{bench.view}/file", encoding="ascii"):
        done = views.run("umount", bench.view)
        assert done.returncode == 1 and f"in use by python3 ({os.getpid()}); --lazy" in done.stderr, done
        assert is_mounted(bench.view)


def test_users_leave(bench):
    """SIGTERM waits for users that leave."""
    with open(f"{bench.target}/file", "w", encoding="ascii") as f:
        f.write("x" * 1000)
    daemon = bench.mount()
    with open(f"{bench.view}/file", encoding="ascii") as f:
        daemon.terminate()
        time.sleep(0.3)
        assert is_mounted(bench.view) and f.read() == "x" * 1000
    assert daemon.wait(SOON_S) == 0 and daemon.stderr.read() == ""


def test_mounted_twice(bench):
    """The same target: nothing to do. Another one: refused, with the process and its target."""
    daemon = bench.mount()
    done = views.run("mount", "--target", bench.target, bench.view)
    want = f"auger cache: {bench.view}: process {daemon.pid} already serves {bench.target} there\n"
    assert done.returncode == 0 and done.stderr == want and not done.stdout, done
    done = views.run("mount", "--target", "/usr", bench.view + "/../view/")
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done
    assert f"{bench.view}: process {daemon.pid} serves {bench.target} there; " in done.stderr, done
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        assert sum(f" {bench.view} " in line for line in f) == 1
    daemon.send_signal(signal.SIGSTOP)  # whoever mounts sends no request to it
    try:
        assert views.run("mount", "--target", bench.target, bench.view).stderr == want
    finally:
        daemon.send_signal(signal.SIGCONT)
    os.kill(guardian_of(daemon.pid), signal.SIGKILL)
    daemon.stderr.readline()
    daemon.kill()
    daemon.wait()
    assert is_mounted(bench.view)
    bench.daemons.clear()
    bench.mount()  # instead of the view of the dead daemon
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        assert sum(f" {bench.view} " in line for line in f) == 1


def test_mounted_at_once(bench):
    """Of several mounts at the same time, exactly one wins."""
    os.mkdir(f"{bench.dir}/other")
    for _ in range(5):
        mounts = [subprocess.Popen([views.AUGER, "cache", "mount", "--target", target, bench.view], stdin=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
                  for target in (bench.target, f"{bench.dir}/other") * 4]
        words = [m.communicate(timeout=60)[1] for m in mounts]
        try:
            assert sum("ready after" in w for w in words) == 1, words
            assert [m.returncode for m in mounts] == [0 if "serves" in w and "already" in w or "ready" in w else 1 for w in words], words
            with open("/proc/self/mountinfo", encoding="utf-8") as f:
                assert sum(f" {bench.view} " in line for line in f) == 1
        finally:
            assert views.run("umount", bench.view).returncode == 0
        assert not is_mounted(bench.view)


def test_odd_targets(bench):
    """The mount names its target, whatever that is called."""
    for name in ("a b", "a,b", "back\\slash", "new\nline", "#", "\u00fc", "x" * 200):
        target = f"{bench.dir}/{name}"
        os.mkdir(target)
        try:
            assert views.run("mount", "--target", target, bench.view).returncode == 0
            done = views.run("mount", "--target", target, bench.view)
            assert done.returncode == 0 and "already serves" in done.stderr, (name, done)
        finally:
            views.run("umount", bench.view)


sys.exit(views.main(globals(), may_speak=("test_readers", "test_in_an_invalidation", "test_terminated_in_an_invalidation",
                                          "test_terminated_while_readers_wait", "test_umount_while_readers_wait",
                                          "test_umount_without_users")))

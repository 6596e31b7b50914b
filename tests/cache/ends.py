#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ends.py AUGER: a mount ends in order, and commands get a reply, whatever else happens."""
import ctypes
import errno
import fcntl
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import views

PATIENCE_S = 60
FILES = 8000
CLEAR = 100  # the number of the order, as src/cachefs/fuse/control.h has it
LIBC = ctypes.CDLL(None)
ASK = """import os, sys
i = 0
print(flush=True)
while True:
    try:
        os.stat(f"{sys.argv[1]}/folder/{i % int(sys.argv[2])}")
    except OSError:
        break
    i += 7
"""


def terminate(daemon, view):
    """Its exit status, within a time limit. Then the mount is forced to end."""
    daemon.send_signal(signal.SIGTERM)
    try:
        return daemon.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        subprocess.run(["umount", "-f", view], stderr=subprocess.DEVNULL, check=False)
        return "it did not end"


def test_while_it_forgets(bench):
    """While the kernel waits to invalidate a name, a daemon that ends still serves lookups."""
    os.mkdir(f"{bench.target}/folder")
    for i in range(FILES):
        os.close(os.open(f"{bench.target}/folder/{i}", os.O_WRONLY | os.O_CREAT, 0o644))
    for _ in range(4):
        daemon = bench.mount()
        for i in range(FILES):
            os.stat(f"{bench.view}/folder/{i}")
        ask = [subprocess.Popen([sys.executable, "-c", ASK, bench.view, str(FILES)], stdout=subprocess.PIPE)
               for _ in range(3)]
        for process in ask:
            process.stdout.readline()
        reset = subprocess.Popen([views.AUGER, "cache", "reset", bench.view], stderr=subprocess.DEVNULL)
        threading.Event().wait(0.01)  # any moment is a good one
        status = terminate(daemon, bench.view)
        for process in ask + [reset]:
            process.communicate(timeout=PATIENCE_S)
        assert status == 0, status
        bench.end()


def test_while_it_reads(bench):
    """Requests that are parked at the end are answered, and no thread is left behind."""
    os.mkdir(f"{bench.target}/folder")
    for i in range(FILES):
        os.close(os.open(f"{bench.target}/folder/{i}", os.O_WRONLY | os.O_CREAT, 0o644))
    for _ in range(10):
        daemon = bench.mount("--exact", "--revalidate", "0.001")
        ask = [subprocess.Popen([sys.executable, "-c", ASK, bench.view, str(FILES)], stdout=subprocess.PIPE)
               for _ in range(4)]
        for process in ask:
            process.stdout.readline()
        status = terminate(daemon, bench.view)
        for process in ask:
            process.communicate(timeout=PATIENCE_S)
        assert status == 0, status
        words = bench.end()
        assert not words, words


def test_at_once(bench):
    """A signal right after the mount unmounts it."""
    for _ in range(10):
        daemon = subprocess.Popen([views.AUGER, "cache", "mount", "--foreground", "--target", bench.target, bench.view],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        bench.daemons.append((daemon, bench.view))
        while daemon.poll() is None and bench.view not in open("/proc/self/mounts", encoding="utf-8").read():
            pass
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(PATIENCE_S) == 0
        assert bench.view not in open("/proc/self/mounts", encoding="utf-8").read()
        bench.daemons.clear()


def test_never_away(bench):
    """From the mount on, every process sees the target there: also while its root is replaced (Linux 6.5)."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 5):
        return
    os.mkdir(f"{bench.target}/folder")
    for _ in range(20):
        seen, is_over = [], threading.Event()

        def look():
            while not is_over.is_set():
                seen.append(os.path.exists(f"{bench.view}/folder"))

        looker = threading.Thread(target=look)
        looker.start()
        bench.mount()
        is_over.set()
        looker.join()
        assert (True, False) not in zip(seen, seen[1:]), len(seen)
        bench.end()


def test_unmounted_at_once(bench):
    """An unmount right after the mount: the daemon reports it, and leaves no thread behind."""
    for _ in range(20):
        daemon = subprocess.Popen([views.AUGER, "cache", "mount", "--foreground", "--target", bench.target, bench.view],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        bench.daemons.append((daemon, bench.view))
        until = time.monotonic() + PATIENCE_S
        while daemon.poll() is None and time.monotonic() < until:
            LIBC.umount2(os.fsencode(bench.view), 0)
        words = daemon.communicate(timeout=PATIENCE_S)[1].splitlines()
        for line in words:
            assert "the mount ended before the kernel sent a request" in line or "ready after" in line or \
                "unmounted before it was ready" in line, words
        bench.daemons.clear()


def test_few_files(bench):
    """With any limit of open files, it mounts and ends in order, or prints an error."""
    mounted = 0
    for files in range(5, 20):
        limit = f"ulimit -n {files}; exec \"$@\""
        daemon = subprocess.Popen(["sh", "-c", limit, "-", views.AUGER, "cache", "mount", "--foreground", "--target", bench.target,
                                   bench.view], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        words = daemon.stderr.readline()
        while words and "ready after" not in words:
            words = daemon.stderr.readline()
        daemon.send_signal(signal.SIGTERM)
        words = daemon.communicate(timeout=PATIENCE_S)[1]
        mounted += not words and daemon.returncode == 0
        assert "hangs" not in words, (files, words)
        subprocess.run(["umount", "-l", bench.view], stderr=subprocess.DEVNULL, check=False)
    assert mounted > 5, mounted


def test_no_file_is_left(bench):
    """A command that fails for lack of a descriptor gets a reply, whichever thread reads it."""
    for i in range(50):
        os.close(os.open(f"{bench.target}/{i}", os.O_WRONLY | os.O_CREAT, 0o644))
    daemon = bench.mount("--exact")
    fd = os.open(bench.view, os.O_RDONLY)
    for i in range(2000):
        os.stat(f"{bench.view}/{i % 50}")
    before = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (3, before[1]))
    got = views.outcome(fcntl.ioctl, fd, CLEAR)
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, before)
    assert got in (0, errno.EMFILE), got
    os.close(fd)


sys.exit(views.main(globals()))

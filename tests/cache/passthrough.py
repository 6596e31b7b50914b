#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""passthrough.py AUGER: --passthrough: files are correct however they were opened, stay while they are open, and leave
nothing behind. Stopping the daemon proves that the kernel sends no requests."""
import contextlib
import errno
import mmap
import os
import random
import resource
import signal
import subprocess
import sys
import time
import threading

import views

MIB = 1 << 20
LARGE = 5 * MIB + 123
COPIES = 12


def fill(bench, **sizes):
    for name, size in sizes.items():
        with open(f"{bench.target}/{name}", "wb") as f:
            f.write(os.urandom(size))


def fill_old(bench, **sizes):
    """Files that are old enough: data that was read within two seconds of a change is read again later, by the daemon."""
    fill(bench, **sizes)
    newest = max(os.stat(f"{bench.target}/{name}").st_ctime for name in sizes)
    time.sleep(max(0, newest + 2.1 - time.time()))


def wanted(bench, name):
    with open(f"{bench.target}/{name}", "rb") as f:
        return f.read()


def check(bench, name):
    """Opens, reads and closes a file of the view."""
    with open(f"{bench.view}/{name}", "rb") as f:
        assert f.read() == wanted(bench, name), name


def content(fd):
    """Reads and maps work; no page of the file is in the view's own page cache."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    size = os.fstat(fd).st_size
    read = b"".join(os.pread(fd, MIB, at) for at in range(0, size, MIB))
    with mmap.mmap(fd, size, prot=mmap.PROT_READ) as mapped:
        assert mapped[:] == read
    return read


@contextlib.contextmanager
def opened(bench, name):
    fd = os.open(f"{bench.view}/{name}", os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def stopped(daemon):
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(daemon.pid, signal.SIGCONT)


def read_stopped(daemon, fd):
    """What a process reads while the daemon is stopped; None: it waits for the daemon. It can be killed then."""
    os.fstat(fd)  # the kernel keeps the attributes for a while
    with stopped(daemon):
        code = f"import passthrough; import sys; sys.stdout.buffer.write(passthrough.content({fd}))"
        try:
            return subprocess.run([sys.executable, "-c", code, views.AUGER], pass_fds=[fd], cwd=os.path.dirname(__file__), timeout=8,
                                  capture_output=True, check=True).stdout
        except subprocess.TimeoutExpired:
            return None


def read_passed(daemon, fd):
    """The same, tried again: the attributes that the kernel keeps may have expired before they were needed."""
    got = None
    for _ in range(4):
        got = got or read_stopped(daemon, fd)
    return got


def check_passed(bench, daemon, name):
    """A process reads with the daemon stopped. The kernel reports closes later, so an open may come before the last close of those
    that are not passed."""
    got = []
    while not got or (got[-1] is None and len(got) < 4):
        time.sleep(0.2 * len(got))
        with opened(bench, name) as fd:
            got.append(read_stopped(daemon, fd))
    assert got[-1] == wanted(bench, name), (name, len(got))


def data_bytes(bench):
    return views.usage(bench.view)["data"]["used_bytes"]


def reset(bench):
    done = views.run("reset", bench.view)
    assert done.returncode == 0, done


def check_nothing_left(bench):
    """After a reset, and the last closes, which the kernel reports later."""
    until = time.monotonic() + 20
    reset(bench)
    while data_bytes(bench) and time.monotonic() < until:
        reset(bench)
    assert data_bytes(bench) == 0, data_bytes(bench)


def test_without_us(bench):
    fill_old(bench, large=LARGE, whole=2 * MIB, least=MIB)
    daemon = bench.mount("--passthrough")
    for name in ("large", "whole", "least"):
        check(bench, name)
        check_passed(bench, daemon, name)


def test_small_files_and_folders(bench):
    fill(bench, empty=0, small=10, less=MIB - 1)
    os.mkdir(f"{bench.target}/folder")
    bench.mount("--passthrough")
    for _ in range(3):
        for name in ("empty", "small", "less"):
            check(bench, name)
        assert sorted(os.listdir(bench.view)) == ["empty", "folder", "less", "small"]
    assert views.outcome(os.open, f"{bench.view}/none", os.O_RDONLY) == errno.ENOENT
    with opened(bench, "folder") as fd:
        assert views.outcome(os.read, fd, 1) == errno.EISDIR
    assert views.outcome(os.open, f"{bench.view}/small", os.O_RDWR) == errno.EROFS


def test_who_came_first_decides(bench):
    """A file opened before it was cached: all its opens send requests until the last close."""
    fill_old(bench, large=LARGE)
    daemon = bench.mount("--passthrough")
    with opened(bench, "large") as first:
        check(bench, "large")
        with opened(bench, "large") as second:
            assert content(first) == content(second) == wanted(bench, "large")
    check_passed(bench, daemon, "large")
    with opened(bench, "large") as first:
        check(bench, "large")
        check_passed(bench, daemon, "large")
        assert content(first) == wanted(bench, "large")


def test_held_stays(bench):
    """Other files use the rest of the budget."""
    fill_old(bench, held=4 * MIB, **{f"f{i}": 3 * MIB + i for i in range(COPIES)})
    daemon = bench.mount("--passthrough", "--budget", "8M")
    check(bench, "held")
    with opened(bench, "held") as fd:
        for i in random.Random(1).choices(range(COPIES), k=4 * COPIES):
            check(bench, f"f{i}")
        assert read_passed(daemon, fd) == wanted(bench, "held")


def test_larger_than_budget(bench):
    fill(bench, large=LARGE)
    bench.mount("--passthrough", "--budget", "2M")
    for _ in range(3):
        with opened(bench, "large") as fd:
            assert content(fd) == wanted(bench, "large")


def test_reset(bench):
    """After a reset, open files can be read; nothing is left after the last close."""
    fill_old(bench, large=LARGE)
    daemon = bench.mount("--passthrough")
    check(bench, "large")
    with opened(bench, "large") as fd:
        reset(bench)
        assert content(fd) == wanted(bench, "large"), "after a reset"
        check(bench, "large")
        assert read_passed(daemon, fd) == wanted(bench, "large"), "daemon stopped"
    check_nothing_left(bench)
    check(bench, "large")
    check_passed(bench, daemon, "large")


def test_many_at_once(bench):
    """Random opens, mappings, closes and exits, with resets in between."""
    names = [f"f{i}" for i in range(4)]
    fill(bench, **{name: 2 * MIB + i for i, name in enumerate(names)})
    bench.mount("--passthrough", "--budget", "9M")
    want = {name: wanted(bench, name) for name in names}

    def work(seed):
        dice = random.Random(seed)
        for _ in range(60):
            name = dice.choice(names)
            with opened(bench, name) as fd:
                at = dice.randrange(len(want[name]))
                wrong.extend([name] * (os.pread(fd, 100_000, at) != want[name][at:at + 100_000]))
                if dice.random() < 0.3:
                    wrong.extend([name] * (content(fd) != want[name]))
                if dice.random() < 0.1:
                    subprocess.run(["head", "-c", "1500000"], stdin=fd, stdout=subprocess.DEVNULL, check=True)
            if dice.random() < 0.02:
                reset(bench)

    wrong = []
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong
    check_nothing_left(bench)


def memfds(daemon):
    fds = f"/proc/{daemon.pid}/fd"
    return sum("memfd:auger-cache" in str(views.outcome(os.readlink, f"{fds}/{fd}")) for fd in os.listdir(fds))


def test_few_descriptors(bench):
    """Of 40 cached files, those that were used last are passed through; all can be read."""
    names = [f"f{i}" for i in range(40)]
    fill_old(bench, **{name: MIB for name in names})
    daemon = bench.mount("--passthrough", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    for name in names:
        check(bench, name)
        assert memfds(daemon) <= 16, memfds(daemon)
    check_passed(bench, daemon, names[-16])
    for name in names[16:]:  # from the oldest on: only the last ones have descriptors
        check(bench, name)
    check_passed(bench, daemon, names[-1])
    check(bench, names[0])
    assert memfds(daemon) <= 16, memfds(daemon)


def test_killed(bench):
    """A process killed during an open leaves nothing behind."""
    fill(bench, large=LARGE)
    bench.mount("--passthrough")
    check(bench, "large")
    loop = "import os, sys\nwhile True: os.close(os.open(sys.argv[1], os.O_RDONLY)); sys.stdout.write('.'); sys.stdout.flush()"
    for _ in range(10):
        with subprocess.Popen([sys.executable, "-c", loop, f"{bench.view}/large"], stdout=subprocess.PIPE) as p:
            p.stdout.read(1)
            p.kill()
    check_nothing_left(bench)


def test_programs(bench):
    subprocess.run(["cp", "-L", os.path.realpath("/usr/bin/python3"), f"{bench.target}/program"], check=True)
    libc = next(line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "libc.so" in line)
    subprocess.run(["cp", "-L", libc, f"{bench.target}/library"], check=True)
    bench.mount("--passthrough")
    for _ in range(3):
        done = subprocess.run([f"{bench.view}/program", "-c", "print(open('/proc/self/maps').readline().split()[-1])"],
                              capture_output=True, text=True, check=True)
        assert done.stdout.strip() == f"{bench.view}/program", done.stdout
        check(bench, "library")
        subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL('{bench.view}/library')"], check=True)


def test_end_while_open(bench):
    """After a lazy unmount and the end of the daemon, open files can be read to their end."""
    fill_old(bench, large=LARGE)
    daemon = bench.mount("--passthrough")
    check(bench, "large")
    check_passed(bench, daemon, "large")
    with opened(bench, "large") as fd:
        daemon.terminate()
        daemon.wait(60)
        assert "unmounted while in use by" in daemon.stderr.read()
        assert content(fd) == wanted(bench, "large")


def test_refused(bench):
    for options, words in ((["--exact"], "exclude each other"), (["--revalidate", "3"], "exclude each other"),
                           (["--profile-paths", "--job-dir", bench.dir], "exclude each other")):
        done = views.run("mount", "--passthrough", "--target", bench.target, *options, bench.view)
        assert done.returncode == 2 and words in done.stderr, done
    done = subprocess.run(["setpriv", "--bounding-set", "-sys_admin", views.AUGER, "cache", "mount", "--passthrough", bench.view],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "root" in done.stderr and done.stderr.count("\n") == 1, done


if __name__ == "__main__":
    sys.exit(views.main(globals()))

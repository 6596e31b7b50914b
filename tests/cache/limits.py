#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""limits.py AUGER: a daemon with limits of addresses, open files and file size (ulimit -v, -n, -f)."""
import concurrent.futures
import errno
import os
import resource
import signal
import sys

from views import main, run

MIB = 1 << 20
SMALL = 200  # files


def fill(bench):
    """A large file and small ones; their contents by name."""
    contents = {"large": os.urandom(MIB) * 48 + b"end"}
    contents |= {f"{i}": os.urandom(500 + 37 * i) for i in range(SMALL)}
    for name, data in contents.items():
        with open(f"{bench.target}/{name}", "wb") as f:
            f.write(data)
    return contents


def read(bench, name):
    with open(f"{bench.view}/{name}", "rb") as f:
        return f.read()


def limited(*limits):
    """The daemon raises soft limits itself."""
    def limit():
        for what, value in limits:
            resource.setrlimit(what, (value, resource.getrlimit(what)[1]))
    return {"preexec_fn": limit}


def check(bench, contents):
    for name, data in contents.items():
        assert read(bench, name) == data, name
    assert sorted(os.listdir(bench.view)) == sorted(contents)


def test_size_of_files(bench):
    """With file size 0 there is no passthrough and no profile; the rest works."""
    contents = fill(bench)
    for options in ((), ("--passthrough",)) if os.geteuid() == 0 else ((),):
        bench.mount("--profile", "--job-dir", f"{bench.dir}/job", *options, **limited((resource.RLIMIT_FSIZE, 0)))
        for _ in range(2):
            check(bench, contents)
        done = run("umount", bench.view)
        assert done.returncode == 0, done
        assert not os.path.ismount(bench.view)
        assert bench.daemons[-1][0].wait(60) != -signal.SIGXFSZ


def test_files(bench):
    """It raises its limit of open files."""
    contents = fill(bench)
    bench.mount(**limited((resource.RLIMIT_NOFILE, 9)))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = pool.map(lambda name: read(bench, name) == contents[name], contents)
    assert all(found)


def test_addresses(bench):
    """The budget is a part of the limit, so reading more than the budget works."""
    contents = fill(bench)
    bench.mount(**limited((resource.RLIMIT_AS, 160 * MIB)))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = pool.map(lambda name: read(bench, name) == contents[name], contents)
    assert all(found)
    stats = run("stats", bench.view).stdout
    combined, = (line for line in stats.splitlines() if line.startswith("| combined |"))
    assert f" {40 * MIB} " in combined, stats


def size_of(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[0]) * os.sysconf("SC_PAGESIZE")


def test_no_addresses(bench):
    """A limit set while the view is in use: requests fail, and succeed when it is raised."""
    contents = fill(bench)
    daemon = bench.mount()
    unlimited = resource.prlimit(daemon.pid, resource.RLIMIT_AS)
    resource.prlimit(daemon.pid, resource.RLIMIT_AS, (size_of(daemon.pid), unlimited[1]))

    def look(name):
        try:
            return read(bench, name) == contents[name]
        except OSError as e:
            return e.errno in (errno.ENOMEM, errno.EAGAIN, errno.EIO)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(look, contents))
    resource.prlimit(daemon.pid, resource.RLIMIT_AS, unlimited)
    check(bench, contents)


def test_none_to_begin_with(bench):
    """Without memory for the first request, the mount fails with a message."""
    for mib in range(16, 34):
        done = run("mount", "--target", bench.target, bench.view, **limited((resource.RLIMIT_AS, mib * MIB)))
        assert (done.returncode == 0) == os.path.ismount(bench.view) == ("ready after" in done.stderr), (mib, done)
        assert done.stderr or done.returncode == 127, done  # not even loaded
        if done.returncode == 0:
            assert run("umount", bench.view).returncode == 0


sys.exit(main(globals(), may_speak=("test_size_of_files", "test_no_addresses")))

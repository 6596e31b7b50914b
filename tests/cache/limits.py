#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""limits.py AUGER FAULTY: a daemon with limits of addresses, open files and file size (ulimit -v, -n, -f); what it keeps in
memory of files with holes, and how often it opens a file."""
import concurrent.futures
import errno
import os
import resource
import signal
import sys
import time

from storage_calls import Counted
from views import main, outcome, run, usage

FAULTY = sys.argv[2]
MIB = 1 << 20
GIB = 1 << 30
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
    assert usage(bench.view)["combined"]["budget_bytes"] == 40 * MIB, usage(bench.view)


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


def memory_of(pid):
    """Without pages of files: how many of the program's own the kernel maps at a fault is chance."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        lines = dict(line.split(":", 1) for line in f)
    return sum(int(lines[name].split()[0]) * 1024 for name in ("RssAnon", "RssShmem"))


def data_bytes(bench):
    return usage(bench.view)["data"]["used_bytes"]


def test_memory(bench):
    """The process's memory follows the budget while five times as much is read, in files of all sizes; and a reset frees it."""
    data = os.urandom(401_000)
    for i in range(900):
        with open(f"{bench.target}/{i}", "wb") as f:
            f.write(data[:1000 + 797 * i % 400_000])
    daemon = bench.mount("--budget", "32M")
    idle, most = memory_of(daemon.pid), 0
    for i in range(900):
        assert len(read(bench, f"{i}")) == 1000 + 797 * i % 400_000
        most = max(most, memory_of(daemon.pid))
    assert 28 * MIB < most - idle < 40 * MIB, (idle, most)
    assert run("reset", bench.view).returncode == 0
    assert memory_of(daemon.pid) < idle + 4 * MIB, (idle, memory_of(daemon.pid))


def make_sparse(path, size, places):
    """A file of zeros, but for 4 KiB at each of the places."""
    with open(path, "wb") as f:
        f.truncate(size)
        for at in places:
            os.pwrite(f.fileno(), os.urandom(4096), at)


def check_sparse(bench, daemon, size, places):
    """Requests each MiB; what was written is there, and all else is zeros."""
    make_sparse(f"{bench.target}/sparse", size, places)
    before = memory_of(daemon.pid)
    target, view = (os.open(f"{folder}/sparse", os.O_RDONLY) for folder in (bench.target, bench.view))
    os.posix_fadvise(view, 0, 0, os.POSIX_FADV_RANDOM)
    for at in sorted({*range(0, size, MIB), *places, *(at + 4096 for at in places), size - 100}):
        assert os.pread(view, 4096, at) == os.pread(target, 4096, at), at
    assert data_bytes(bench) < 4 * MIB, data_bytes(bench)
    # A thread that waits for storage has room for what it reads, 1 MiB; a busy machine has more of them.
    assert memory_of(daemon.pid) < before + 32 * MIB, (before, memory_of(daemon.pid))
    for at in (0, *places, places[-1] + 4096, size - 1, size, size + 1):
        for whence in (os.SEEK_DATA, os.SEEK_HOLE):
            assert outcome(os.lseek, view, at, whence) == outcome(os.lseek, target, at, whence), (at, whence)
    os.close(target)
    os.close(view)


def test_sparse(bench):
    """10 GiB with 1 MiB of data take less than 4 MiB of memory, wherever the data is."""
    check_sparse(bench, bench.mount("--budget", "1G"), 10 * GIB, [i * 40 * MIB + 4096 * i for i in range(256)])


def test_sparse_unknown(bench):
    """Also on storage that has no SEEK_DATA."""
    with Counted(bench, FAULTY) as target:
        make_sparse(f"{target.source}/sparse", 200 * MIB, [0, 77 * MIB + 8192])
        daemon = bench.mount()
        view = os.open(f"{bench.view}/sparse", os.O_RDONLY)
        for at in range(0, 200 * MIB, MIB):
            assert len(os.pread(view, 4096, at)) == 4096
        assert data_bytes(bench) < 4 * MIB
        assert memory_of(daemon.pid) < 16 * MIB
        os.close(view)
        bench.end()


def test_opens(bench):
    """Storage opens a file once, for however many readers and reads; nothing is left open after it was read."""
    with Counted(bench, FAULTY) as target:
        with open(f"{target.source}/large", "wb") as f:
            f.write(os.urandom(MIB) * 64)
        for i in range(SMALL):
            with open(f"{target.source}/{i}", "wb") as f:
                f.write(b"small")
        while time.time() < os.stat(f"{target.source}/{SMALL - 1}").st_ctime + 3:
            time.sleep(0.1) # what is read within two seconds of a change is read again
        daemon = bench.mount()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert len({hash(data) for data in pool.map(lambda _: read(bench, "large"), range(4))}) == 1
            assert all(data == b"small" for data in pool.map(lambda i: read(bench, f"{i}"), range(SMALL)))
        calls = target.calls()
        assert calls["open", "/large"] == 1, calls["open", "/large"]
        assert all(calls["open", f"/{i}"] == 1 for i in range(SMALL))
        left = [name for name in (outcome(os.readlink, f"/proc/{daemon.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{daemon.pid}/fd"))
                if str(name).startswith(f"{bench.target}/")]
        assert not left, left
        bench.end()


def test_stale_descriptor(bench):
    """A read that fails through a descriptor of an earlier read is tried again through a new one."""
    with Counted(bench, FAULTY) as target:
        with open(f"{target.source}/large", "wb") as f:
            f.write(os.urandom(MIB) * 64)
        bench.mount()
        view = os.open(f"{bench.view}/large", os.O_RDONLY)
        os.posix_fadvise(view, 0, 0, os.POSIX_FADV_RANDOM)
        for chunk, error, least, most in ((10, 0, 1, 1), (20, 0, 0, 0), (30, errno.EIO, 1, 20), (40, 0, 0, 20), (50, errno.ESTALE, 1, 20)):
            target.rule(f"read large {error}" if error else "")
            assert outcome(lambda at: len(os.pread(view, 4096, at)), chunk * MIB) == (error or 4096)
            opens = target.calls()["open", "/large"]
            assert least <= opens <= most, (chunk, opens)
        os.close(view)
        bench.end()


sys.exit(main(globals(), may_speak=("test_size_of_files", "test_no_addresses")))

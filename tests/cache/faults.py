#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults.py AUGER FAULTY: a view of a target that fails on demand.

The errno is the target's, nothing wrong is kept, and no request waits longer than --storage-timeout.
"""
import errno
import glob
import json
import os
import signal
import subprocess
import sys
import threading
import time

import views
from views import outcome

FAULTY = sys.argv[2]
CHUNK = 1 << 20
SOON_S = 15  # for what takes a moment, on a machine that has other things to do


class Target:
    """A folder behind a file system that fails on demand."""

    def __init__(self, bench, **env):
        self.source, self.path, self.rules = f"{bench.dir}/source", bench.target, f"{bench.dir}/rules"
        os.makedirs(f"{self.source}/sub")
        os.makedirs(f"{self.source}/stuck")
        self.write("stuck/file4", b"4" * 1000)
        for i in range(20):
            self.write(f"file{i}", b"%d" % i * 1000)
        self.write("big", b"0123456789abcdef" * (3 * CHUNK // 16))
        self.write("sub/inner", b"inner")
        os.symlink("file1", f"{self.source}/link")
        self.rule("")
        self.process = subprocess.Popen([FAULTY, self.source, self.rules, self.path], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=dict(os.environ, **env))
        wait_for(lambda: os.path.ismount(self.path))

    def write(self, name, data):
        with open(f"{self.source}/{name}", "wb") as f:
            f.write(data)

    def rule(self, *lines):
        with open(self.rules + ".new", "w", encoding="ascii") as f:
            f.write("".join(line + "\n" for line in lines))
        os.rename(self.rules + ".new", self.rules)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.rule("")
        subprocess.run(["umount", "-l", self.path], stderr=subprocess.DEVNULL, check=False)
        self.process.kill()
        self.process.wait()


def wait_for(condition):
    end = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.01)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def stats_of(view):
    return json.loads(views.run("stats", "-f", "json", view).stdout)


def test_errors_pass(bench):
    """Each error of each operation, and correct replies after it."""
    with Target(bench) as t:
        bench.mount()
        v = bench.view
        big = read(f"{t.source}/big")
        rows = [("getattr", os.stat, "file1", b"1"), ("open", read, "file2", b"2" * 1000), ("read", read, "big", big),
                ("readdir", os.listdir, "sub", ["inner"]), ("readlink", os.readlink, "link", "file1"),
                ("getattr", os.listdir, "sub", ["inner"])]
        for row, (operation, call, name, want) in enumerate(rows):
            for number in (errno.EIO, errno.EACCES, errno.ENOLINK):
                if operation == "getattr" and number != errno.EIO or row == 5:
                    continue
                t.rule(f"{operation} {name} {number}")
                assert outcome(call, f"{v}/{name}") == number, (operation, name, number, outcome(call, f"{v}/{name}"))
            t.rule("")
            got = outcome(call, f"{v}/{name}")
            assert got == want or call is os.stat and not isinstance(got, int), (operation, name, str(got)[:100])


def test_errors_are_told(bench):
    """Failures are counted, and the log has their paths."""
    with Target(bench) as t:
        bench.mount("--profile", "--copper-files", "--job-dir", f"{bench.dir}/job", "--log-level", "5", "--log-to", "file")
        t.rule(f"read file1 {errno.EIO}", f"readdir sub {errno.EACCES}")
        assert outcome(read, f"{bench.view}/file1") == errno.EIO
        assert outcome(os.listdir, f"{bench.view}/sub") == errno.EACCES
        t.rule("")
        bench.end()
    with open(glob.glob(f"{bench.dir}/job/logs/*-output.log")[0], encoding="utf-8") as f:
        log = f.read()
    assert "storage: /file1: Input/output error\n" in log and "storage: /sub: Permission denied\n" in log, log
    with open(glob.glob(f"{bench.dir}/job/profiling/final/*-profiling_aggregate.csv")[0], encoding="ascii") as f:
        assert int(dict(line.strip().split(",") for line in f)["storage_failures"]) >= 2


def test_error_in_the_middle(bench):
    """A file that can be read in part: that part is correct, and the rest fails until it can be read."""
    with Target(bench) as t:
        bench.mount("--budget", "2M")  # no reading ahead
        want = read(f"{t.source}/big")
        with open(f"{bench.view}/big", "rb", buffering=0) as f:
            assert os.pread(f.fileno(), 4096, 0) == want[:4096]
            t.rule(f"read big {errno.EIO}")
            assert outcome(os.pread, f.fileno(), 4096, 2 * CHUNK) == errno.EIO
            t.rule("")
            assert os.pread(f.fileno(), 4096, 2 * CHUNK) == want[2 * CHUNK:2 * CHUNK + 4096]
        assert read(f"{bench.view}/big") == want


def test_short_reads(bench):
    with Target(bench) as t:
        t.rule("read big short")
        bench.mount()
        assert read(f"{bench.view}/big") == read(f"{t.source}/big")


def test_stale(bench):
    """ESTALE of the storage is passed on once; then the file is looked up again."""
    with Target(bench) as t:
        bench.mount()
        t.rule(f"open file3 {errno.ESTALE}")
        assert outcome(read, f"{bench.view}/file3") in (errno.ESTALE, errno.EIO)
        t.rule("")
        wait_for(lambda: outcome(read, f"{bench.view}/file3") == b"3" * 1000)


def test_hangs(bench):
    """A request to storage that hangs times out; others are served; the late reply is correct.

    The kernel looks up one name of a folder of the failing file system at a time (its libfuse is 3.14)."""
    with Target(bench) as t:
        bench.mount("--storage-timeout", "1")
        t.rule("getattr stuck/file4 hang", "read file5 hang", "readdir sub hang")
        waiting = []
        for call, name in ((os.stat, "stuck/file4"), (read, "file5"), (os.listdir, "sub")):
            waiting += [[call, name, None] for _ in range(8)]

        def wait(row):
            row[2] = outcome(row[0], f"{bench.view}/{row[1]}")

        threads = [threading.Thread(target=wait, args=(row,)) for row in waiting]
        for thread in threads:
            thread.start()
        for i in range(6, 20):
            assert outcome(read, f"{bench.view}/file{i}") == b"%d" % i * 1000, (i, str(outcome(read, f"{bench.view}/file{i}"))[:50])
        for thread in threads:
            thread.join(SOON_S)
        assert all(row[2] in (errno.ETIMEDOUT, errno.EIO) for row in waiting), [str(row[2])[:50] for row in waiting]
        stats = stats_of(bench.view)
        assert stats["storage_hanging"] >= 1 and stats["storage_timeouts"] >= 3, stats
        assert "# storage hanging: " in views.run("stats", bench.view).stdout
        t.rule("")
        wait_for(lambda: outcome(os.listdir, f"{bench.view}/sub") == ["inner"])
        wait_for(lambda: outcome(read, f"{bench.view}/stuck/file4") == b"4" * 1000)
        wait_for(lambda: outcome(read, f"{bench.view}/file5") == b"5" * 1000)
        wait_for(lambda: stats_of(bench.view)["storage_hanging"] == 0)


def daemon_stat(daemon):
    """Voluntary context switches of all threads: one for each time that a thread slept."""
    count = 0
    for task in os.listdir(f"/proc/{daemon.pid}/task"):
        with open(f"/proc/{daemon.pid}/task/{task}/status", encoding="ascii") as f:
            count += next(int(line.split()[1]) for line in f if line.startswith("voluntary"))
    return count


def test_idle(bench):
    """An idle daemon has no wake-ups, also after storage hung."""
    with Target(bench) as t:
        daemon = bench.mount("--storage-timeout", "1")
        t.rule("getattr file9 hang")
        assert outcome(os.stat, f"{bench.view}/file9") == errno.EIO
        t.rule("")
        wait_for(lambda: not isinstance(outcome(os.stat, f"{bench.view}/file9"), int))
        time.sleep(1.5)  # the last deadline passes
        before = daemon_stat(daemon)
        time.sleep(2)
        assert daemon_stat(daemon) - before < 5


def start(call, paths):
    """Calls for each path in a thread of its own. Returns the threads, and (path, outcome, seconds) as they come."""
    got = []

    def wait(path):
        begin = time.monotonic()
        result = outcome(call, path)
        got.append((path, result, time.monotonic() - begin))

    threads = [threading.Thread(target=wait, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    return threads, got


def read_uncached_by_kernel(path):
    """A file of the daemon's memory: the kernel drops its pages first."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    begin = time.monotonic()
    data = os.read(fd, 1 << 16)
    os.close(fd)
    return data, time.monotonic() - begin


def check_hits(bench, times=20):
    """Reads of a file in the daemon's memory do not wait. On a busy machine some take longer."""
    took = []
    for _ in range(times):
        data, seconds = read_uncached_by_kernel(f"{bench.view}/file1")
        assert data == b"1" * 1000
        took.append(seconds)
    assert sorted(took)[times // 2] < 0.05, took


def test_hundreds_hang(bench):
    """300 paths hang: all are answered in time, hits go on, and the view works again when storage does."""
    many, seconds = 300, 2
    with Target(bench) as t:
        for i in range(many + 1):
            os.mkdir(f"{t.source}/folder{i}")
            t.write(f"folder{i}/hung", b"x")
        daemon = bench.mount("--storage-timeout", str(seconds))
        log = []
        reader = threading.Thread(target=lambda: log.extend(daemon.stderr))
        reader.start()
        assert read(f"{bench.view}/file1") == b"1" * 1000
        paths = [f"{bench.view}/folder{i}/hung" for i in range(many + 1)]
        for path in paths:
            os.stat(os.path.dirname(path))
        t.rule("getattr hung hang")
        threads, got = start(os.stat, paths[:many])
        check_hits(bench)
        for thread in threads:
            thread.join(SOON_S)
        assert len(got) == many and {row[1] for row in got} == {errno.EIO}, got
        assert max(row[2] for row in got) < seconds + 1, sorted(row[2] for row in got)[-5:]
        # So many threads hang that others are refused: no one waits.
        begin = time.monotonic()
        assert outcome(os.stat, paths[many]) == errno.EIO and time.monotonic() - begin < 1
        check_hits(bench)
        t.rule("")
        for path in paths:
            wait_for(lambda path=path: not isinstance(outcome(os.stat, path), int))
        subprocess.run(["umount", bench.view], check=True)
        reader.join(SOON_S)
        lines = [line for line in log if "no reply in time" in line]
        # One a path; on a slow machine also the last one may be late when storage works again.
        assert len(lines) == len(set(lines)) and many <= len(lines) <= many + 1, (len(lines), len(set(lines)))


def test_readers_hang(bench):
    """More reads hang than the kernel has requests in the background by default: others are served."""
    many = 30
    with Target(bench) as t:
        for i in range(many):
            t.write(f"hung{i}", b"x" * 100000)
        bench.mount("--storage-timeout", "300")
        assert read(f"{bench.view}/file1") == b"1" * 1000
        connection = f"/sys/fs/fuse/connections/{os.minor(os.stat(bench.view).st_dev)}"
        if os.path.exists(connection):
            for name in ("max_background", "congestion_threshold"):
                assert int(read(f"{connection}/{name}")) >= 1024, name
        t.rule("read hung hang")
        threads, got = start(read, [f"{bench.view}/hung{i}" for i in range(many)])
        check_hits(bench)
        for i in range(10, 20):
            assert read(f"{bench.view}/file{i}") == b"%d" % i * 1000
        assert not got
        t.rule("")
        for thread in threads:
            thread.join(SOON_S)
        assert [row[1] for row in got] == [b"x" * 100000] * many


def test_killed(bench):
    """Processes that wait for hanging storage, for names, data, links and listings, are killed immediately."""
    with Target(bench) as t:
        daemon = bench.mount("--storage-timeout", "300")
        read(f"{bench.view}/file1")
        for name in ("file2", "sub", "link", "big"):
            os.lstat(f"{bench.view}/{name}")
        t.rule("getattr file8 hang", "read file2 hang", "open big hang", "readdir sub hang", "readlink link hang")
        commands = (("stat", "file8"), ("cat", "file2"), ("cat", "big"), ("ls", "sub"), ("readlink", "link"))
        children = [subprocess.Popen([word, f"{bench.view}/{name}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    for word, name in commands for _ in range(3)]
        time.sleep(0.5)
        for i, child in enumerate(children):
            assert child.poll() is None, child.args
            child.send_signal((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[i % 3])
        for i, child in enumerate(children):
            assert child.wait(2) == -(signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[i % 3], child.args
        assert daemon.poll() is None
        check_hits(bench)
        t.rule("")


def test_invalidated_while_it_hangs(bench):
    """What is invalidated while a LOOKUP in its folder and a READ of it hang holds up no other request or notification.

    The failing file system has one lookup at a time in a folder (its libfuse is 3.14), so others are elsewhere."""
    with Target(bench) as t:
        bench.mount("--storage-timeout", "300")
        for name in ("file1", "file5", "sub/inner"):
            read(f"{bench.view}/{name}")
        os.stat(f"{bench.view}/stuck")
        os.stat(f"{bench.view}/big")
        t.rule("getattr stuck/file4 hang", "read big hang")
        threads, got = start(lambda path: read(path)[:1], [f"{bench.view}/stuck/file4", f"{bench.view}/big"])
        time.sleep(0.2)
        t.write("file5", b"new" * 1000)
        t.write("sub/inner", b"new inner")
        with subprocess.Popen([views.AUGER, "cache", "reset", bench.view], stderr=subprocess.DEVNULL) as reset:
            wait_for(lambda: outcome(read, f"{bench.view}/file5") == b"new" * 1000)
            wait_for(lambda: outcome(read, f"{bench.view}/sub/inner") == b"new inner")
            others, found = start(os.stat, [f"{bench.view}/file{i}" for i in range(20)])
            for thread in others:
                thread.join(SOON_S)
            assert len(found) == 20 and not any(isinstance(row[1], int) for row in found), found
            check_hits(bench)
            assert not got
            t.rule("")
            for thread in threads:
                thread.join(SOON_S)
            assert sorted(row[1] for row in got) == [b"0", b"4"], got
            assert reset.wait(SOON_S) == 0


def test_changing_size(bench):
    """A file whose size differs at each look is read in one version or fails: never a mix, never for long."""
    with Target(bench) as t:
        bench.mount("--revalidate", "0.05")
        t.rule("getattr file7 grow")
        for _ in range(20):
            got = outcome(read, f"{bench.view}/file7")
            assert got in (errno.ESTALE, errno.EIO) or got[:1000] == b"7" * 1000 and not got[1000:].strip(b"\0"), got
        t.rule("")
        wait_for(lambda: outcome(read, f"{bench.view}/file7") == b"7" * 1000)


def test_hangs_for_many(bench):
    """Callers that the kernel admits one by one do not add up their timeouts, for pages or names."""
    many, seconds = 24, 3
    with Target(bench) as t:
        for i, options in enumerate(((), ("--max-file", "1"))):
            job = f"{bench.dir}/job{i}"
            bench.mount("--storage-timeout", str(seconds), "--profile", "--copper-files", "--job-dir", job, *options)
            for call, name, rule in ((read, f"file{i}", f"read file{i} hang"), (os.stat, "stuck/file4", "getattr stuck/ hang")):
                t.rule(rule)
                got = []
                threads = [threading.Thread(target=lambda: got.append(outcome(call, f"{bench.view}/{name}")))
                           for _ in range(many)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                assert set(got) <= {errno.ETIMEDOUT, errno.EIO} and len(got) == many, got
                t.rule("")
                wait_for(lambda: not isinstance(outcome(call, f"{bench.view}/{name}"), int))
            assert views.run("umount", "--lazy", bench.view).returncode == 0
            bench.end()
            with open(glob.glob(f"{job}/profiling/final/*-profiling_aggregate.csv")[0], encoding="ascii") as f:
                figures = dict(line.strip().split(",") for line in f)
            assert int(figures["storage_timeouts"]) >= 2 and int(figures["storage_failures"]) == 0, figures
            assert float(figures["total_storage_wait_seconds"]) < many * seconds / 2, figures


def test_names_only(bench):
    """Listing folders of slow storage waits for the attributes of at most one name a folder."""
    journal, folders = f"{bench.dir}/journal", 20
    with Target(bench, FAULTY_JOURNAL=journal, FAULTY_DELAY_US="1000") as t:
        for i in range(folders):
            os.mkdir(f"{t.source}/folder{i}")
            for k in range(30):
                t.write(f"folder{i}/name{k}", b"")
        bench.mount()
        for i in range(folders):
            assert len(os.listdir(f"{bench.view}/folder{i}")) == 30
        with open(journal, encoding="ascii") as f:
            asked = [line for line in f if line.startswith("getattr") and "/name" in line]
        assert len(asked) <= folders, len(asked)


def test_slow(bench):
    """Concurrent requests for one slow thing share one wait."""
    with Target(bench) as t:
        bench.mount()
        t.rule("getattr file7 slow")
        begin, got = time.monotonic(), []
        threads = [threading.Thread(target=lambda: got.append(os.stat(f"{bench.view}/file7").st_size)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got == [1000] * 20 and time.monotonic() - begin < 20 * 0.5, got


def test_interrupted(bench):
    """A program that waits for hanging storage can be killed immediately."""
    with Target(bench) as t:
        bench.mount("--storage-timeout", "300")
        t.rule("getattr file8 hang")
        child = subprocess.Popen(["stat", f"{bench.view}/file8"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.2)
        child.send_signal(signal.SIGTERM)
        assert child.wait(SOON_S) == -signal.SIGTERM
        t.rule("")


SIGNALS = """import os, signal, sys
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
for name in sys.argv[1:]: print(os.stat(name).st_size, flush=True)"""


def test_signals(bench):
    """A signal handler does not interrupt a wait; the process can still be killed."""
    with Target(bench) as t:
        bench.mount("--storage-timeout", "300")
        t.rule("getattr file8 slow", "getattr stuck hang")
        with subprocess.Popen([sys.executable, "-c", SIGNALS, f"{bench.view}/file8", f"{bench.view}/stuck/file4"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            assert child.stdout.readline() == "1000\n", child.stderr.read()
            time.sleep(0.2)
            assert child.poll() is None
            child.send_signal(signal.SIGTERM)
            assert child.wait(SOON_S) == -signal.SIGTERM
        t.rule("")


def test_terminated_while_it_hangs(bench):
    """SIGTERM unmounts, also while requests wait for hanging storage; those fail."""
    with Target(bench) as t:
        daemon = bench.mount("--storage-timeout", "300")
        t.rule("getattr file9 hang")
        got = []
        waiting = threading.Thread(target=lambda: got.append(outcome(os.stat, f"{bench.view}/file9")))
        waiting.start()
        time.sleep(0.2)
        daemon.send_signal(signal.SIGTERM)
        waiting.join(SOON_S)
        wait_for(lambda: not os.path.ismount(bench.view))
        assert got and got[0] in (errno.EINTR, errno.ENOTCONN, errno.ECONNABORTED), got
        t.rule("")
        assert daemon.wait(SOON_S) == 0


def test_terminated_before_it_is_ready(bench):
    """A view that is unmounted before its target first replies is not reported as ready."""
    with Target(bench, FAULTY_DELAY_US="200000"):
        daemon = subprocess.Popen([views.AUGER, "cache", "mount", "--foreground", "--target", bench.target, bench.view],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        bench.daemons.append((daemon, bench.view))
        wait_for(lambda: bench.view in open("/proc/self/mounts", encoding="utf-8").read())
        daemon.send_signal(signal.SIGTERM)
        words = daemon.communicate(timeout=SOON_S)[1]
        bench.daemons.clear()
        assert daemon.returncode == 0 and not words, (daemon.returncode, words)


def test_target_goes(bench):
    """The storage dies under the mount: cached files are served, and the rest fails with its errno."""
    with Target(bench) as t:
        bench.mount()
        assert read(f"{bench.view}/file10") == b"10" * 1000
        t.process.kill()
        t.process.wait()
        assert read(f"{bench.view}/file10") == b"10" * 1000
        assert outcome(os.stat, f"{bench.view}/file11") in (errno.ENOTCONN, errno.ECONNABORTED)
        assert outcome(os.listdir, f"{bench.view}/sub") in (errno.ENOTCONN, errno.ECONNABORTED)


def test_prefetch(bench):
    """Prefetched paths are served after the storage died: of the target, of the view, and relative."""
    with Target(bench) as t:
        names = [f"{bench.target}/file1", f"{bench.view}/file2", "file3", f"{bench.target}/sub", f"{bench.target}/absent",
                 f"{bench.target}/link", f"{bench.target}/big", "/elsewhere"]
        with open(f"{bench.dir}/list", "w", encoding="ascii") as f:
            f.write("\n".join(names))
        daemon = bench.mount("--prefetch", f"{bench.dir}/list", "--prefetch-rate", "100M",
                             env=dict(os.environ, AUGER_LOG="cache=info"))
        line = daemon.stderr.readline()
        while line and "prefetched" not in line:
            line = daemon.stderr.readline()
        assert "prefetched 8 of 8 paths" in line and "; 1 do not exist, 1 could not be read" in line, line
        t.process.kill()
        t.process.wait()
        for i in (1, 2, 3):
            assert read(f"{bench.view}/file{i}") == b"%d" % i * 1000
        assert read(f"{bench.view}/big") == read(f"{t.source}/big")
        assert os.listdir(f"{bench.view}/sub") == ["inner"] and os.readlink(f"{bench.view}/link") == "file1"
        assert outcome(os.stat, f"{bench.view}/file12") in (errno.ENOTCONN, errno.ECONNABORTED)


def test_many_changes(bench):
    """More files change than can be invalidated at once: none shows a mix."""
    count = 1500
    for i in range(count):
        with open(f"{bench.target}/{i}", "wb") as f:
            f.write(b"old%d;" % i * 2000)
    bench.mount()
    for i in range(count):
        os.stat(f"{bench.view}/{i}")
    for i in range(count):
        with open(f"{bench.target}/{i}", "wb") as f:
            f.write(b"newer%d;" % i * (10 if i % 2 else 4000))
    wrong = []

    def look(first):
        for i in range(first, count, 8):
            if wrong:
                break
            want = b"newer%d;" % i * (10 if i % 2 else 4000)
            end = time.monotonic() + SOON_S
            got = outcome(read, f"{bench.view}/{i}")
            while got in (errno.ESTALE, errno.EIO) and time.monotonic() < end:
                got = outcome(read, f"{bench.view}/{i}")
            if got != want:
                wrong.append((i, len(want), got if isinstance(got, int) else (len(got), got[:20])))

    threads = [threading.Thread(target=look, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, (len(wrong), wrong[:5])


def test_changed_in_place(bench):
    """An open of the old file never returns bytes of the new one; a new open returns all of it."""
    old, new = b"o" * 3 * CHUNK, b"n" * 3 * CHUNK
    for options in (("--budget", "2M"), ("--max-file", "1"), ("--budget", "2M", "--exact")):
        with open(f"{bench.target}/file", "wb") as f:
            f.write(old)
        bench.mount(*options)
        with open(f"{bench.view}/file", "rb", buffering=0) as f:
            assert os.pread(f.fileno(), 4096, 0) == old[:4096]
            with open(f"{bench.target}/file", "r+b") as to:
                to.write(new)
            got = outcome(os.pread, f.fileno(), len(old), 0)
            assert got == errno.ESTALE or set(got) == {ord("o")} and len(got) < len(old), (options, str(got)[:20])
            wait_for(lambda: outcome(read, f"{bench.view}/file") == new)
            assert outcome(os.pread, f.fileno(), 4096, 2 * CHUNK) == errno.ESTALE, options
        bench.end()


def test_replaced(bench):
    """A file that is replaced again and again while it is read: old or new, never both.

    The old files are kept, so that inode numbers are not reused."""
    path, states = f"{bench.target}/file", [bytes([65 + i]) * (700000 + 300000 * i) for i in range(4)]

    def put(data):
        new = f"{bench.target}/{time.monotonic_ns()}"
        with open(new, "wb") as f:
            f.write(data)
        os.link(new, path + ".new")
        os.rename(path + ".new", path)

    put(states[0])
    bench.mount("--revalidate", "0.05", "--enoent-ttl", "0")
    over, wrong = threading.Event(), []

    def look():
        while not over.is_set():
            got = outcome(read, f"{bench.view}/file")
            if not isinstance(got, int) and len(set(got)) > 1:
                wrong.append((len(got), set(got)))

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(40):
        put(states[i % 4])
        time.sleep(0.02)
    over.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:5]
    wait_for(lambda: outcome(read, f"{bench.view}/file") == states[39 % 4])


def test_permissions_change(bench):
    """With --revalidate, a changed mode takes effect after that time."""
    path = f"{bench.target}/file"
    with open(path, "wb") as f:
        f.write(b"x")
    os.chmod(path, 0o644)
    bench.mount("--revalidate", "0.1")
    assert os.stat(f"{bench.view}/file").st_mode & 0o777 == 0o644
    os.chmod(path, 0o600)
    wait_for(lambda: os.stat(f"{bench.view}/file").st_mode & 0o777 == 0o600)


sys.exit(views.main(globals(), may_speak=("test_prefetch", "test_target_goes", "test_terminated_while_it_hangs", "test_hangs",
                                              "test_hangs_for_many", "test_hundreds_hang", "test_idle")))

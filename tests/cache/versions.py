#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""versions.py AUGER FAULTY: files and folders that change under a view.

A process never reads bytes of two versions of a file; a file that is appended to is followed; with --revalidate nothing
that is shown is older than that; what a listing does not have is asked for where that can help.
"""
import contextlib
import ctypes
import errno
import os
import shutil
import subprocess
import sys
import threading
import time

import views
from storage_calls import Counted
from views import outcome

FAULTY = os.path.abspath(sys.argv[2])
CHUNK = 1 << 20
SOON_S = 60
REPLY = 0.15  # the kernel's time begins when it has the reply, which waits for a CPU


def wait_for(condition):
    end = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def read(path):
    with open(path, "rb", buffering=0) as f:
        return f.readall()


def write(path, data, mode="wb"):
    with open(path, mode) as f:
        f.write(data)


def rewrite_back(path, data):
    """Writes other bytes of the same number in place, and sets the times back."""
    before = os.stat(path)
    write(path, data, "r+b")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def settle(path):
    """Waits until a change of the file gets another ctime."""
    mark = os.path.dirname(path) + "/.mark"
    while True:
        write(mark, b"")
        if os.stat(mark).st_ctime_ns > os.stat(path).st_ctime_ns:
            os.unlink(mark)
            return


def test_set_back(bench):
    """A rewrite with the same size and mtime: an open file returns old bytes or ESTALE, a new open all new ones."""
    old, new = b"o" * 3 * CHUNK, b"n" * 3 * CHUNK
    path, seen = f"{bench.target}/file", f"{bench.view}/file"
    for options in (("--budget", "2M"), ("--max-file", "1"), ("--budget", "2M", "--exact"), ("--budget", "2M", "--revalidate", "0.1")):
        write(path, old)
        settle(path)
        bench.mount(*options)
        with open(seen, "rb", buffering=0) as f:
            assert os.pread(f.fileno(), 4096, 0) == old[:4096]
            rewrite_back(path, new)
            time.sleep(0.2 if "--revalidate" in options else 0)
            for at in (2 * CHUNK, 0, CHUNK):
                got = outcome(os.pread, f.fileno(), CHUNK, at)
                assert got == errno.ESTALE or set(got) == {ord("o")}, (options, at, str(got)[:20])
            wait_for(lambda: outcome(read, seen) == new)
            assert outcome(os.pread, f.fileno(), 4096, 2 * CHUNK) == errno.ESTALE, options
        bench.end()


def test_old_version_stays(bench):
    """What is cached of the old version goes on to be read by those who have it open, also after it is replaced or removed."""
    path, seen = f"{bench.target}/file", f"{bench.view}/file"
    changes = (lambda: rewrite_back(path, b"n" * 9999), lambda: write(path, b"short"), lambda: os.unlink(path),
               lambda: (write(path + "2", b"n" * 20000), os.rename(path + "2", path)), lambda: os.chmod(path, 0o600))
    for options in ((), ("--exact",)):
        for i, change in enumerate(changes):
            write(path, b"o" * 9999)
            settle(path)
            bench.mount("--revalidate", "0.1", *options)
            with open(seen, "rb", buffering=0) as f:
                assert f.read() == b"o" * 9999
                ino = os.fstat(f.fileno()).st_ino
                change()
                want = outcome(read, path)
                wait_for(lambda: outcome(read, seen) == want)
                assert os.pread(f.fileno(), 20000, 0) == b"o" * 9999, (options, i)
                st = os.fstat(f.fileno())
                assert (st.st_size, st.st_ino) == (9999, ino), (options, i, st)
            wait_for(lambda: outcome(lambda: os.stat(seen).st_mode) == outcome(lambda: os.stat(path).st_mode))
            bench.end()


def rewritten_within_a_second(path, seen):
    """The file, open since before it was rewritten within the same second of the clock."""
    while True:
        while time.time() % 1 > 0.3:
            time.sleep(0.05)
        second = int(time.time())
        write(path, b"o" * 2 * CHUNK)
        f = open(seen, "rb", buffering=0)  # pylint: disable=consider-using-with
        got = outcome(os.pread, f.fileno(), 4096, 0)
        write(path, b"n" * 2 * CHUNK, "r+b")
        if int(time.time()) == second:
            assert got == b"o" * 4096, got
            return f
        f.close()


def rewritten_in_a_tick(bench, clock, count):
    """Files that are rewritten within the tick of the server's clock in which they were read: after two seconds they are
    read again, and soon the kernel's pages of them are old."""
    with Counted(bench, FAULTY) as target:
        target.rule(f"getattr / {clock}")
        bench.mount("--budget", "20M")
        opened = [rewritten_within_a_second(f"{target.source}/file{i}", f"{bench.view}/file{i}") for i in range(count)]
        time.sleep(2)
        for i, f in enumerate(opened):
            wait_for(lambda i=i, f=f: outcome(os.pread, f.fileno(), 4096, CHUNK if i % 2 else 0) == errno.ESTALE)
            wait_for(lambda i=i: outcome(read, f"{bench.view}/file{i}") == b"n" * 2 * CHUNK)
            f.close()
        bench.end()


def test_same_tick(bench):
    rewritten_in_a_tick(bench, "coarse", 4)


def test_same_tick_of_a_clock_behind(bench):
    """The server's clock is five minutes behind ours."""
    rewritten_in_a_tick(bench, "behind", 2)


def test_same_tick_of_a_clock_ahead(bench):
    rewritten_in_a_tick(bench, "ahead", 2)


def test_early_reads_go_on(bench):
    """A file that is read right after it was written, and is left alone, is read again once, without an error."""
    path, seen = f"{bench.target}/file", f"{bench.view}/file"
    write(path, os.urandom(3 * CHUNK))
    bench.mount()
    with open(seen, "rb", buffering=0) as f:
        assert f.read() == read(path)
        time.sleep(2.7)
        for _ in range(3):
            assert os.pread(f.fileno(), 3 * CHUNK, 0) == read(path)


def test_early_while_it_hangs(bench):
    """What should be read again is served as it is while storage does not reply."""
    with Counted(bench, FAULTY) as target:
        write(f"{target.source}/file", b"o" * CHUNK)
        bench.mount("--exact", "--storage-timeout", "1")
        with open(f"{bench.view}/file", "rb", buffering=0) as f:
            assert os.pread(f.fileno(), CHUNK, 0) == b"o" * CHUNK
            time.sleep(2.1)
            target.rule("read file hang")
            assert os.pread(f.fileno(), CHUNK, 0) == b"o" * CHUNK
            assert os.pread(f.fileno(), CHUNK, 0) == b"o" * CHUNK
            target.rule("read none hang")
        bench.end()


def test_followed(bench):
    """tail -f: an open file that is appended to is read on, without ESTALE, by one process and by several."""
    path, seen = f"{bench.target}/log", f"{bench.view}/log"
    for options in (("--revalidate", "0.1"), ("--revalidate", "0.1", "--exact"), ("--revalidate", "0.1", "--max-file", "1"),
                    ("--revalidate", "0.1", "--budget", "1M")):
        write(path, b"begin\n")
        bench.mount(*options)
        wrong = []

        def follow():
            got, end = b"", time.monotonic() + SOON_S
            with open(seen, "rb", buffering=0) as f:
                while not got.endswith(b"end\n") and time.monotonic() < end:
                    try:
                        got += f.read()
                    except OSError as e:
                        wrong.append(e)
                        return
                    time.sleep(0.01)
            if got != read(path):
                want = read(path)
                at = next((i for i, (g, w) in enumerate(zip(got, want)) if g != w), -1)
                wrong.append((len(got), len(want), at, got[at:at + 20], want[at:at + 20]))

        threads = [threading.Thread(target=follow) for _ in range(3)]
        for thread in threads:
            thread.start()
        for i in range(15):
            write(path, b"%d;" % i * (1 if i % 3 else 50000), "ab")
            time.sleep(0.03)
        write(path, b"end\n", "ab")
        for thread in threads:
            thread.join()
        assert not wrong, (options, wrong)
        bench.end()


def test_rewritten_longer(bench):
    """With --revalidate, what is opened after a rewrite is all new, also where the file is longer now."""
    path, seen = f"{bench.target}/file", f"{bench.view}/file"
    bench.mount("--revalidate", "0.2")
    write(path, b"first")
    with open(seen, "rb", buffering=0) as old:
        assert old.read() == b"first"
        for i in range(1, 4):
            new = b"%d" % i * (5000 * i)
            write(path, new)
            time.sleep(0.25)
            assert read(seen) == new
        assert outcome(os.pread, old.fileno(), 9, 0) in (b"first", errno.ESTALE)


def test_rewritten_longer_elsewhere(bench):
    """The same where the end of the old version was never read, or is not cached any more: an open file returns no new byte."""
    old, new = b"o" * 6 * CHUNK, b"n" * 7 * CHUNK
    path, seen = f"{bench.target}/file", f"{bench.view}/file"
    for options in (("--budget", "8M"), ("--budget", "1M"), ("--budget", "8M", "--max-file", "1"), ("--budget", "8M", "--exact")):
        write(path, old)
        settle(path)
        bench.mount("--revalidate", "0.1", *options)
        with open(seen, "rb", buffering=0) as f:
            assert os.pread(f.fileno(), 4096, 0) == old[:4096]
            write(path, new, "r+b")
            wait_for(lambda: os.stat(seen).st_size == len(new))
            for at in (4 * CHUNK, 0, 6 * CHUNK):
                got = outcome(os.pread, f.fileno(), 4096, at)
                assert isinstance(got, int) or set(got) <= {ord("o")}, (options, at, str(got)[:20])
            wait_for(lambda: outcome(read, seen) == new)
        bench.end()


def test_grown_unseen(bench):
    """A file that grew is read by those who have it open also where replies never expire."""
    path = f"{bench.target}/log"
    write(path, b"1" * 2 * CHUNK)
    bench.mount("--budget", "1M")
    with open(f"{bench.view}/log", "rb", buffering=0) as f:
        assert os.pread(f.fileno(), 10, 0) == b"1" * 10
        settle(path)
        write(path, b"2" * CHUNK, "ab")
        assert os.pread(f.fileno(), CHUNK, CHUNK) == b"1" * CHUNK
        wait_for(lambda: len(read(f"{bench.view}/log")) == 3 * CHUNK)
        assert os.pread(f.fileno(), 5, 3 * CHUNK - 5) == b"22222"


def test_rewritten_larger(bench):
    """A file that was only looked at: its readers get all of what it has become, not as much as its old size."""
    write(f"{bench.target}/file", b"o" * 1000)
    bench.mount()
    assert os.stat(f"{bench.view}/file").st_size == 1000
    settle(f"{bench.target}/file")
    write(f"{bench.target}/file", b"n" * 5000)
    assert outcome(read, f"{bench.view}/file") in (errno.ESTALE, errno.EIO, b"n" * 5000)
    wait_for(lambda: outcome(read, f"{bench.view}/file") == b"n" * 5000)


def test_never_older(bench):
    """With --revalidate S, nothing that is seen was replaced more than S ago: data, size and names."""
    os.mkdir(f"{bench.target}/sub")
    for limit, options in ((1, ()), (1, ("--exact",)), (0.3, ())):
        replaced, over, wrong = [], threading.Event(), []
        bench.mount("--revalidate", str(limit), "--enoent-ttl", "5000", *options)

        def change(replaced=replaced, over=over):
            i = 0
            while not over.is_set():
                write(f"{bench.target}/new", b"x" * (100000 + i))
                os.rename(f"{bench.target}/new", f"{bench.target}/file")
                write(f"{bench.target}/sub/{i}", b"")
                if i:
                    os.unlink(f"{bench.target}/sub/{i - 1}")
                replaced.append(time.monotonic())  # version i - 1 is gone
                i += 1
                time.sleep(0.05)

        def look(see, limit=limit, replaced=replaced, over=over, wrong=wrong):
            while not over.is_set():
                begin, i = time.monotonic(), outcome(see)
                if i in (errno.ESTALE, errno.ENOENT) or isinstance(i, str):  # of a listing without names
                    continue
                if i + 1 < len(replaced) and replaced[i + 1] < begin - limit - REPLY:
                    wrong.append((see.__name__, i, begin - replaced[i + 1]))
                time.sleep(0.003)

        def data():
            return len(read(f"{bench.view}/file")) - 100000

        def size():
            return os.stat(f"{bench.view}/file").st_size - 100000

        def names():
            return max(map(int, os.listdir(f"{bench.view}/sub")))

        threads = [threading.Thread(target=change), *(threading.Thread(target=look, args=(see,))
                                                      for see in (data, size, names))]
        for thread in threads:
            thread.start()
        time.sleep(3)
        over.set()
        for thread in threads:
            thread.join()
        assert len(replaced) > 5 and not wrong, (limit, options, len(wrong), wrong[:5])
        for name in os.listdir(f"{bench.target}/sub"):
            os.unlink(f"{bench.target}/sub/{name}")
        bench.end()


def test_missing_is_not_older(bench):
    """Also with a longer --enoent-ttl, and where the storage's reply took its time."""
    with Counted(bench, FAULTY) as target:
        bench.mount("--revalidate", "1", "--enoent-ttl", "60000")
        assert outcome(os.stat, f"{bench.view}/later") == errno.ENOENT
        target.rule("getattr file slow")
        write(f"{target.source}/later", b"1")
        write(f"{target.source}/file", b"1")
        begin = time.monotonic()
        assert os.stat(f"{bench.view}/file").st_size == 1  # half a second
        write(f"{target.source}/file", b"22")
        time.sleep(max(0, begin + 1.01 - time.monotonic()))
        assert os.stat(f"{bench.view}/file").st_size == 2
        assert os.stat(f"{bench.view}/later").st_size == 1
        bench.end()


class Dirent(ctypes.Structure):
    _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64), ("len", ctypes.c_uint16), ("type", ctypes.c_uint8),
                ("name", ctypes.c_char * 256)]


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.opendir.restype, LIBC.opendir.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
LIBC.readdir.restype, LIBC.readdir.argtypes = ctypes.POINTER(Dirent), [ctypes.c_void_p]
LIBC.telldir.restype, LIBC.telldir.argtypes = ctypes.c_long, [ctypes.c_void_p]
LIBC.seekdir.restype, LIBC.seekdir.argtypes = None, [ctypes.c_void_p, ctypes.c_long]
LIBC.rewinddir.restype, LIBC.rewinddir.argtypes = None, [ctypes.c_void_p]
LIBC.closedir.argtypes = [ctypes.c_void_p]


def next_entry(stream):
    entry = LIBC.readdir(stream)
    return (entry.contents.name, entry.contents.ino) if entry else None


def all_entries(path):
    stream = LIBC.opendir(path.encode())
    found = dict(iter(lambda: next_entry(stream), None))
    LIBC.closedir(stream)
    return found


def test_dots(bench):
    """The numbers of "." and "..", as the target has them."""
    os.makedirs(f"{bench.target}/a/b/c")
    for options in ((), ("--exact",), ("--revalidate", "1")):
        bench.mount(*options)
        for folder in ("/a/b/c", "/a/b", "/a", ""):
            want, got = all_entries(bench.target + folder), all_entries(bench.view + folder)
            assert got == want, (options, folder, got, want)
        bench.end()


def test_seeks(bench):
    """telldir(3) and seekdir(3) while entries come and go, and the listing is read again: none is skipped or shown twice."""
    count = 3000
    for options in (("--revalidate", "0.1"), ("--revalidate", "0.1", "--exact")):
        os.makedirs(f"{bench.target}/many")
        for i in range(count):
            write(f"{bench.target}/many/m{i:04}", b"")
        bench.mount(*options)
        stream = LIBC.opendir(f"{bench.view}/many".encode())
        seen, places = [], []
        while True:
            places.append(LIBC.telldir(stream))
            entry = next_entry(stream)
            if not entry:
                break
            seen.append(entry[0])
            if len(seen) % 1000 == 10:
                for i in range(40):
                    write(f"{bench.target}/many/a{len(seen)}-{i}", b"")
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(f"{bench.target}/many/m{i * 7 + len(seen) % 7:04}")
                time.sleep(0.15)
                os.listdir(f"{bench.view}/many")
        assert len(set(seen)) == len(seen) >= count, (len(seen), len(set(seen)))
        left = {name.encode() for name in os.listdir(f"{bench.target}/many") if name.startswith("m")}
        assert left <= set(seen), sorted(left - set(seen))[:5]
        for i in (2000, 17, 2999, 1, 0, 1500):
            LIBC.seekdir(stream, places[i])
            assert next_entry(stream)[0] == seen[i], (options, i)
        LIBC.rewinddir(stream)
        time.sleep(0.15)
        again = [name for name, _ in iter(lambda: next_entry(stream), None)]
        assert sorted(again)[2:] == sorted(os.fsencode(name) for name in os.listdir(f"{bench.target}/many"))
        LIBC.closedir(stream)
        bench.end()
        shutil.rmtree(f"{bench.target}/many")


def test_trusted(bench):
    """Attributes that a process cannot read are not listed to it."""
    path, seen = f"{bench.target}/file", f"{bench.view}/file"
    write(path, b"")
    os.chmod(bench.dir, 0o755)
    os.chmod(path, 0o644)
    os.setxattr(path, "trusted.secret", b"1")
    os.setxattr(path, "user.open", b"1")
    bench.mount("--allow-other")
    code = "import os, sys; print(sorted(os.listxattr(sys.argv[1])))"
    for more in ({}, {"user": 65534, "group": 65534, "extra_groups": []}):
        want, got = (subprocess.run(["/usr/bin/python3", "-c", code, p], check=True, capture_output=True, text=True, **more).stdout
                     for p in (path, seen))
        assert got == want, (more, got, want)


def test_unlisted(bench):
    """Names that a folder has but does not list: storage is asked for each of them, once."""
    with Counted(bench, FAULTY) as target:
        os.makedirs(f"{target.source}/.snapshot/day")
        write(f"{target.source}/unlisted", b"1")
        write(f"{target.source}/file", b"2")
        target.rule("readdir snapshot hide\nreaddir unlisted hide")
        bench.mount("--enoent-ttl", "0", "--exact")
        assert os.listdir(bench.view) == ["file"]
        assert os.listdir(f"{bench.view}/.snapshot") == ["day"] and read(f"{bench.view}/unlisted") == b"1"
        target.calls()
        for _ in range(5):
            for name in (".none", "none", "other"):
                assert outcome(os.stat, f"{bench.view}/{name}") == errno.ENOENT
        calls = target.calls()
        assert all(calls["getattr", f"/{name}"] == 1 for name in (".none", "none", "other")), calls
        bench.end()


sys.exit(views.main(globals()))

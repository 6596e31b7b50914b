#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""soak.py AUGER [OPERATIONS [SECONDS]]: random operations of three users on a view, while its target is written.

Each is compared with what the folder itself had: bytes of one version of a file, never of a mix, and of
one that was there less than --revalidate ago; the same names, links, errors and permissions. Ends after
OPERATIONS, or after SECONDS. Its seed is printed; AUGER_SEED sets it.
"""
import ctypes
import errno
import mmap
import multiprocessing
import multiprocessing.sharedctypes
import os
import random
import sys
import time

import views

REVALIDATE_S = 1
LATE_S = 10  # on a loaded machine: who asks and who answers wait for a CPU; the exact bound is for versions.py
OPERATIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 6000
SECONDS = int(sys.argv[3]) if len(sys.argv) > 3 else 600
SEED = int(os.environ.get("AUGER_SEED", random.randrange(1 << 30)))

LIBC = ctypes.CDLL(None, use_errno=True)
USERS = (0, 41001, 41002)
# Folders and files: owner and mode. The second and third user are of no common group.
FOLDERS = (("all", 0, 0o755), ("one", 41001, 0o700), ("search", 0, 0o711))
MODES = ((0, 0o644), (41001, 0o600), (41002, 0o640), (0, 0o604))
FILES = [(f"{folder}/{i}", *MODES[i % len(MODES)]) for folder, _, _ in FOLDERS for i in range(12)]
BIG = 5  # of twelve files, one has more than a chunk
VERSIONS = 1 << 16  # whose end is remembered


class Shared(ctypes.Structure):
    """What the writer has done: of each file its version, and when a version was replaced (CLOCK_MONOTONIC; 0: not yet)."""

    _fields_ = [("version", ctypes.c_uint32 * len(FILES)), ("until", (ctypes.c_double * VERSIONS) * len(FILES)),
                ("done", ctypes.c_uint64 * len(USERS)), ("changes", ctypes.c_uint64), ("is_over", ctypes.c_bool)]


def size_of(i, version):
    return 100 + version * 7919 % 20000 + (1500000 if i % 12 == BIG else 0)


def content(i, version):
    unit = f"{i}:{version}|".encode()
    size = size_of(i, version)
    return (unit * (size // len(unit) + 1))[:size]


def write_version(target, i, version, shared):
    """Replaces the file by another one, which has its owner and mode before it has its name."""
    name, owner, mode = FILES[i]
    path = f"{target}/{name}"
    with open(f"{target}/new", "wb") as f:
        f.write(content(i, version))
        os.fchown(f.fileno(), owner, owner)
        os.fchmod(f.fileno(), mode)
    os.rename(f"{target}/new", path)
    if version:
        shared.until[i][(version - 1) % VERSIONS] = time.monotonic()
    shared.version[i] = version


def make_target(target, shared):
    os.chmod(target, 0o755)
    os.chmod(os.path.dirname(target), 0o755)
    for folder, owner, mode in FOLDERS:
        os.mkdir(f"{target}/{folder}")
        os.symlink("../all/0", f"{target}/{folder}/link")
        os.chown(f"{target}/{folder}", owner, owner)
        os.chmod(f"{target}/{folder}", mode)
    for i in range(len(FILES)):
        write_version(target, i, 0, shared)


def change(target, shared, seed):
    """The writer: a new version of some file, or a name that comes and goes."""
    rng = random.Random(seed)
    there = set()
    while not shared.is_over:
        i = rng.randrange(len(FILES))
        write_version(target, i, shared.version[i] + 1, shared)
        name = f"{target}/all/guest{rng.randrange(4)}"
        if name in there:
            os.unlink(name)
        else:
            with open(name, "wb"):
                pass
        there ^= {name}
        shared.changes += 1
        time.sleep(rng.choice((0.001, 0.02, 0.05)))


def version_in(data):
    head = data[:32].split(b"|")[0]
    return int(head.split(b":")[1])


def read_at(fd, length, at):
    """pread(2) stops in front of a page that fails: the next call has its error."""
    data = b""
    while len(data) < length:
        more = os.pread(fd, length - len(data), at + len(data))
        if not more:
            break
        data += more
    return data


def difference(got, want):
    first = next((k for k, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
    return f"{len(got)} bytes, not {len(want)}, from {first} on {got[first:first + 20]}, not {want[first:first + 20]}"


def may(path, wanted):
    """os.access, which does not hide that a file was replaced meanwhile."""
    if LIBC.access(os.fsencode(path), wanted) == 0:
        return True
    if ctypes.get_errno() != errno.EACCES:
        raise OSError(ctypes.get_errno(), "access", path)
    return False


class User:
    """One user's operations on the view; each returns what is wrong, or None."""

    def __init__(self, bench, shared, number, may_map):
        self.view, self.target, self.shared, self.number, self.may_map = bench.view, bench.target, shared, number, may_map
        self.rng = random.Random(SEED + number)
        self.gone = 0  # ESTALE: the file was replaced between open and read

    def judge(self, i, version, begin):
        """Was this version there less than --revalidate before begin?"""
        if version > self.shared.version[i] + 1:
            return f"{FILES[i][0]}: version {version} is not there yet"
        until = self.shared.until[i][version % VERSIONS]
        if self.shared.version[i] - version < VERSIONS and until and until < begin - REVALIDATE_S - LATE_S:
            return f"{FILES[i][0]}: version {version} was replaced {begin - until:.1f} s ago"
        return None

    def whole(self, i, path):
        begin = time.monotonic()
        with open(path, "rb") as f:
            data = f.read()
        version = version_in(data)
        return f"{FILES[i][0]}: mixed" if data != content(i, version) else self.judge(i, version, begin)

    def parts(self, i, path):
        """The first read says which version it is; all others of the same descriptor are of that one."""
        begin = time.monotonic()
        fd = os.open(path, os.O_RDONLY)
        try:
            version = version_in(os.pread(fd, 64, 0))
            want = content(i, version)
            for _ in range(4):
                at, length = self.rng.randrange(len(want)), self.rng.randrange(1, 200000)
                got, part = read_at(fd, length, at), want[at:at + length]
                if got != part:
                    return f"{FILES[i][0]}: mixed at {at}: {difference(got, part)} of version {version}"
            if self.may_map and self.rng.randrange(4) == 0:
                if read_at(fd, len(want), 0) != want:  # what is not cached of a replaced file is SIGBUS
                    return f"{FILES[i][0]}: mixed as a whole"
                with mmap.mmap(fd, len(want), mmap.MAP_PRIVATE, mmap.PROT_READ) as m:
                    if m[:] != want:
                        return f"{FILES[i][0]}: mixed when mapped"
        finally:
            os.close(fd)
        return self.judge(i, version, begin)

    def size(self, i, path):
        begin, size = time.monotonic(), os.stat(path).st_size
        version = self.shared.version[i]
        for v in range(version + 1, max(version - 4000, -1), -1):
            if size_of(i, v) == size and not self.judge(i, v, begin):
                return None
        return f"{FILES[i][0]}: size {size}"

    def names(self, i, path):
        folder = os.path.dirname(path)
        got = set(os.listdir(folder))
        want = {"link", *(str(n) for n in range(12))}
        return None if want <= got <= want | {f"guest{n}" for n in range(4)} else f"{folder}: {sorted(got)}"

    def link(self, i, path):
        to = os.readlink(os.path.dirname(path) + "/link")
        return None if to == "../all/0" else f"link to {to}"

    def rights(self, i, path):
        for mode in (os.R_OK, os.X_OK, os.F_OK):
            if may(path, mode) != may(f"{self.target}/{FILES[i][0]}", mode):
                return f"{FILES[i][0]}: access {mode}"
        return None

    def missing(self, i, path):
        try:
            os.stat(path + "no")
        except OSError as e:
            return None if e.errno in (errno.ENOENT, errno.EACCES) else f"{path}no: {e}"
        return f"{path}no is there"

    def wrong(self):
        """One operation. The folder itself says whether it is permitted."""
        i = self.rng.randrange(len(FILES))
        call = self.rng.choice((self.whole, self.whole, self.parts, self.parts, self.size, self.size, self.names, self.link,
                                self.rights, self.missing))
        try:
            return call(i, f"{self.view}/{FILES[i][0]}")
        except OSError as e:
            if e.errno == errno.ESTALE and call in (self.whole, self.parts, self.rights):
                self.gone += 1
                return None
            return self.explain(call, i, e)

    def explain(self, call, i, error):
        path = f"{self.target}/{FILES[i][0]}"
        try:
            if call in (self.whole, self.parts):
                os.close(os.open(path, os.O_RDONLY))
            elif call == self.names:
                os.listdir(os.path.dirname(path))
            else:
                os.lstat(path)
        except OSError as e:
            if e.errno == error.errno:
                return None
        return f"{call.__name__} {FILES[i][0]}: {error}"

    def run(self):
        if USERS[self.number]:
            os.setgroups([])
            os.setresgid(*[USERS[self.number]] * 3)
            os.setresuid(*[USERS[self.number]] * 3)
        while not self.shared.is_over:
            wrong = self.wrong()
            if wrong:
                print(f"user {USERS[self.number]}: {wrong}", file=sys.stderr, flush=True)
                os._exit(1)
            self.shared.done[self.number] += 1
        os._exit(2 if self.gone > self.shared.done[self.number] / 10 else 0)


def ask(bench, rng, may_reset):
    """What an operator does meanwhile."""
    calls = [("stats", bench.view), ("stats", "-f", "json", bench.view)] + may_reset * [("reset", bench.view)]
    done = views.run(*rng.choice(calls))
    assert done.returncode == 0, done


def soak(bench, *options, may_map=True):
    shared = multiprocessing.sharedctypes.RawValue(Shared)
    make_target(bench.target, shared)
    bench.mount("--allow-other", "--revalidate", str(REVALIDATE_S), *options)
    workers = [multiprocessing.Process(target=change, args=(bench.target, shared, SEED))]
    workers += [multiprocessing.Process(target=User(bench, shared, n, may_map).run) for n in range(len(USERS))]
    for worker in workers:
        worker.start()
    rng, until = random.Random(SEED), time.monotonic() + SECONDS
    try:
        while sum(shared.done) < OPERATIONS and time.monotonic() < until and all(w.is_alive() for w in workers):
            time.sleep(0.5)
            ask(bench, rng, not may_map)
    finally:
        shared.is_over = True
        for worker in workers:
            worker.join(60)
            if worker.is_alive():
                worker.kill()
    assert [w.exitcode for w in workers] == [0] * len(workers), (SEED, [w.exitcode for w in workers])
    assert all(shared.done), list(shared.done)
    print(f"# seed {SEED}: {list(shared.done)} operations, {shared.changes} changes")


def test_three_users_and_a_writer(bench):
    soak(bench)


def test_small_budget(bench):
    """What is in use is evicted and reset all the time. What is mapped of a replaced file is then gone: SIGBUS."""
    soak(bench, "--budget", "4M", "--exact", may_map=False)


def test_rights_by_storage(bench):
    """Storage is asked in each user's name what it may do."""
    soak(bench, "--rights", "storage")


if os.geteuid() != 0:
    print("1..0 # SKIP needs root")
    sys.exit(0)
views.LONGEST_S += SECONDS
sys.exit(views.main(globals()))

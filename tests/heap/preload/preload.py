#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libauger-heap.so against programs that know what they allocate: preload.py LIBRARY FOLDER CHECKED [CASE...]"""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../live"))
import heapfile  # pylint: disable=wrong-import-position
import live  # pylint: disable=wrong-import-position


MAPPED = 64  # of flags
PAGE = os.sysconf("SC_PAGE_SIZE")


def record(bench, *command, status=0, library=None, **options):
    """The files of all processes of a command, in the order they were begun."""
    folder = bench.path("files")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    names = {"dir": "AUGER_HEAP", "exact": "AUGER_HEAP_EXACT_PEAK", "sample": "AUGER_HEAP_SAMPLE",
             "limit": "AUGER_HEAP_LIMIT", "mmap": "AUGER_HEAP_MMAP"}
    words = [f"{names[k]}={v}" for k, v in options.items()]
    bench.run("env", f"LD_PRELOAD={library or bench.tool}", f"AUGER_HEAP={folder}", *words, *command, status=status)
    return sorted(heapfile.files(folder), key=lambda f: f.start_ns)


def known(bench, case, *args, **options):
    files = record(bench, bench.workload("known"), case, *args, **options)
    bench.check(files, f"{case}: no file")
    return files


def sums(bench, file, name, **want):
    got = file.by_function()[name]
    for key, value in want.items():
        bench.equal(getattr(got, key), value, f"{name}: {key}")


def leaks(bench):
    file = known(bench, "leaks")[0]
    sums(bench, file, "leak_ten", objects=10, bytes=1000, live=10, live_bytes=1000, temporary=0)
    sums(bench, file, "free_all", objects=50, bytes=10000, live=0, live_bytes=0, peak_bytes=10000)
    sums(bench, file, "main", objects=60)
    bench.equal(file.total().objects, 60, "all blocks")
    bench.equal((file.live, file.peak, file.unknown_frees, file.missed, file.cut_stacks), (1000, 10000, 0, 0, 0), "header")
    bench.check(file.flags & heapfile.ENDED, "its end was not seen")
    stack = max((file.stack(s[0]) for s in file.sites if "leak_ten" in file.stack(s[0])), key=len)
    bench.equal(stack[:3], ["leak_ten", "leaks", "main"], "stack")
    bench.equal(stack[-1], "_start", "outermost frame")
    bench.equal(os.path.basename(file.program), "known", "program")
    bench.check(file.arguments.endswith("known leaks"), file.arguments)


def peak(bench):
    for exact in (0, 1):
        file = known(bench, "peak", exact=exact)[0]
        sums(bench, file, "first_half", objects=1000000, peak=1, peak_bytes=3000, live=0)
        sums(bench, file, "second_half", objects=1000000, peak=1, peak_bytes=7000, live=0)
        sums(bench, file, "after_peak", peak=0, peak_bytes=0, live_bytes=9999)
        bench.equal(file.peak, 10000, "peak")
        file = known(bench, "large", exact=exact)[0]
        sums(bench, file, "largest", objects=1, peak=1, peak_bytes=10000000, live=0)
        sums(bench, file, "after_peak", peak=0, peak_bytes=0, live_bytes=9999)


def threads(bench):
    want = sum(100000 + i for i in range(8))
    file = known(bench, "threads", exact=1)[0]
    sums(bench, file, "in_thread", objects=160008, bytes=160000 * 64 + want, live=0, temporary=160008)
    # The threads' own memory, that of libc for them, is held at the peak, too.
    bench.check(want <= file.by_function()["in_thread"].peak_bytes <= want + 8 * 64, f"peak of the threads: {file.by_function()['in_thread']}")
    bench.equal(file.total().peak_bytes, file.peak, "the peak and its parts")
    bench.equal(file.threads, 9, "threads")
    file = known(bench, "threads")[0]
    sums(bench, file, "in_thread", objects=160008, bytes=160000 * 64 + want, live=0)
    bench.check(abs(file.peak - want) <= 9 * 65536, f"peak of 9 threads: {file.peak}, want {want}")
    bench.check(abs(file.total().peak_bytes - want) <= 18 * 65536, f"its parts: {file.total().peak_bytes}, want {want}")


def temporary(bench):
    file = known(bench, "temporary")[0]
    sums(bench, file, "is_temporary", objects=100, temporary=100, temporary_bytes=1000)
    sums(bench, file, "is_nearly_temporary", objects=200, temporary=200, temporary_bytes=4100)
    sums(bench, file, "is_not_temporary", objects=400, temporary=200, temporary_bytes=100 * (32 + 33))


def reallocs(bench):
    file = known(bench, "reallocs")[0]
    sums(bench, file, "grows", objects=17, bytes=(2 << 20) - 16, live=1, live_bytes=1 << 20, temporary=0)
    bench.check(1 <= file.by_function()["grows"].moves <= 16, "moves")
    sums(bench, file, "fails", objects=1, live=1, live_bytes=500)
    sums(bench, file, "frees_by_realloc", objects=1, live=0)
    bench.equal(file.unknown_frees, 0, "unknown frees")


def races(bench):
    for exact in (0, 1):
        file = known(bench, "races", exact=exact)[0]
        sums(bench, file, "race", objects=1200000, live=0, live_bytes=0, bytes=400000 * 101010)
        bench.equal(file.unknown_frees, 0, "unknown frees")


def deep(bench):
    file = known(bench, "deep")[0]
    depths = sorted(file.stack(s[0]).count("dig") for s in file.sites if "dig" in file.stack(s[0]))
    bench.check(2000 in depths, f"depths of dig: {depths}")
    bench.equal(file.cut_stacks, 1, "cut stacks")
    sums(bench, file, "dig", objects=3, bytes=231)


def entries(bench):
    file = known(bench, "entries")[0]
    sums(bench, file, "by_malloc", objects=2, bytes=1001)
    for name, size in {"calloc": 1002, "realloc": 1003, "reallocarray": 1004, "posix_memalign": 1005,
                       "aligned_alloc": 1024, "memalign": 1007, "valloc": 1008, "pvalloc": 1009, "strdup": 11}.items():
        sums(bench, file, f"by_{name}", objects=1, bytes=size, live=0 if name == "aligned_alloc" else 1)


def forks(bench):
    files = known(bench, "forks")
    bench.equal(len(files), 3, "files")
    sums(bench, files[0], "in_parent", objects=1, live_bytes=5000)
    sums(bench, files[0], "in_child", objects=0)
    for file in files[1:]:
        bench.equal((file.parent, file.flags & heapfile.FORKED), (files[0].pid, heapfile.FORKED), "child")
        bench.equal((file.inherited_frees, file.unknown_frees), (1, 0), "the parent's block")
        sums(bench, file, "in_child", objects=1, live_bytes=4000)
        bench.equal(file.total().objects, 1, "all blocks of the child")


def forks_in_threads(bench):
    files = known(bench, "forks_in_threads")
    bench.equal(len(files), 51, "files")
    for file in files[1:]:
        sums(bench, file, "in_child", objects=1, live_bytes=4000)


def execs(bench):
    files = known(bench, "execs")
    bench.equal(len(files), 2, "files")
    bench.equal(files[0].pid, files[1].pid, "PID")
    sums(bench, files[0], "in_parent", objects=1)
    sums(bench, files[1], "leak_ten", objects=10)


def spawns(bench):
    files = known(bench, "spawns")
    bench.equal(len(files), 3, "files")
    sums(bench, files[0], "in_parent", objects=1, live_bytes=5000)
    for file in files[1:]:
        sums(bench, file, "leak_ten", objects=10)


def ends(bench):
    for case, status in (("killed", -signal.SIGKILL), ("aborted", -signal.SIGABRT), ("ended", 7)):
        file = known(bench, case, status=status)[0]
        sums(bench, file, "leak_ten", objects=10, live_bytes=1000)
        sums(bench, file, "free_all", objects=50, live=0)
        bench.equal(file.flags & heapfile.ENDED, 0, f"{case}: flags")


def stacks(bench):
    file = known(bench, "small_stacks")[0]
    sums(bench, file, "on_small_stack", objects=20, bytes=20 * 123)
    file = known(bench, "coroutines")[0]
    sums(bench, file, "on_other_stack", objects=10, bytes=3210)
    sums(bench, file, "coroutine", objects=10)
    sums(bench, file, "leak_ten", objects=20)
    bench.check(file.slow_walks >= 10, f"walks of other stacks: {file.slow_walks}")


def closes(bench):
    file = known(bench, "closes")[0]
    sums(bench, file, "branch", objects=8192, bytes=8192)
    bench.check(len(file.sites) > 8192, f"{len(file.sites)} sites")
    bench.equal(file.flags & heapfile.FULL, 0, "full")


def handles(bench):
    file = known(bench, "handles")[0]
    sums(bench, file, "on_signal", objects=100, live=0)
    sums(bench, file, "handles", objects=110)
    sums(bench, file, "main", objects=110)


def plugins(bench):
    paths = [bench.workload(name) for name in ("plugin.so", "other.so")]
    file = known(bench, "plugins", *paths)[0]
    sums(bench, file, "plugin_make", objects=100, bytes=4800)
    sums(bench, file, "other_make", objects=100, bytes=4800)
    for name in ("plugin_make", "other_make"):
        bench.check("plugins" in next(s for s in map(file.stack, (s[0] for s in file.sites)) if name in s), f"callers of {name}")
    bench.check(len(file.mappings) < 60, f"{len(file.mappings)} mappings")


def binds(bench):
    """RTLD_DEEPBIND does not lead past the hooks, and the RUNPATH of the caller still counts."""
    file = record(bench, bench.workload("binds"))[0]
    sums(bench, file, "plugin_make", objects=5, bytes=5 * 77, live=0)
    bench.equal((file.unknown_frees, file.missed), (0, 0), "unknown frees, missed")


def pools(bench):
    """What an allocator reports of its blocks, by our names and by heaptrack's."""
    file = record(bench, bench.workload("pools"))[0]
    sums(bench, file, "by_auger", objects=12, bytes=10 * 100 + 2 * 300, live=1, live_bytes=300, moves=1)
    sums(bench, file, "by_heaptrack", objects=4, bytes=3 * 64 + 128, live=2, live_bytes=64 + 128, moves=1)
    bench.equal(file.total().objects, 16, "all blocks")
    bench.equal((file.unknown_frees, file.missed), (0, 0), "unknown frees, missed")


def maps(bench, case, **options):
    files = record(bench, bench.workload("maps"), case, mmap=1, **options)
    bench.check(files and files[0].flags & MAPPED, f"{case}: no file of mappings")
    for file in files:
        bench.equal((file.missed, file.unknown_frees), (0, 0), f"{case}: missed, unknown frees")
        bench.equal(file.total().live_bytes, file.live, f"{case}: the file's sums")
    return files


def mappings(bench):
    """Each mapping with its pages, by who mapped it, and what is left of it."""
    for exact in (0, 1):
        file = maps(bench, "pieces", exact=exact)[0]
        sums(bench, file, "keeps_ends", objects=1, bytes=10 * PAGE, live=1, live_bytes=8 * PAGE)
        sums(bench, file, "ends_in_pieces", objects=1, bytes=6 * PAGE, live=0, live_bytes=0)
        sums(bench, file, "is_odd", objects=1, bytes=2 * PAGE, live=1, live_bytes=2 * PAGE)
        file = maps(bench, "over", exact=exact)[0]
        sums(bench, file, "is_covered", objects=1, bytes=8 * PAGE, live=1, live_bytes=5 * PAGE)
        sums(bench, file, "covers", objects=1, bytes=3 * PAGE, live=1, live_bytes=3 * PAGE)
        bench.equal(file.peak, 8 * PAGE, "peak of what is covered")
        file = maps(bench, "moves", exact=exact)[0]
        sums(bench, file, "grows", objects=3, bytes=4006 * PAGE, live=1, live_bytes=2 * PAGE, temporary=0)
        bench.equal(file.peak, 4000 * PAGE, "peak of what grows")
        sums(bench, maps(bench, "breaks")[0], "breaks", objects=1, bytes=3000, live=1, live_bytes=2000)
        sums(bench, maps(bench, "fails")[0], "fails", objects=1, bytes=2 * PAGE, live=1, live_bytes=2 * PAGE)
        sums(bench, maps(bench, "temporary")[0], "is_temporary", objects=100, bytes=100 * PAGE, live=0, temporary=100)
    file = record(bench, bench.workload("maps"), "pieces")[0]
    bench.equal((file.total().objects, file.flags & MAPPED), (0, 0), "without the option")


def mapped_by_malloc(bench):
    """What malloc maps counts once: as blocks. Also that of an allocator of the program's own."""
    for library in (bench.tool, f"{bench.tool}:{bench.workload('arena.so')}"):
        file = maps(bench, "blocks", library=library)[0]
        bench.equal((file.total().objects, file.total().bytes), (100, 100 << 20), f"blocks and mappings with {library}")


def thread_stacks(bench):
    """With their guards, until the thread ends; a stack of the program's own is no mapping."""
    file = maps(bench, "threads")[0]
    size = (1 << 20) + PAGE
    stacks_made = file.by_function(lambda names: "wait_once" not in names)["creates"]
    # The C library allocates what it keeps of a thread in pthread_create().
    bench.equal((stacks_made.bytes // size, stacks_made.live_bytes // size), (4, 1), f"stacks: {stacks_made}")


def mapping_races(bench):
    """Two threads never have a page at once."""
    for exact in (0, 1):
        file = maps(bench, "races", exact=exact)[0]
        sums(bench, file, "race", objects=120000, bytes=(80000 * 3 + 40000) * PAGE, live=0, live_bytes=0)


def blocked_mappings(bench):
    """No lock is held while the kernel works."""
    file = maps(bench, "blocked")[0]
    if file.by_function()["blocked"].objects == 1:
        raise live.Skip("no userfaultfd here")
    bench.equal(file.by_function()["waits_to_unmap"].live_bytes, 0, "live bytes")


def forked_mappings(bench):
    files = maps(bench, "forks")
    bench.equal(len(files), 2, "files")
    sums(bench, files[0], "in_parent", objects=1, live_bytes=7 * PAGE)
    bench.equal(files[1].inherited_frees, 1, "the parent's mapping")
    sums(bench, files[1], "in_child", objects=1, live_bytes=5 * PAGE)


def full(bench):
    """Without room for more stacks, the rest counts at one site."""
    file = known(bench, "closes", limit=400000)[0]
    bench.check(file.flags & heapfile.FULL, "not full")
    bench.check(file.size <= 400000, f"{file.size} bytes")
    bench.equal(file.total().objects, 8203, "all blocks")


def samples(bench):
    file = known(bench, "samples", sample=65536)[0]
    got = file.by_function()["many_small"]
    # 1,600 expected samples of small blocks, and 625 of large ones: 5 sigma are 12 and 20 %.
    bench.check(abs(got.bytes - 104960000) < 0.2 * 104960000, f"bytes: {got.bytes}")
    bench.check(abs(got.live_bytes - 40960000) < 0.25 * 40960000, f"live bytes: {got.live_bytes}")
    bench.check(abs(got.objects - 1008192) < 0.2 * 1008192, f"objects: {got.objects}")
    bench.equal(file.period, 65536, "period")


def exceptions(bench):
    file = record(bench, bench.workload("throws"))[0]
    sums(bench, file, "_ZL7throweri", live=0, live_bytes=0)
    sums(bench, file, "_ZL6by_newv", objects=1, bytes=1234, live=0)
    sums(bench, file, "_ZL14by_aligned_newv", objects=1, bytes=128, live=0)
    bench.equal(file.by_function()["main"].live, 0, "live blocks of main")
    bench.equal((file.unknown_frees, file.missed), (0, 0), "unknown, missed")


def incremental(bench):
    """What was kept of a stack is what a full walk finds."""
    for seed in range(1, 4):
        file = record(bench, bench.workload("trees"), str(seed), library=CHECKED)[0]
        bench.check(file.total().objects > 1000, f"only {file.total().objects} blocks")
        bench.check(file.slow_walks >= file.total().objects, "nothing was checked")
        bench.equal((file.cut_stacks, file.unknown_frees), (0, 0), "cut stacks, unknown frees")
    for case in ("leaks", "reallocs", "threads", "handles", "coroutines", "forks"):
        record(bench, bench.workload("known"), case, library=CHECKED)


def ordinary(bench):
    """Programs print and return what they do without the library."""
    for command in (["ls", "/"], ["sh", "-c", "echo a | cat; exit 3"], ["git", "--version"], ["/usr/bin/python3", "-c", "print(sum(range(100)))"]):
        plain = bench.run(*command, status=None)
        folder = bench.path("ordinary")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        done = bench.run("env", f"LD_PRELOAD={bench.tool}", f"AUGER_HEAP={folder}", *command, status=plain.returncode)
        bench.equal((done.stdout, done.stderr), (plain.stdout, plain.stderr), " ".join(command))
    files = heapfile.files(bench.path("ordinary"))
    bench.check(len(files) >= 5, f"{len(files)} files")
    for file in files:
        bench.equal(file.total().live_bytes, file.live, "the file's sums")
    os.makedirs(bench.path("nothing"), exist_ok=True)
    bench.run("env", f"LD_PRELOAD={bench.tool}", "AUGER_HEAP=/nonexistent/folder", "ls", "/")


CHECKED = os.path.realpath(sys.argv.pop(3))
live.main([leaks, peak, threads, temporary, reallocs, races, deep, entries, forks, forks_in_threads, execs, spawns, ends,
           stacks, closes, handles, plugins, binds, pools, mappings, mapped_by_malloc, thread_stacks,
           mapping_races, blocked_mappings, forked_mappings, full, samples, exceptions, incremental, ordinary])

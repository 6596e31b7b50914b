# SPDX-License-Identifier: MIT
"""Memory of Python objects as the allocators' hooks count it, against tracemalloc: to the byte."""

import array
import ctypes
import io
import json
import os
import random
import subprocess
import sys
import threading
import tracemalloc

import tap
from auger import StageProfiler, _stages

ALLOCATORS = ("pymalloc", "malloc", "pymalloc_debug", "malloc_debug")


def objects():
    """Blocks of all kinds: small and large, grown, shrunk, cleared by calloc; what it returns lives."""
    rng = random.Random(1)
    text = json.dumps([{"id": i, "name": f"n{i}", "v": i * 1.5} for i in range(500)])
    kept = [json.loads(text), {i: str(i) for i in range(2000)}]
    kept.append([bytes(n) for n in (0, 1, 479, 480, 511, 512, 513, 65532, 65533, 65534, 65535, 65536)])
    kept.append(bytes(5 << 20))
    grown = bytearray()
    numbers = array.array("q")
    for i in range(100):
        grown.extend(b"x" * rng.randrange(2000))
        numbers.extend(range(rng.randrange(50)))
    del grown[len(grown) // 3:]
    kept += [grown, numbers, io.StringIO("y" * 100000)]
    for _ in range(1000):
        i = rng.randrange(len(kept[1]))
        kept[1][i] = "z" * rng.randrange(2000)
    return kept


class Both:
    """What both say about a window. tracemalloc's hooks are below ours: its own memory is not seen."""

    def __enter__(self):
        tracemalloc.start()
        self.prof = StageProfiler(level="time")
        with self.prof.stage("warm up"):
            pass
        return self

    def __exit__(self, *_):
        self.prof.close()
        tracemalloc.stop()

    def live(self):
        return _stages.allocated(), tracemalloc.get_traced_memory()[0]


def to_the_byte():
    with Both() as both:
        objects()  # in 3.9, tracemalloc misses what some first calls keep
        ours, theirs = both.live()
        kept = objects()
        ours_full, theirs_full = both.live()
        del kept
        ours_end, theirs_end = both.live()
    tap.equal(ours_full - ours, theirs_full - theirs)
    tap.equal(ours_end - ours, theirs_end - theirs)
    assert ours_full - ours > 5 << 20


def peak_of_a_stage():
    with Both() as both:
        objects()
        tracemalloc.reset_peak()
        start = tracemalloc.get_traced_memory()[0]
        begin = _stages.allocated()
        with both.prof.stage("peak"):
            objects()
        peak = tracemalloc.get_traced_memory()[1] - start + begin
        row = both.prof.report()["stages"][-1]
    tap.equal(row["stage"], "peak")
    tap.near(row["py_kb_peak_max"], peak / 1024, 1)


def in_threads():
    """Also what is given back by another thread, and without the GIL (hashing, I/O)."""
    blocks = []

    def work():
        for _ in range(15):
            blocks.append(objects()[1])
            if len(blocks) > 5:
                blocks.pop(0)

    with Both() as both:
        ours, theirs = both.live()
        pool = [threading.Thread(target=work) for _ in range(2)]
        for thread in pool:
            thread.start()
        for thread in pool:
            thread.join()
        ours_end, theirs_end = both.live()
    tap.near(ours_end - ours, theirs_end - theirs, 8192)


def other_allocators():
    """Each form of PYTHONMALLOC, in a process of its own."""
    for name in ALLOCATORS:
        env = dict(os.environ, PYTHONMALLOC=name)
        done = subprocess.run([sys.executable, __file__, "one"], env=env, check=False,
                              capture_output=True, text=True)
        tap.equal((done.returncode, done.stderr), (0, ""), name)


def stage_delta(prof, size):
    label = f"block {size}"
    with prof.stage(label):
        block = bytes(size)
    row = next(row for row in prof.report()["stages"] if row["stage"].endswith(label))
    del block
    return row["py_kb_delta"]


def hooks_of_others():
    """tracemalloc begun and stopped before, after and across ours: no crash, right counts."""
    tracemalloc.start()
    one = StageProfiler(level="time")
    tap.near(stage_delta(one, 1 << 20), 1024, 8, "above tracemalloc")
    tracemalloc.stop()  # takes our hooks away with its own
    with one.stage("without hooks"):
        objects()
    two = StageProfiler(level="time")
    tap.near(stage_delta(two, 2 << 20), 2048, 8, "hooked again")
    with one.stage("with hooks that are not its own"):
        pass
    assert one.report()["stages"][-1]["py_kb_delta"] is None
    two.close()
    one.close()

    three = StageProfiler(level="time")
    tracemalloc.start()
    three.close()  # ours stay below, and pass on
    kept = objects()
    four = StageProfiler(level="time")
    tap.near(stage_delta(four, 3 << 20), 3072, 8, "below tracemalloc")
    tracemalloc.stop()
    tap.near(stage_delta(four, 4 << 20), 4096, 8, "alone again")
    four.close()
    del kept


def source_tracemalloc():
    assert not tracemalloc.is_tracing()
    prof = StageProfiler(source="tracemalloc", level="time")
    assert tracemalloc.is_tracing()
    with prof.stage("outer"):
        block = bytes(4 << 20)
        del block
        tap.near(stage_delta(prof, 1 << 20), 1024, 8)
    report = prof.report()
    prof.close()
    assert not tracemalloc.is_tracing()
    tap.equal(report["py_source"], "tracemalloc")
    tap.equal(report["python_memory_traced"], True)
    outer = next(row for row in report["stages"] if row["stage"] == "outer")
    tap.near(outer["py_kb_peak_max"], 4 << 10, 64)

    tracemalloc.start()
    prof = StageProfiler(source="tracemalloc")
    prof.close()
    assert tracemalloc.is_tracing()
    tracemalloc.stop()


def sources_agree():
    """The same program by both sources."""
    rows = []
    for source in ("allocators", "tracemalloc"):
        with StageProfiler(source=source, level="time") as prof:
            for _ in range(2):
                with prof.stage("objects"):
                    kept = objects()
                with prof.stage("drop"):
                    del kept
        tap.equal(prof.report()["py_source"], {"allocators": "pymem"}.get(source, source))
        rows.append({row["stage"]: row for row in prof.report()["stages"]})
    for label in ("objects", "drop"):
        for column in ("py_kb_delta", "py_kb_peak_max"):
            tap.near(rows[0][label][column], rows[1][label][column], 64, f"{label} {column}")


def both_heaps():
    """Run with every Python object on the C heap, and that counted."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    with StageProfiler(level="time") as prof:
        with prof.stage("python"):
            kept = [bytes(100) for _ in range(50000)]
        with prof.stage("native"):
            block = libc.malloc(ctypes.c_size_t(6 << 20))
        with prof.stage("free"):
            libc.free(ctypes.c_void_p(block))
            kept.clear()
    report = prof.report()
    rows = {row["stage"]: row for row in report["stages"]}
    python, native, free = rows["python"], rows["native"], rows["free"]
    assert report["heap_source"] and report["py_source"] == "pymem", report
    assert 0 < python["py_kb_delta"] <= python["heap_kb_delta"] < 1.3 * python["py_kb_delta"], python
    assert python["allocs"] >= 50000, python
    tap.near(native["heap_kb_delta"], 6 << 10, 16)
    tap.near(native["py_kb_delta"], 0, 16)
    tap.near(free["heap_kb_delta"], -python["heap_kb_delta"] - native["heap_kb_delta"], 600)
    tap.near(free["heap_kb_peak_max"] - native["heap_kb_peak_max"], 0, 64)


def native_and_python():
    """Native and Python heap in one number, with the Python share of it: PYTHONMALLOC=malloc and
    libauger-count.so."""
    library = os.environ.get("AUGER_COUNT")
    if not library:
        raise tap.Skip("AUGER_COUNT does not name libauger-count.so")
    env = dict(os.environ, PYTHONMALLOC="malloc", LD_PRELOAD=library)
    done = subprocess.run([sys.executable, __file__, "both_heaps"], env=env, check=False,
                          capture_output=True, text=True)
    tap.equal((done.returncode, done.stderr), (0, ""))


if sys.argv[1:] == ["one"]:
    tap.run(to_the_byte, peak_of_a_stage)
elif sys.argv[1:] == ["both_heaps"]:
    tap.run(both_heaps)
elif __name__ == "__main__":
    tap.run(to_the_byte, peak_of_a_stage, in_threads, other_allocators, hooks_of_others,
            source_tracemalloc, sources_agree, native_and_python)

# SPDX-License-Identifier: MIT
"""stages_python.py LIBRARY: a `with` block against a bare pair of time.perf_counter() calls, and memory
of Python objects by our hooks, and of native code too by LIBRARY (libauger-count.so), against
tracemalloc. CPU time, least of several rounds; each measurement in processes of its own, so that
none warms or hooks the other's, in turns, so that what else the machine does is nobody's."""

import json
import os
import subprocess
import sys
import time

import bench

PAIRS, OBJECTS, ROUNDS, TURNS = 100000, 20000, 5, 4


def least(run, count):
    """Nanoseconds of CPU for one of count."""
    best = None
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        run(count)
        spent = time.process_time_ns() - start
        best = spent if best is None or spent < best else best
    return best / count


def empty(count):
    for _ in range(count):
        pass


def pair(count):
    clock = time.perf_counter
    for _ in range(count):
        clock()
        clock()


def blocks(prof):
    """Stages at depth four, as in the benchmark of the C library."""

    def run(count):
        with prof.stage("a"), prof.stage("b"), prof.stage("c"):
            for _ in range(count):
                with prof.stage("d"):
                    pass

    return run


def wrapped(prof):
    def nothing():
        pass

    call = prof.wrap("d", nothing)

    def run(count):
        for _ in range(count):
            call()

    return run


def contextmanager(count):
    """A stage as it is written in Python alone, without any measuring but of time."""
    from contextlib import contextmanager as manager  # pylint: disable=import-outside-toplevel

    rows = {}

    @manager
    def stage(name):
        start = time.perf_counter()
        try:
            yield
        finally:
            row = rows.setdefault(name, [0, 0.0])
            row[0] += 1
            row[1] += time.perf_counter() - start

    for _ in range(count):
        with stage("d"):
            pass


def profiler(**options):
    from auger import StageProfiler  # pylint: disable=import-outside-toplevel

    return StageProfiler(**options)


def null():
    from auger import NullProfiler  # pylint: disable=import-outside-toplevel

    return NullProfiler()


def workload(count):
    """Much memory in small objects."""
    text = json.dumps([{"id": i, "name": f"n{i}", "tags": [f"a{i % 17}", "b"], "v": i * 1.5}
                       for i in range(count)])
    rows = json.loads(text)
    kinds = {row["name"]: [row["v"]] + row["tags"] for row in rows}
    return len(json.dumps(kinds)) + len(text)


def trace():
    import tracemalloc  # pylint: disable=import-outside-toplevel

    tracemalloc.start()


MEASUREMENTS = {
    "loop": lambda: least(empty, PAIRS),
    "pair": lambda: least(pair, PAIRS),
    "null": lambda: least(blocks(null()), PAIRS),
    "off": lambda: least(blocks(profiler(level="off")), PAIRS),
    "time": lambda: least(blocks(profiler(trace_python_memory=False, level="time")), PAIRS),
    "memory": lambda: least(blocks(profiler(level="time")), PAIRS),
    "full": lambda: least(blocks(profiler()), PAIRS),
    "wrap": lambda: least(wrapped(profiler(level="time")), PAIRS),
    "contextmanager": lambda: least(contextmanager, PAIRS),
    "tracemalloc pair": lambda: least(
        blocks(profiler(source="tracemalloc", level="time")), PAIRS // 10),
    "work": lambda: least(workload, OBJECTS),
    "work hooks": lambda: (profiler(level="time"), least(workload, OBJECTS))[1],
    "work c heap": lambda: least(workload, OBJECTS),
    "work both": lambda: (profiler(level="time"), least(workload, OBJECTS))[1],
    "work tracemalloc": lambda: (trace(), least(workload, OBJECTS))[1],
}


WITH_C_HEAP = ("work c heap", "work both")


def measure(name, library):
    """In a process of its own."""
    env = dict(os.environ)
    if name in WITH_C_HEAP:
        env.update(PYTHONMALLOC="malloc", LD_PRELOAD=library)
    done = subprocess.run([sys.executable, __file__, library, name], env=env, check=True,
                          stdout=subprocess.PIPE)
    return float(done.stdout)


def main(library):
    turns = [{name: measure(name, library) for name in MEASUREMENTS} for _ in range(TURNS)]
    got = {name: min(turn[name] for turn in turns) for name in MEASUREMENTS}
    loop = got["loop"]
    bare = got["pair"] - loop
    print(f"python {sys.version.split()[0]}; ns of CPU, without the loop's {loop:.0f}")
    print(f"  {bare:8.0f}         time.perf_counter() twice")
    for name, words in (("null", "with block, NullProfiler"),
                        ("off", "with block, level off"),
                        ("time", "with block, time"),
                        ("memory", "with block, time and Python memory"),
                        ("full", "with block, level full: process CPU, RSS and peak, faults, I/O"),
                        ("wrap", "wrapped call, time and Python memory"),
                        ("contextmanager", "the same in Python, time alone"),
                        ("tracemalloc pair", "with block, time and tracemalloc")):
        print(f"  {got[name] - loop:8.0f}  {(got[name] - loop) / bare:5.2f}  {words}")
        bench.row(words, got[name] - loop, "ns", "time.perf_counter() twice", bare)
    work = got["work"]
    print(f"memory of Python objects, {work:.0f} ns of JSON work for a record of 5 objects:")
    print(f"  {got['work hooks'] / work:8.2f}  times as long with our hooks")
    print(f"  {got['work c heap'] / work:8.2f}  with PYTHONMALLOC=malloc and libauger-count.so: one number")
    print(f"  {got['work both'] / work:8.2f}  with these and our hooks: and the Python share of it")
    print(f"  {got['work tracemalloc'] / work:8.2f}  with tracemalloc")
    bench.row("a block, time and Python memory", got["memory"] - loop, "ns", most=150)
    bench.row("JSON work with our hooks", got["work hooks"], "ns", "without", work, most=1.2)
    bench.row("JSON work with our hooks", got["work hooks"], "ns", "tracemalloc", got["work tracemalloc"])


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(MEASUREMENTS[sys.argv[2]]())
    else:
        main(sys.argv[1])

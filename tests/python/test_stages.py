# SPDX-License-Identifier: MIT
"""Stages of Python programs: nesting in threads, tasks and generators, exceptions, misuse."""

import asyncio
import contextlib
import contextvars
import gc
import inspect
import json
import multiprocessing
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

import tap
from auger import NullProfiler, StageProfiler


def calls(prof):
    return {row["stage"]: row["calls"] for row in prof.report()["stages"]}


def errors(prof):
    report = prof.report()
    return report["errors"] + sum(row["errors"] for row in report["stages"])


def row_of(prof, label):
    return next(row for row in prof.report()["stages"] if row["stage"] == label)


@contextlib.contextmanager
def profiler(**options):
    """One that must not see an error."""
    prof = StageProfiler(**options)
    yield prof
    tap.equal(errors(prof), 0, "errors")
    prof.close()


def nested():
    with profiler() as prof:
        for _ in range(3):
            with prof.stage("outer"):
                for _ in range(2):
                    with prof.stage("inner"):
                        time.sleep(0.002)
        tap.equal(calls(prof), {"outer": 3, "outer.inner": 6})
        outer, inner = row_of(prof, "outer"), row_of(prof, "outer.inner")
        assert outer["wall_s"] >= inner["wall_s"] >= 0.012
        assert outer["self_wall_s"] <= outer["wall_s"] - 0.012, outer


def recursion():
    def down(depth):
        with prof.stage("f"):
            if depth:
                down(depth - 1)

    with profiler() as prof:
        down(3)
        tap.equal(calls(prof), {"f": 1, "f.f": 1, "f.f.f": 1, "f.f.f.f": 1})


def kept_stage():
    """One object, entered inside itself and again later."""
    with profiler() as prof:
        stage = prof.stage("s")
        with stage:
            with stage, prof.stage("t"):
                pass
        with stage:
            pass
        tap.equal(calls(prof), {"s": 2, "s.s": 1, "s.s.t": 1})


def exceptions():
    with profiler() as prof:
        for _ in range(2):
            with contextlib.suppress(KeyError):
                with prof.stage("outer"):
                    with prof.stage("inner"):
                        raise KeyError("on its way")
        try:
            with prof.stage("raises"):
                raise ValueError("kept")
        except ValueError as error:
            tap.equal(str(error), "kept")
        with prof.stage("after"):
            pass
        tap.equal(calls(prof), {"outer": 2, "outer.inner": 2, "raises": 1, "after": 1})


def peaks():
    """The truth table of a nested peak: a child never cuts its parent's short."""
    mib = 1 << 20
    with profiler() as prof:
        kept = None
        with prof.stage("parent"):
            block = bytes(10 * mib)
            del block
            with prof.stage("child"):
                block = bytes(mib)
                del block
            with prof.stage("bigchild"):
                block = bytes(20 * mib)
                del block
            with prof.stage("keeper"):
                kept = bytes(3 * mib)
            with prof.stage("freer"):
                del kept
                block = bytes(2 * mib)
                del block
        want = {"parent": 20, "parent.child": 1, "parent.bigchild": 20, "parent.keeper": 3,
                "parent.freer": 3}
        for label, size in want.items():
            tap.near(row_of(prof, label)["py_kb_peak_max"], size * 1024, 64, label)
        tap.near(row_of(prof, "parent")["py_kb_delta"], 0, 16, "parent")
        tap.near(row_of(prof, "parent.keeper")["py_kb_delta"], 3 * 1024, 16, "keeper")
        tap.near(row_of(prof, "parent.freer")["py_kb_delta"], -3 * 1024, 16, "freer")


def peaks_across_threads():
    """What another thread allocates is the process's: both see it."""
    start, done = threading.Event(), threading.Event()

    def other():
        with prof.stage("other"):
            start.wait()
            block = bytes(8 << 20)
            del block
            done.set()

    with profiler() as prof:
        thread = threading.Thread(target=other)
        thread.start()
        with prof.stage("main"):
            with prof.stage("before"):
                pass
            start.set()
            done.wait()
            with prof.stage("after"):
                pass
        thread.join()
        tap.near(row_of(prof, "main")["py_kb_peak_max"], 8 << 10, 128)
        tap.near(row_of(prof, "other")["py_kb_peak_max"], 8 << 10, 128)
        assert row_of(prof, "main.before")["py_kb_peak_max"] < 1024


def threads():
    barrier = threading.Barrier(4)

    def work():
        barrier.wait()
        for _ in range(500):
            with prof.stage("work"):
                with prof.stage("step"):
                    pass

    with profiler() as prof:
        with prof.stage("main"):
            pool = [threading.Thread(target=work) for _ in range(4)]
            for thread in pool:
                thread.start()
            for thread in pool:
                thread.join()
        tap.equal(calls(prof), {"main": 1, "work": 2000, "work.step": 2000})
        tap.equal(row_of(prof, "work")["threads"], 4)


def shared_stage():
    """One object, entered by threads at the same time: each leaves its own."""
    inside, leave = queue.Queue(), threading.Event()

    def work(name):
        with prof.stage(name):
            with shared:
                inside.put(name)
                leave.wait()

    with profiler() as prof:
        shared = prof.stage("shared")
        pool = [threading.Thread(target=work, args=(name,)) for name in "ab"]
        for thread in pool:
            thread.start()
        tap.equal({inside.get(), inside.get()}, {"a", "b"})
        leave.set()
        for thread in pool:
            thread.join()
        tap.equal(calls(prof), {"a": 1, "a.shared": 1, "b": 1, "b.shared": 1})


def pool_inherits():
    """A context that is copied nests in what is open: in a pool, and by asyncio.to_thread."""

    def work():
        with prof.stage("work"):
            pass

    async def main():
        with prof.stage("loop"):
            await asyncio.to_thread(work)

    with profiler() as prof:
        with prof.stage("outer"):
            thread = threading.Thread(target=contextvars.copy_context().run, args=(work,))
            thread.start()
            thread.join()
        asyncio.run(main())
        tap.equal(calls(prof), {"outer": 1, "outer.work": 1, "loop": 1, "loop.work": 1})


def tasks():
    """Tasks that take turns at every await, each in stages of its own."""

    async def task(name, turns):
        with prof.stage(name):
            for _ in range(turns):
                with prof.stage("step"):
                    await asyncio.sleep(0)

    async def main():
        with prof.stage("main"):
            await asyncio.gather(*(task(f"t{i % 3}", 5 + i) for i in range(9)))
        with prof.stage("after"):
            pass

    with profiler() as prof:
        for _ in range(2):
            asyncio.run(main())
        tap.equal(calls(prof), {
            "main": 2, "after": 2, "main.t0": 6, "main.t1": 6, "main.t2": 6,
            "main.t0.step": 48, "main.t1.step": 54, "main.t2.step": 60})


def many_tasks():
    """Contexts come and go, also at addresses of former ones."""

    async def task(i):
        with prof.stage("even" if i % 2 == 0 else "odd"):
            await asyncio.sleep(0)

    async def main():
        for start in range(0, 3000, 100):
            await asyncio.gather(*(task(i) for i in range(start, start + 100)))

    with profiler() as prof:
        asyncio.run(main())
        tap.equal(calls(prof), {"even": 1500, "odd": 1500})


def cancelled_task():
    async def task():
        with prof.stage("task"):
            await asyncio.sleep(60)

    async def main():
        running = asyncio.create_task(task())
        await asyncio.sleep(0)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    with profiler() as prof:
        asyncio.run(main())
        tap.equal(calls(prof), {"task": 1})


def generators():
    """A generator's stage is open while it is suspended; two may end in any order."""

    def count(name, to):
        with prof.stage(name):
            yield from range(to)

    with profiler() as prof:
        for _ in count("read", 3):
            with prof.stage("use"):
                pass
        tap.equal(calls(prof), {"read": 1, "read.use": 3})
        short, long = count("short", 1), count("long", 2)
        next(short), next(long)
        tap.equal(list(short), [])
        tap.equal(list(long), [1])
        tap.equal(calls(prof), {"read": 1, "read.use": 3, "short": 1, "short.long": 1})


def outlived():
    """A generator that is still in its stage when the one around it ends."""

    def count():
        with prof.stage("gen"):
            time.sleep(0.002)
            yield 1
            time.sleep(0.005)
            yield 2

    with profiler() as prof:
        with prof.stage("outer"):
            running = count()
            next(running)
        with prof.stage("next"):
            tap.equal(list(running), [2])
        tap.equal(calls(prof)["outer"], 1)
        tap.equal(calls(prof)["outer.gen"], 1)
        assert row_of(prof, "outer.gen")["wall_s"] >= 0.007
        outer = row_of(prof, "outer")
        assert outer["self_wall_s"] <= outer["wall_s"] - 0.002, outer


def closed_elsewhere():
    """A stage that is left in another thread or context than it was entered in."""
    with profiler() as prof:

        def count():
            with prof.stage("gen"):
                yield 1

        running = count()
        next(running)
        thread = threading.Thread(target=running.close)
        thread.start()
        thread.join()
        with prof.stage("after"):
            pass
        tap.equal(calls(prof), {"gen": 1, "after": 1})


def open_stages():
    with profiler() as prof:
        with prof.stage("outer"):
            time.sleep(0.01)
            report = prof.report()
            tap.equal([row["stage"] for row in report["stages"]], ["outer"])
            row = report["stages"][0]
            tap.equal(row["open"], 1)
            assert row["wall_s"] >= 0.01


def misuse():
    prof = StageProfiler()
    stage = prof.stage("s")
    stage.__exit__(None, None, None)
    stage.__enter__()
    stage.__exit__(None, None, None)
    stage.__exit__(None, None, None)
    tap.equal(calls(prof), {"s": 1})
    lost = prof.stage("never left")
    lost.__enter__()
    del lost
    with prof.stage("after"):
        pass
    for name in (None, 1, b"bytes", ["list"]):
        try:
            prof.stage(name)
        except TypeError:
            continue
        raise AssertionError(f"{name!r} is no name")
    for options in ({"level": "fast"}, {"source": "guess"}, {"level": ["full"]}):
        try:
            StageProfiler(**options)
        except ValueError:
            continue
        raise AssertionError(f"{options!r} is no choice")
    try:
        type(stage)()
    except TypeError:
        pass
    prof.close()


def after_close():
    prof = StageProfiler()
    with prof.stage("before"):
        pass
    kept = prof.stage("kept")
    with prof.stage("closing"):
        prof.close()
    with prof.stage("after"), kept:
        pass
    prof.close()
    tap.equal([row["stage"] for row in prof.report()["stages"]], ["before", "closing"])
    with StageProfiler() as prof:
        with prof.stage("in"):
            pass
    tap.equal([row["stage"] for row in prof.report()["stages"]], ["in"])
    stage = StageProfiler().stage("its profiler is gone")
    with stage:
        pass


def many_profilers():
    """One for each record, also without close(); and two at the same time."""
    for i in range(600):
        prof = StageProfiler()
        with prof.stage("record"):
            pass
        tap.equal(calls(prof), {"record": 1}, i)
    with profiler() as one, profiler() as two:
        with one.stage("a"), two.stage("b"), one.stage("c"):
            block = bytes(4 << 20)
            del block
        tap.equal(calls(one), {"a": 1, "a.c": 1})
        tap.equal(calls(two), {"b": 1})
        for row in one.report()["stages"] + two.report()["stages"]:
            tap.near(row["py_kb_peak_max"], 4 << 10, 128, row["stage"])


def names():
    odd = ['quote"', "back\\slash", "new\nline", "tab\t", "ümläut", "日本", "\x00nul", "", "a.b"]
    with profiler() as prof:
        for name in odd:
            with prof.stage(name):
                pass
        got = [row["stage"] for row in prof.report()["stages"]]
        tap.equal(len(got), len(odd))
        for name in odd:
            assert name in got or name == "", (name, got)
        with prof.stage(os.fsdecode(b"file\xff")):
            pass
        with prof.stage("long" * 1000):
            pass


def many_names():
    """100,000 names: memory is bounded, and what does not fit is counted."""
    with profiler(trace_python_memory=False) as prof:
        for i in range(100000):
            with prof.stage(f"file{i}"):
                pass
        rows = prof.report()["stages"]
        assert len(rows) <= 1100, len(rows)
        tap.equal(sum(row["calls"] for row in rows), 100000)
        assert any(row["stage"] == "other" for row in rows)


def wrapped():
    class Classifier:
        """Whose method is wrapped in place."""

        def __init__(self, prof):
            self.seen = []
            self.classify = prof.wrap("classify", self.classify)

        def classify(self, text, *, loud=False):
            """What it does."""
            self.seen.append(text)
            return text.upper() if loud else text

    async def coroutine(value):
        await asyncio.sleep(0.005)
        return value

    def generator(to):
        got = yield from range(to)
        return got

    async def async_generator(to):
        for i in range(to):
            await asyncio.sleep(0)
            yield i

    async def collect():
        return [i async for i in prof.wrap("agen", async_generator)(3)]

    with profiler() as prof:
        classifier = Classifier(prof)
        tap.equal(classifier.classify("a", loud=True), "A")
        tap.equal(classifier.classify.__doc__, "What it does.")
        tap.equal(str(inspect.signature(classifier.classify)), "(text, *, loud=False)")
        tap.equal(asyncio.run(prof.wrap("co", coroutine)(5)), 5)
        tap.equal(list(prof.wrap("gen", generator)(3)), [0, 1, 2])
        tap.equal(asyncio.run(collect()), [0, 1, 2])
        tap.equal(calls(prof), {"classify": 1, "co": 1, "gen": 1, "agen": 1})
        assert row_of(prof, "co")["wall_s"] >= 0.005
        Classifier.method = prof.wrap("method", Classifier.classify)
        tap.equal(classifier.method("b"), "b")
    for off in (NullProfiler(), StageProfiler(level="off")):
        assert off.wrap("f", coroutine) is coroutine


def tables():
    """The text names each stage, the longest first; one call has no mean; control characters are escaped."""
    with profiler() as prof:
        with prof.stage("long"):
            time.sleep(0.02)
        for _ in range(3):
            with prof.stage("short\x1b[31m"):
                pass
        text = str(prof)
        head, names, first, second = text.splitlines()
        assert head.startswith("# total wall: ") and prof.table().splitlines()[1].split() == names.split(), text
        assert names.split()[:3] == ["wall", "share", "calls"] and "mean" in names, text
        assert first.endswith("  long") and first.split()[3:5] == ["1", "-"], text
        assert second.endswith("  short\\x1b[31m") and second.split()[3] == "3", text
    assert NullProfiler().table() == "" and "off" in StageProfiler(level="off").table()


def off():
    for prof in (NullProfiler(), NullProfiler(trace_python_memory=False), StageProfiler(level="off")):
        with prof.stage("a") as one, prof.stage("b") as two:
            assert one is two
        tap.equal(prof.report(), {})
        assert prof.json() is None and not prof.is_on
        prof.set("key", "value")
        prof.reset()
        prof.write("/nowhere/at/all")
        prof.close()
    with NullProfiler() as prof, prof.stage("a"):
        pass


def levels():
    with profiler(level="time") as prof:
        with prof.stage("s"):
            pass
        row = row_of(prof, "s")
        assert row["cpu_s"] is None and row["rss_kb_delta"] is None, row
        assert row["py_kb_delta"] is not None


def environment():
    code = ("from auger import StageProfiler\nprof = StageProfiler()\n"
            "with prof.stage('s'): pass\nprint(prof.is_on, len(prof.report()))")
    env = dict(os.environ, AUGER_STAGES="off")
    out = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True)
    tap.equal(out.stdout, b"False 0\n")


def reset_and_set():
    with profiler() as prof:
        prof.set("input", "one.apk")
        with prof.stage("s"):
            pass
        tap.equal(prof.report()["input"], "one.apk")
        prof.reset()
        tap.equal(prof.report()["stages"], [])
        with prof.stage("s"):
            pass
        tap.equal(calls(prof), {"s": 1})
        prof.set("input", None)
        assert "input" not in prof.report()


def forked():
    with profiler() as prof:
        with prof.stage("outer"):
            child = os.fork()
            if child == 0:
                with prof.stage("in child"):
                    block = bytes(1 << 20)
                    del block
                report = prof.report()
                labels = [row["stage"] for row in report["stages"] if row["calls"]]
                os._exit(0 if labels == ["outer.in child"] else 1)
            tap.equal(os.waitpid(child, 0)[1], 0)
        tap.equal(calls(prof), {"outer": 1})


WORKERS = """
import concurrent.futures, multiprocessing, sys
from auger import StageProfiler
prof = StageProfiler(out=sys.argv[2], level="time")
def work(number):
    with prof.stage("work"):
        return number
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        list(pool.map(work, range(8)))
    worker = context.Process(target=work, args=(8,))
    worker.start()
    worker.join()
    work(9)
"""


def workers():
    """What multiprocessing starts, in each way, leaves its reports; they end by os._exit()."""
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "script.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(WORKERS)
        for method in multiprocessing.get_all_start_methods():
            out = os.path.join(folder, method + ".jsonl")
            subprocess.run([sys.executable, script, method, out], check=True)
            with open(out, encoding="utf-8") as lines:
                reports = [json.loads(line) for line in lines]
            tap.equal(sum(row["calls"] for report in reports for row in report["stages"]), 10, method)
            tap.equal(len({report["pid"] for report in reports}), len(reports), "a report each")


def no_leaks():
    """Nothing is held but a profiler's own: neither objects nor contexts."""
    import tracemalloc  # pylint: disable=import-outside-toplevel

    async def task():
        with prof.stage("task"):
            await asyncio.sleep(0)

    async def main():
        for _ in range(200):
            await asyncio.gather(*(task() for _ in range(10)))

    prof = StageProfiler(trace_python_memory=False)
    asyncio.run(main())
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    asyncio.run(main())
    for _ in range(3000):
        with prof.stage("s"), prof.stage("s"):
            pass
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    prof.close()
    assert grown < 32768, grown


if __name__ == "__main__":
    tap.run(nested, recursion, kept_stage, exceptions, peaks, peaks_across_threads, threads,
            shared_stage, pool_inherits, tasks, many_tasks, cancelled_task, generators, outlived,
            closed_elsewhere, open_stages, misuse, after_close, many_profilers, names,
            wrapped, tables, off, levels, environment, reset_and_set, forked, workers, no_leaks, many_names)

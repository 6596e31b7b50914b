# SPDX-License-Identifier: MIT
"""The profilers; auger._stages has the fast parts."""

import functools
import inspect
import json

from auger import _stages, workers
from auger.table import text_of

_LEVELS = {
    None: _stages.AUTO,
    "off": _stages.OFF,
    "time": _stages.TIME,
    "full": _stages.FULL,
}
_SOURCES = {
    "allocators": _stages.ALLOCATORS,
    "tracemalloc": _stages.TRACEMALLOC,
}


def _choice(choices, value, what):
    try:
        return choices[value]
    except (KeyError, TypeError):
        names = ", ".join(repr(name) for name in choices)
        raise ValueError(f"{what} is one of {names}, not {value!r}") from None


class StageProfiler(_stages.Profiler):
    """Measures stages.

    trace_python_memory: also measure the memory of Python objects (py_kb_delta, py_kb_peak_max).
    source: what counts it: "allocators" (a few nanoseconds an object) or "tracemalloc".
    level: "full"; "time" for no system calls at the ends of a stage, thus neither CPU time of the
        process nor RSS; "off". None: the value of AUGER_STAGES, else "full".
    out: the file for the report when the profiler is closed or the program ends, as for write().
        None: the value of AUGER_STAGES_OUT; "": none.
    per_thread: also report the rows of each thread, under the key "threads".
    on_sigterm: write the report to out when SIGTERM ends the program.
    """

    __slots__ = ("_last", "__weakref__")

    def __init__(self, trace_python_memory=True, *, source="allocators", level=None, out=None,
                 per_thread=False, on_sigterm=False):
        memory = _choice(_SOURCES, source, "source")
        if not trace_python_memory:
            memory = _stages.NO_MEMORY
        super().__init__(memory, _choice(_LEVELS, level, "level"), out, per_thread, on_sigterm)
        self._last = {}
        if self.is_on:
            workers.add(self)

    def wrap(self, name, fn):
        """fn with each call in a stage. fn may be a method, a coroutine function or a generator function,
        whose stage lasts until it ends. Returns fn itself when the profiler is off."""
        return _wrap(self, name, fn) if self.is_on else fn

    def report(self):
        """The rows so far, as a dict; open stages count up to now. After close(): the last report.
        Empty when the profiler is off."""
        text = self.json()
        return self._last if text is None else json.loads(text)

    def table(self):
        """The rows so far as a table, as 'auger stages' prints them; print() of the profiler shows it."""
        return text_of(self.report())

    __str__ = table

    def close(self):
        """Ends the profiling: later stages measure nothing. May be called again."""
        if self.is_on:
            self._last = self.report()
            super().close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class NullProfiler(_stages.Null):
    """Has the methods of StageProfiler and does nothing: a default for library code."""

    __slots__ = ()
    is_on = False

    def __init__(self, *_, **__):
        pass

    def wrap(self, _name, fn):
        """fn itself."""
        return fn

    def report(self):
        """An empty dict."""
        return {}

    def table(self):
        """An empty text."""
        return ""

    def json(self):
        """None."""

    def write(self, path):
        """Writes nothing."""

    def set(self, key, value):
        """Does nothing."""

    def reset(self):
        """Does nothing."""

    def close(self):
        """Does nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def _wrap(prof, name, fn):
    stage = prof.stage

    if inspect.iscoroutinefunction(fn):

        async def wrapped(*args, **kwargs):
            with stage(name):
                return await fn(*args, **kwargs)

    elif inspect.isasyncgenfunction(fn):

        async def wrapped(*args, **kwargs):
            with stage(name):
                async for item in fn(*args, **kwargs):
                    yield item

    elif inspect.isgeneratorfunction(fn):

        def wrapped(*args, **kwargs):
            with stage(name):
                return (yield from fn(*args, **kwargs))

    else:

        def wrapped(*args, **kwargs):
            with stage(name):
                return fn(*args, **kwargs)

    return functools.wraps(fn)(wrapped)

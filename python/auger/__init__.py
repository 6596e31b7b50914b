# SPDX-License-Identifier: MIT
"""Measures the phases of a pipeline and reports one row per stage.

    from auger import StageProfiler

    prof = StageProfiler()
    for name, data in files:
        with prof.stage("extract"):
            strings = extract(data)
        with prof.stage("classify"):
            result = classify(name, strings)
    print(prof)

Stages nest to dotted labels (outer.inner) and are summed by label. Threads, asyncio tasks and other
code with a contextvars context of its own nest on their own; a report sums over them. See
auger-python(7).
"""

from auger.stages import NullProfiler, StageProfiler

__all__ = ["NullProfiler", "StageProfiler"]

# SPDX-License-Identifier: MIT
"""Stages: wrap the phases of a pipeline, get a report with one row per stage.

    from auger import StageProfiler

    prof = StageProfiler()
    for name, data in files:
        with prof.stage("extract"):
            strings = extract(data)
        with prof.stage("classify"):
            result = classify(name, strings)
    print(prof.report())

Stages nest to dotted labels (outer.inner) and are added up by label. Threads, asyncio tasks and
everything else that runs in a contextvars context of its own nest on their own; one report adds
them up. man auger-python tells the rest.
"""

from auger.stages import NullProfiler, StageProfiler

__all__ = ["NullProfiler", "StageProfiler"]

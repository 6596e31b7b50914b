# SPDX-License-Identifier: MIT
"""Closes profilers in workers of multiprocessing, so that they write their reports.

Workers end by os._exit(), which runs no destructors."""

import os
import sys
import weakref

_profilers = weakref.WeakSet()  # may be closed already
_is_registered = False  # registered with multiprocessing, also for its children


def _close_all():
    for profiler in list(_profilers):
        profiler.close()


def _start_worker(_):
    """Runs in a new worker, after multiprocessing has cleared the finalizers of its parent."""
    util = sys.modules["multiprocessing.util"]
    util.Finalize(None, _close_all, exitpriority=-100)


def _register():
    """Registers with multiprocessing, if it is loaded."""
    global _is_registered  # pylint: disable=global-statement
    util = sys.modules.get("multiprocessing.util")
    if _is_registered or not util:
        return
    _is_registered = True
    util.register_after_fork(_close_all, _start_worker)
    if sys.modules["multiprocessing.process"].parent_process():
        _start_worker(None)


def add(profiler):
    """Adds a new profiler."""
    _register()
    _profilers.add(profiler)


os.register_at_fork(after_in_child=_register)

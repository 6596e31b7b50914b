# SPDX-License-Identifier: MIT
"""Workers of multiprocessing end by os._exit(), which runs no destructors: their profilers are closed
before that, so that what is to be written at the end is."""

import os
import sys
import weakref

_profilers = weakref.WeakSet()  # that are open, perhaps
_is_told = False  # multiprocessing knows of us, also in what it forks from here


def _close_all():
    for profiler in list(_profilers):
        profiler.close()


def _at_begin(_):
    """Of a worker; multiprocessing has just forgotten what its parent would do at its end."""
    util = sys.modules["multiprocessing.util"]
    util.Finalize(None, _close_all, exitpriority=-100)


def _tell_multiprocessing():
    """Where it is not used, it is not loaded for this."""
    global _is_told  # pylint: disable=global-statement
    util = sys.modules.get("multiprocessing.util")
    if _is_told or not util:
        return
    _is_told = True
    util.register_after_fork(_close_all, _at_begin)
    if sys.modules["multiprocessing.process"].parent_process():
        _at_begin(None)


def add(profiler):
    """One that has just been made."""
    _tell_multiprocessing()
    _profilers.add(profiler)


os.register_at_fork(after_in_child=_tell_multiprocessing)

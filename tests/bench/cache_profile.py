#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cache_profile.py AUGER CACHE_OPS: what a profile costs, of a cache to which every call comes (--exact).

Views of one folder take turns: without a profile, with one of the operations, and with one of all paths, written
every ten seconds. All of it is on one CPU, where a call takes the time that it needs of that: ours, the kernel's and
the caller's; and before all other programs there, if root runs it. Of each kind of call the median of the turns' ratios
is told, with the bounds between which it is with 95 %; a mean of more than 3 % is too much."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

import bench
from cache_tree import fill
from cache_turns import rates, ratio, take_turns

AUGER, OPS = (os.path.realpath(p) for p in sys.argv[1:3])
SECONDS = os.environ.get("SECONDS_EACH", "10")
MOST = 0.03
MODES = {"without": [], "operations": ["--profile", "--profile-interval", "10"],
         "all paths": ["--profile-paths", "--profile-top", "20", "--profile-interval", "10"]}


def settle():
    """Here, and what is started from here, on one CPU and before others."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        print("not as root: other programs on the CPU disturb")


def compare(kind, views):
    turns = take_turns(OPS, kind, SECONDS, views)
    costs = [tuple(1 - r for r in ratio(turns, i)) for i in range(1, len(views))]
    print(f"{kind:14} {rates(turns)[0]:8.0f}/s without, " +
          ", ".join(f"{name} {100 * middle:+.1f} % ({100 * least:+.1f} to {100 * most:+.1f})"
                    for name, (middle, most, least) in zip(list(MODES)[1:], costs)), flush=True)
    return [middle for middle, _, _ in costs]


def main(folder, stack):
    target = f"{folder}/target"
    fill(target)
    settle()
    views = []
    for name, options in MODES.items():
        view = f"{folder}/{name.replace(' ', '-')}"
        os.mkdir(view)
        subprocess.run([AUGER, "cache", "mount", "--target", target, "--exact", "--job-dir", view + ".job", *options, view],
                       check=True, stderr=subprocess.DEVNULL)
        stack.callback(subprocess.run, [AUGER, "cache", "umount", view], check=True)
        views.append(view)
    rows = [compare(kind, views) for kind in ("stat_at", "absent", "readdir_small", "pread", "small")]
    means = [sum(r[i] for r in rows) / len(rows) for i in range(len(MODES) - 1)]
    print("cost in the mean: " + ", ".join(f"{name} {100 * mean:.1f} %" for name, mean in zip(list(MODES)[1:], means)) +
          f" (at most {100 * MOST:.0f} %)")
    for name, mean in zip(list(MODES)[1:], means):
        bench.row(f"cost of a profile, {name}", 100 * mean, "%", most=100 * MOST)
    return 0


with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as exits:
    if not os.path.exists("/dev/fuse") or not shutil.which("fusermount3"):
        print("needs FUSE")
        sys.exit(0)
    sys.exit(main(place, exits))

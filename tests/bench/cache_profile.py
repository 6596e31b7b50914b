#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""cache_profile.py AUGER CACHE_OPS: what a profile costs, of a cache to which every call comes (--exact).

Views of one folder take turns in the same run: without a profile, with one of the operations, and with one
of all paths, written every ten seconds. The middle of ROUNDS ratios is told; more than 3 % less is too much."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

from cache_tree import fill

AUGER, OPS = (os.path.realpath(p) for p in sys.argv[1:3])
SECONDS, ROUNDS = os.environ.get("SECONDS_EACH", "1"), int(os.environ.get("ROUNDS", "9"))
MOST = 0.03
MODES = {"without": [], "operations": ["--profile", "--profile-interval", "10"],
         "all paths": ["--profile-paths", "--profile-top", "20", "--profile-interval", "10"]}


def measure(kind, roots):
    done = subprocess.run([OPS, kind, SECONDS, "1", *roots], check=True, capture_output=True, text=True)
    return [float(n) for n in done.stdout.split()]


def middle(numbers):
    return sorted(numbers)[len(numbers) // 2]


def compare(kind, views):
    rounds = [measure(kind, views) for _ in range(ROUNDS)]
    costs = [1 - middle([r[i] / r[0] for r in rounds]) for i in range(len(views))]
    print(f"{kind:14} {middle([r[0] for r in rounds]):8.0f}/s without, " +
          ", ".join(f"{name} {100 * cost:+.1f} %" for name, cost in zip(list(MODES)[1:], costs[1:])), flush=True)
    return costs[1:]


def main(folder, stack):
    target = f"{folder}/target"
    fill(target)
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
    return 1 if max(means) > MOST else 0


with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as exits:
    if not os.path.exists("/dev/fuse") or not shutil.which("fusermount3"):
        print("needs FUSE")
        sys.exit(0)
    sys.exit(main(place, exits))

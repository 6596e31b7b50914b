#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Records a program whose call graph is known and judges every pair of neighbors in its stacks.

usage: check.py AUGER KIND LEAST_COMPLETE PROGRAM [ARG...]

KIND chooses the rules below. LEAST_COMPLETE: the share of samples, in percent, that must reach
the outermost frame by legal calls only. A wrong pair fails whatever the share: a stack may
end early, it may not lie. TAP on stdout, what was wrong on stderr.
"""
import collections
import functools
import os
import re
import subprocess
import sys
import tempfile

TREE = {("tree", "f_0"), ("main", "tree"), ("main", "seconds_over")}
for i, (a, b) in enumerate([(1, 2), (2, 5), (3, 8), (4, 11), (5, 14), (6, 1), (7, 4), (8, 7), (9, 10),
                            (10, 13), (11, 0), (12, 3), (13, 6), (14, 9), (15, 12), (0, 15)]):
    TREE |= {(f"f_{i}", f"f_{a}"), (f"f_{i}", f"f_{b}"), (f"f_{i}", "burn")}

# kind: legal calls, functions that call libraries, functions that libraries call
KINDS = {
    "mutual": (set(), set(), set()),
    "recursion": ({("main", "recurse"), ("recurse", "recurse"), ("recurse", "burn")}, set(), set()),
    "callback": ({("main", "sort_all"), ("compare", "weigh"), ("weigh", "burn")}, {"sort_all"}, {"compare"}),
    "threads": ({("worker", "allocate"), ("worker", "locked"), ("locked", "burn"), ("worker", "tree"),
                 ("worker", "seconds_over")}, {"allocate", "locked", "worker"}, {"worker"}),
    "signals": ({("handler", "in_handler"), ("in_handler", "burn")}, set(), {"handler"}),
    "frames": ({("main", "large"), ("main", "huge"), ("main", "variable"), ("large", "variable"),
                ("huge", "variable"), ("variable", "tree")}, {"large", "variable"}, set()),
    "assembly": ({("main", "assembly_step"), ("assembly_step", "from_assembly"), ("from_assembly", "tree")},
                 set(), set()),
    "late": ({("main", "plugin_run"), ("plugin_run", "plugin_step"), ("plugin_step", "back"), ("back", "tree")},
             set(), set()),
    "exceptions": ({("main", "catcher"), ("catcher", "middle"), ("middle", "thrower"), ("thrower", "burn"),
                    ("thrower", "~Guard"), ("middle", "~Guard"), ("~Guard", "burn"), ("catcher", "burn")},
                   {"thrower", "middle", "catcher"}, {"catcher"}),
}
KERNEL = re.compile(r"_\[k\]$|^(asm_|entry_|exc_|do_syscall|syscall_|ret_from_|irqentry|common_|sysvec_|handle_|__x64_|__x86_)")
ROOTS = re.compile(r"^(_start|(__)?clone3?|_dl_start_user|_dl_start)$")
ENDED_EARLY = {"[truncated]", "[broken]"}  # what auger calls the part that it does not know
OPENING = re.compile(r"^(_start|_dl_start|_dl_start_user|__libc_start|_init|_fini|frame_dummy|_dl_|__do_global)")


def short(name):
    """(anonymous namespace)::Guard::~Guard() [clone .cold] -> ~Guard"""
    name = re.sub(r"_\[[kij]\]$", "", name)
    name = re.sub(r"\(anonymous namespace\)::", "", name)
    name = re.sub(r"\(.*$", "", name)
    name = re.sub(r"(\.(cold|part|constprop|isra)(\.\d+)?)+$", "", name)
    return name.split("::")[-1]


class Judge:
    def __init__(self, kind):
        calls, out, entered = KINDS[kind]
        self.calls = calls | TREE
        self.out = out | {"main", "seconds_over"}
        self.entered = entered | {"main"}
        self.own = {name for call in self.calls for name in call}
        self.has_signals = kind == "signals"

    def is_legal(self, caller, callee, after):
        if OPENING.match(caller) or OPENING.match(callee) or callee.endswith("@plt"):
            return True
        if caller in self.own and callee in self.own:
            # libgcc, about to jump to a handler, has overwritten its own return address
            is_jumping = caller == callee and after and after.startswith("_Unwind_")
            return (caller, callee) in self.calls or is_jumping
        if caller in self.own:
            return caller in self.out or (self.has_signals and (callee == "__restore_rt" or after in ("handler", None)))
        return callee not in self.own or callee in self.entered or caller.endswith("@plt")

    @functools.cache
    def verdict(self, caller, callee, after):
        """Of two neighbors and the frame behind them: "kernel", "legal" or "wrong"."""
        if KERNEL.search(callee) or KERNEL.search(caller):
            return "kernel"
        return "legal" if self.is_legal(short(caller), short(callee), after and short(after)) else "wrong"

    def wrong_pair(self, frames):
        for call in zip(frames, frames[1:], [*frames[2:], None]):
            verdict = self.verdict(*call)
            if verdict != "legal":
                return call[:2] if verdict == "wrong" else None
        return None


def is_rooted(frames):
    first = short(frames[0])
    if ROOTS.match(first) or KERNEL.search(frames[0]):
        return True
    # clone3 has no public name: the thread's function follows within libc's frames
    return first.startswith("[libc") and any(short(f) == "worker" for f in frames[1:4])


def record(auger, command):
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "p.pb.gz")
        run = subprocess.run([auger, "record", "-F", "1999", "-o", profile, "--", *command], capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"Bail out! auger record: status {run.returncode}: {run.stderr}")
        return subprocess.run([auger, "convert", profile, "--to", "folded", "--value", "samples", "-o", "-"], capture_output=True,
                              text=True, check=True).stdout


def main():
    auger, kind, least, *command = sys.argv[1:]
    judge = Judge(kind)
    total = complete = 0
    wrong = collections.Counter()
    endings = collections.Counter()
    for line in record(auger, command).splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")[1:]  # the first is the thread's name
        count = 1 if not count.isdigit() else int(count)
        if not frames or frames[0] == "[lost]":
            continue
        total += count
        is_early = frames[0] in ENDED_EARLY
        pair = judge.wrong_pair(frames[1:] if is_early else frames)
        if pair:
            wrong[pair] += count
        elif not is_early and is_rooted(frames):
            complete += count
        else:
            endings[frames[0]] += count
    share = 100 * complete / total if total else 0
    missing = total - complete
    print(f"# {share:.2f} % of {total} complete")
    for pair, count in wrong.most_common(10):
        print(f"wrong: {pair[0]} -> {pair[1]}: {count}", file=sys.stderr)
    for frame, count in endings.most_common(10):
        print(f"ends at: {frame}: {count}", file=sys.stderr)
    # two samples are no share of a short run
    failed_share = share < float(least) and missing > 2
    print(f"{'not ' if wrong else ''}ok 1 - {kind}: no wrong pair")
    print(f"{'not ' if failed_share else ''}ok 2 - {kind}: at least {least} % complete")
    print("1..2")


main()

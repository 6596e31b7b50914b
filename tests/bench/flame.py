#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""flame.py AUGER: CPU time and memory from folded stacks to a flame graph.

44,157 distinct stacks of 5,192 functions, made up in the shape of a system-wide recording: most
stacks share all but their last frames with another. flamegraph.pl is no Debian package, so its
figures are quoted from a measurement of such a recording on another day.
"""
import os
import random
import sys
import tempfile

import bench

STACKS, FUNCTIONS, RUNS = 44157, 5192, 5
WORDS = ('alloc free page fault user clear handle get put read write loop compute init parse token '
         'hash insert lookup vector sort merge copy send poll wait lock schedule object list').split()
PEER = 'flamegraph.pl, quoted'
PEER_S, PEER_MB = 3.05, 294


def make_stacks(chance):
    names = set()
    while len(names) < FUNCTIONS:
        words = (chance.choice(WORDS) for _ in range(chance.randint(1, 4)))
        names.add('_'.join(words) + chance.choice(['', '_fast', '.part.0', '_[k]', '_[k]', '_impl']))
    names = sorted(names)
    stacks = [('program', 'main')]
    seen = set()
    while len(seen) < STACKS:
        base = chance.choice(stacks)
        kept = base[:max(2, len(base) - chance.randint(0, 4))] if len(base) < 60 else base[:20]
        new = kept + tuple(chance.choice(names) for _ in range(chance.randint(1, 4)))
        if new not in seen:
            seen.add(new)
            stacks.append(new)
    return [f"{';'.join(stack)} {max(1, int(chance.paretovariate(.9)))}\n" for stack in sorted(seen)]


def run(auger, folded, svg):
    """CPU seconds and peak memory in MB of one run."""
    pid = os.posix_spawn(auger, [auger, 'flame', folded, '-o', svg], os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f'auger flame: status {status}')
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    auger = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix='auger-bench-') as folder:
        folded, svg = os.path.join(folder, 'a.folded'), os.path.join(folder, 'a.svg')
        with open(folded, 'w', encoding='ascii') as file:
            file.writelines(make_stacks(random.Random(1)))
        runs = [run(auger, folded, svg) for _ in range(RUNS)]
        cpu_s, memory_mb = min(cpu for cpu, _ in runs), max(memory for _, memory in runs)
        print(f'flame: {STACKS:,} folded stacks ({os.path.getsize(folded) / 1e6:.1f} MB) to SVG '
              f'({os.path.getsize(svg) / 1e6:.1f} MB)')
    print(f'  auger          {cpu_s:6.2f} s CPU {memory_mb:6.0f} MB')
    print(f'  peer           {PEER_S:6.2f} s CPU {PEER_MB:6.0f} MB   {PEER}')
    print(f'  ratio          {PEER_S / cpu_s:6.1f} x     {PEER_MB / memory_mb:6.1f} x')
    bench.row('folded to SVG', cpu_s, 'CPU s', PEER, PEER_S)
    bench.row('folded to SVG', memory_mb, 'MB', PEER, PEER_MB)


main()

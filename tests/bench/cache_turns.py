# SPDX-License-Identifier: MIT
"""What cache_ops measures: roots take turns, so that other programs on the machine hit all alike."""

import math
import subprocess


def take_turns(ops, kind, seconds, roots, threads=1):
    """Operations a second: a tuple for each turn, with one for each root."""
    done = subprocess.run([ops, kind, str(seconds), str(threads), *roots], check=True, capture_output=True, text=True)
    return [tuple(float(n) for n in line.split()) for line in done.stdout.splitlines()]


def rates(turns):
    """Of each root: what its quarter of turns that was disturbed least reaches."""
    return [sorted(column, reverse=True)[len(column) // 4] for column in zip(*turns)]


def ratio(turns, root, base=0):
    """Of a root to another, each turn to the one beside it: the median, and the bounds between which it is with 95 %."""
    numbers = sorted(turn[root] / turn[base] for turn in turns)
    reach, middle = math.ceil(0.98 * math.sqrt(len(numbers))), len(numbers) // 2
    return numbers[middle], numbers[max(0, middle - reach)], numbers[min(len(numbers) - 1, middle + reach)]

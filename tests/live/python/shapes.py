# SPDX-License-Identifier: MIT
"""shapes.py SHAPE,... SECONDS [WARM]: calls functions in known ways for so much CPU time each, after WARM in warm().

Prints nothing. spin() is the innermost function of all shapes; who calls it is what the test knows.
"""

import asyncio
import functools
import json
import mmap
import os
import re
import sys
import threading
import time

SECONDS = float(sys.argv[2])


def spin(seconds):
    end = time.thread_time() + seconds
    total = 0
    while time.thread_time() < end:
        for i in range(2000):
            total += i * i
    return total


def down(depth):
    return spin(SECONDS) if depth == 0 else down(depth - 1)


def keep(size):
    return [bytearray(size) for _ in range(10)]


def by_memory():
    kept = keep(3000000)
    del kept[5:]
    return kept


def touch():
    memory = mmap.mmap(-1, 400 * 4096)
    for i in range(400):
        memory[i * 4096] = 1


def by_faults():
    for _ in range(3):
        touch()


def nap(depth):
    return time.sleep(SECONDS) if depth == 0 else nap(depth - 1)


class Base:
    @classmethod
    def of_class(cls):
        return cls().method()

    def method(self):
        return spin(SECONDS)


def decorate(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@decorate
def decorated():
    return Base.of_class()


def key(value):
    spin(SECONDS / 4)
    return -value


def by_sort():
    return sorted([1, 2, 3, 4], key=key)


def replaced(match):
    spin(SECONDS / 3)
    return match.group(0)


def by_regex():
    return re.sub("a", replaced, "abaca")


def jsoned(value):
    spin(SECONDS)
    return str(value)


def by_json():
    return json.dumps([object()], default=jsoned)


def generator():
    yield spin(SECONDS / 2)
    yield spin(SECONDS / 2)


def by_generator():
    return list(generator())


async def awaited():
    return spin(SECONDS)


async def coroutine():
    return await awaited()


def by_async():
    asyncio.run(coroutine())


def grüße_мир():
    return spin(SECONDS)


def by_exec():
    exec(compile("def inner():\n    spin(SECONDS)\ninner()", "<made>", "exec"), globals())


def thread_one():
    spin(SECONDS * 0.3)


def thread_two():
    spin(SECONDS * 0.7)


def by_threads():
    threads = [threading.Thread(target=f) for f in (thread_one, thread_two)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def by_lock():
    """Three threads that want the GIL at the same time."""
    start = threading.Barrier(3)

    def contend():
        start.wait()
        spin(SECONDS)

    threads = [threading.Thread(target=contend) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def by_fork():
    pid = os.fork()
    if pid == 0:
        decorated()
        os._exit(0)
    os.waitpid(pid, 0)


def warm():
    spin(float(sys.argv[3]) if len(sys.argv) > 3 else 0)


def main():
    warm()
    shapes = {
        "deep": lambda: down(300),
        "faults": by_faults,
        "memory": by_memory,
        "nap": lambda: nap(5),
        "decorated": decorated,
        "sort": by_sort,
        "regex": by_regex,
        "json": by_json,
        "generator": by_generator,
        "async": by_async,
        "unicode": grüße_мир,
        "exec": by_exec,
        "threads": by_threads,
        "lock": by_lock,
        "fork": by_fork,
        "forever": lambda: [spin(SECONDS) for _ in iter(int, 1)],
    }
    sys.setrecursionlimit(5000)
    for name in sys.argv[1].split(","):
        shapes[name]()


main()

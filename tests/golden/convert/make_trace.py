#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_trace.py CASE: a trace of Akaros' profiler on standard output, made by its document.

Cases are functions below; each is one edge that a converter meets.
"""
import struct
import sys

KERNEL = 0xFFFFFFFFC0001000
USER = 0x401100
MS = 1000000


def words(*values):
    return struct.pack("<%dQ" % len(values), *(v & (2**64 - 1) for v in values))


def sample(core, ns, *pcs, version=1):
    return words(0xEE << 56 | version << 48 | core << 16 | len(pcs), ns, *pcs)


def leb(value):
    out = b""
    while True:
        out += bytes([value & 0x7F | (0x80 if value > 0x7F else 0)])
        value >>= 7
        if not value:
            return out


def record(kind, body):
    return leb(kind) + leb(len(body)) + body


def kernel(revision, ns, core, pid, *pcs):
    head = struct.pack("<Q", 1 << 60) if revision > 1 else b""
    head += struct.pack("<Q", ns)
    head += struct.pack("<I", pid) if revision > 2 else b""
    return record(1, head + struct.pack("<HH", core, len(pcs)) + words(*pcs))


def user(revision, ns, core, pid, *pcs):
    head = struct.pack("<Q", 1 << 60) if revision > 1 else b""
    return record(2, head + struct.pack("<QIHH", ns, pid, core, len(pcs)) + words(*pcs))


def mapping(ns, pid, start, size, offset, path):
    return record(3, struct.pack("<QQQQI", ns, start, size, offset, pid) + path + b"\0")


def process(ns, pid, path):
    return record(4, struct.pack("<QI", ns, pid) + path + b"\0")


def block(core, start, count, period=MS, pcs=(KERNEL, KERNEL + 0x101, KERNEL + 0x201)):
    return b"".join(sample(core, start + i * period, *pcs) for i in range(count))


def plain():
    return (block(0, 5 * MS, 10) + block(1, 5 * MS, 5)
            + b"".join(sample(1, (10 + i) * MS, USER) for i in range(5)))


def empty():
    return b""


def one():
    return sample(3, 7 * MS, USER)


def no_frames():
    return block(0, MS, 3) + sample(0, 4 * MS) + sample(0, 5 * MS)


def cut_header():
    return block(0, MS, 3) + sample(0, 4 * MS, USER)[:8]


def cut_before_pcs():
    return block(0, MS, 3) + sample(0, 4 * MS, USER)[:16]


def cut_in_pcs():
    return block(0, MS, 3) + sample(0, 4 * MS, USER, USER, USER)[:-12]


def deep():
    return sample(0, MS, *(USER + 16 * i for i in range(255))) + sample(0, 2 * MS, USER)


def zero_leaf():
    return sample(0, MS, 0, USER + 1) + sample(0, 2 * MS, USER)


def zero_root():
    return sample(0, MS, USER, USER + 0x101, 0) + sample(0, 2 * MS, USER)


def header_inside():
    return sample(0, MS, 0xEE01000000000002, USER) + sample(0, 2 * MS, USER)


def equal_times():
    return b"".join(sample(0, (1 + i // 10) * MS, USER) for i in range(100))


def backward():
    return block(0, 50 * MS, 10) + block(1, 20 * MS, 10)


def zero_times():
    return sample(0, 0, USER) * 3


def gap():
    return block(0, MS, 10) + block(0, 3600 * 1000 * MS, 10)


def two_periods():
    return block(0, MS, 10, MS) + block(1, MS, 10, 10 * MS)


def many_cores():
    return b"".join(block(core, core * MS, 3) for core in (0, 255, 256, 65535))


def marks():
    return (block(0, MS, 3) + words(0x401234, 0x1230) + block(0, 4 * MS, 2)
            + words(0x401234, 0x1230) + words(0x405678, 0x4560))


def middle():
    return block(0, MS, 5)[24:]


def zero_fill():
    return block(0, MS, 3) + bytes(4096) + block(0, 4 * MS, 3)


def unknown_version():
    return block(0, MS, 2) + sample(0, 3 * MS, USER, version=2)


def garbage_between():
    return block(0, MS, 3) + b"\x5a" * 40 + block(0, 4 * MS, 3)


def may_2014():
    return b"".join(words(KERNEL, (i * MS & ~0xF) | 8, KERNEL, KERNEL + 0x101, *[0] * 6)
                    for i in range(1, 6))


def no_trace():
    return b"\x5a" * 400


def kernel_and_user():
    # op2 makes one of them
    return sample(0, MS, 0xFFFFFFFFC0001000) + sample(0, 2 * MS, 0x40C0001000) + sample(
        0, 3 * MS, 0xC0001000)


def later(revision):
    pid = 7
    return (mapping(MS, pid, 0x400000, 0x1000, 0x1000, b"/bin/foo")
            + process(MS, pid, b"/bin/foo")
            + record(99, b"of another kind")
            + b"".join(user(revision, (2 + i) * MS, 1, pid, 0x400123, 0x400456) for i in range(4))
            + b"".join(kernel(revision, (2 + i) * MS, 0, 2**32 - 1, KERNEL, KERNEL + 0x101)
                       for i in range(4)))


def later_1():
    return later(1)


def later_2():
    return later(2)


def later_3():
    return later(3)


def later_double():
    return b"".join(kernel(2, (2 + i) * MS, 0, 7, KERNEL, KERNEL, KERNEL + 0x101)
                    for i in range(4))


def later_late_mapping():
    # the block with the mapping comes last, but it is older
    return (user(2, 5 * MS, 1, 7, 0x400123) + user(2, 6 * MS, 1, 7, 0x400123)
            + mapping(MS, 7, 0x400000, 0x1000, 0, b"/bin/foo"))


def later_cut():
    return later(2)[:-5]


# Each with the samples that are in it.
CASES = {
    plain: 20, empty: 0, one: 1, no_frames: 5, cut_header: 3, cut_before_pcs: 3, cut_in_pcs: 3,
    deep: 2, zero_leaf: 2, zero_root: 2, header_inside: 2, equal_times: 100, backward: 20,
    zero_times: 3, gap: 20, two_periods: 20, many_cores: 12, marks: 8, middle: 4, zero_fill: 6,
    unknown_version: 3, garbage_between: 6, may_2014: 5, no_trace: 0, kernel_and_user: 3,
    later_1: 8, later_2: 8, later_3: 8, later_double: 4, later_late_mapping: 2, later_cut: 7,
}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print("\n".join("%s %d" % (case.__name__, count) for case, count in CASES.items()))
    else:
        sys.stdout.buffer.write({case.__name__: case for case in CASES}[sys.argv[1]]())

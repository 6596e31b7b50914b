#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_heap.py OUTPUT [KEY=NUMBER...]: a heap file (src/wire/heap.h) of known sums.

Keys are those of HEAD. With the key fuzz=1 it is the input of tests/fuzz/fuzz_heap.c instead.
"""
import struct
import sys

CHUNK = 65536
HEADER = 65536
KINDS_AT = 4096
NO_MAPPING = 0xFFFFFFFF
STRINGS, MAPPINGS, NODES, SITES = 1, 2, 3, 4

HEAD = {"version": 1, "pid": 4711, "period": 0, "flags": 4, "threads": 1, "missed": 0, "peak_no": 1,
        "is_peaking": 0, "fuzz": 0}

strings = bytearray()


def string(text):
    at = len(strings)
    strings.extend(text.encode() + b"\0")
    return at


def mapping(path, start):
    return struct.pack("<6QIII36x2s30x", start, start + CHUNK, 4096, start - 0x1000, 0, 1, string(path),
                       1, 2, b"\xab\xcd")


def node(address, parent, number=0):
    return struct.pack("<QII", address, parent, number)


def site(at, made, freed, peak, temporary, moves=0):
    """Pairs of blocks and bytes."""
    return struct.pack("<IIQQQQQqqQQQ40x", at, 0, *made, *freed, 1, *peak, *temporary, moves)


def main():
    given = dict(word.split("=") for word in sys.argv[2:])
    head = {**HEAD, **{key: int(value) for key, value in given.items()}}
    solver, libc = mapping("/opt/solver", 0x555500000000), mapping("/lib/libsolve.so", 0x7F0000000000)
    program, words = string("/opt/solver"), string("./solver input.dat")
    nodes = [node(0, 0, NO_MAPPING), node(0x555500000100, 0), node(0x555500000200, 1),
             node(0x7F0000000300, 2, 1), node(0x7F0000000400, 1, 1)]
    sites = [site(0, (0, 0), (0, 0), (0, 0), (0, 0)),
             site(3, (3000, 3 << 20), (1000, 1 << 20), (2500, 5 << 19), (0, 0), 12),
             site(4, (40000, 640000), (40000, 640000), (1, 16), (39990, 639840)),
             site(2, (2, 8192), (1, 4096), (2, 8192), (0, 0))]
    chunks = [bytes(strings), solver + libc, b"".join(nodes), b"".join(sites)]
    header = struct.pack(
        "<8sIIIIiiQQQQII8IqqQQ5Q144x", b"augheap", head["version"], HEADER, CHUNK, 62, head["pid"], 1, 0,
        1700000000 * 10**9, 0, head["period"], program, words, head["flags"], 4, len(strings), 2,
        len(nodes), len(sites), head["threads"], 0, 0, 0, head["peak_no"], head["is_peaking"], 0, 0,
        head["missed"], 0, 0)
    assert len(header) == 320
    kinds = bytes([STRINGS, MAPPINGS, NODES, SITES])
    with open(sys.argv[1], "wb") as out:
        if head["fuzz"]:
            each = max(len(chunk) for chunk in chunks)
            out.write(b"\0" + header[1:] + kinds.ljust(8, b"\0"))
            out.write(b"".join(chunk.ljust(each, b"\0") for chunk in chunks).ljust(8 * each, b"\0"))
            return
        out.write(header.ljust(KINDS_AT, b"\0") + kinds.ljust(HEADER - KINDS_AT, b"\0"))
        out.write(b"".join(chunk.ljust(CHUNK, b"\0") for chunk in chunks))


if __name__ == "__main__":
    main()

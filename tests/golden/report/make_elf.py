#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_elf.py FILE: an x86-64 program linked at 0x401000, from the file's byte 0x1000 on, with two functions."""
import struct
import sys

symbols = [(b"spin", 0x401000, 0x40), (b"run", 0x401040, 0x40)]
names = b"\0" + b"\0".join(name for name, _, _ in symbols) + b"\0"
table = bytes(24)
for name, at, size in symbols:
    table += struct.pack("<IBBHQQ", names.index(name), 0x12, 0, 1, at, size)
section_names = b"\0.text\0.symtab\0.strtab\0"
tail = 0x1080
parts = [(1, 1, 6, 0x401000, 0x1000, 0x80, 0, 0, 16, 0),
         (7, 2, 0, 0, tail, len(table), 3, 1, 8, 24),
         (15, 3, 0, 0, tail + len(table), len(names), 0, 0, 1, 0),
         (15, 3, 0, 0, tail + len(table) + len(names), len(section_names), 0, 0, 1, 0)]
body = table + names + section_names
headers = bytes(64) + b"".join(struct.pack("<IIQQQQIIQQ", *part) for part in parts)
ident = b"\x7fELF\x02\x01\x01" + bytes(9)
elf = ident + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0x401000, 64, tail + len(body), 0, 64, 56, 1, 64, 5, 4)
elf += struct.pack("<IIQQQQQQ", 1, 5, 0x1000, 0x401000, 0x401000, 0x80, 0x80, 0x1000)
elf = elf.ljust(tail, b"\0") + body + headers
with open(sys.argv[1], "wb") as out:
    out.write(elf)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the profiles of these cases next to this file: demo.pb.gz, hostile.pb.gz and paths.pb.gz.

demo: a program with threads, inlined and recursive functions, a function without a name, the
kernel, two sample types and lost samples. hostile: names that nobody should trust. paths: parts of paths as
functions of their folders, as auger cache writes them.
Source of the message numbers: profile.proto of github.com/google/pprof.
"""
import gzip
import os


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def block(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


class Profile:
    def __init__(self, types):
        self.strings = {b"": 0}
        self.functions, self.mappings, self.locations = {}, {}, {}
        self.samples, self.comments = b"", b""
        self.types = b"".join(
            block(1, number(1, self.text(t)) + number(2, self.text(u))) for t, u in types)
        self.extra = b""

    def text(self, text):
        raw = text if isinstance(text, bytes) else text.encode()
        return self.strings.setdefault(raw, len(self.strings))

    def mapping(self, path):
        return self.mappings.setdefault(path, len(self.mappings) + 1) if path else 0

    def function(self, name, file):
        return self.functions.setdefault((name, file), len(self.functions) + 1)

    def location(self, path, lines):
        """lines: (function, file, line), innermost inlined first; none: a bare address."""
        key = (path, tuple(lines))
        self.mapping(path)
        for name, file, _ in lines:
            self.function(name, file)
        return self.locations.setdefault(key, len(self.locations) + 1)

    def sample(self, stack, values, labels=()):
        """stack: locations, outermost first."""
        out = block(1, b"".join(varint(i) for i in reversed(stack)))
        out += block(2, b"".join(varint(v) for v in values))
        for key, value, *unit in labels:
            label = number(1, self.text(key))
            if isinstance(value, int):
                label += number(3, value) + (number(4, self.text(unit[0])) if unit else b"")
            else:
                label += number(2, self.text(value))
            out += block(3, label)
        self.samples += block(2, out)

    def comment(self, text):
        self.comments += number(13, self.text(text))

    def write(self, to):
        out = self.types + self.samples
        for path, i in self.mappings.items():
            out += block(3, number(1, i) + number(2, i << 20) + number(3, (i + 1) << 20) +
                         number(5, self.text(path)))
        for (path, lines), i in self.locations.items():
            out += block(4, number(1, i) + number(2, self.mapping(path)) +
                         number(3, (self.mapping(path) << 20) + i if path else 0) +
                         b"".join(block(4, number(1, self.function(n, f)) + number(2, line))
                                  for n, f, line in lines))
        for (name_, file), i in self.functions.items():
            out += block(5, number(1, i) + number(2, self.text(name_)) +
                         number(3, self.text(name_)) + number(4, self.text(file)))
        strings = b"".join(block(6, s) for s in self.strings)
        packed = gzip.compress(out + strings + self.extra + self.comments, mtime=0)
        with open(to, "wb") as f:
            f.write(packed)


MS = 1000000
HERE = os.path.dirname(os.path.abspath(__file__))


def demo():
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")])
    work, libc, kernel = "/usr/bin/work", "/usr/lib/x86_64-linux-gnu/libc.so.6", "[kernel.kallsyms]"
    fill = "fill(std::vector<double, std::allocator<double> >&, unsigned long)"
    main = p.location(work, [("main", "src/main.c", 20)])
    start = p.location(libc, [("__libc_start_main", "", 0)])
    filling = p.location(work, [(fill, "src/fill.cc", 12)])
    scaled = p.location(work, [("scale", "src/fill.h", 7), (fill, "src/fill.cc", 13)])
    scale = p.location(work, [("scale", "src/fill.h", 8)])
    walk = p.location(work, [("walk", "src/walk.c", 31)])
    memset = p.location(libc, [("memset", "", 0)])
    nameless = p.location(libc, [])
    clear = p.location(kernel, [("clear_page_erms", "", 0)])
    fault = p.location(kernel, [("asm_exc_page_fault", "", 0)])
    lost = p.location("", [("[lost]", "", 0)])

    def thread(tid, comm, stage):
        return [("pid", 100), ("tid", tid), ("comm", comm), ("stage", stage)]

    def sample(count, stack, labels):
        p.sample(stack, [count, count * MS], labels)

    one, two = thread(100, "work", "init"), thread(101, "worker", "solve")
    sample(400, [start, main, filling, fault, clear], one)
    sample(150, [start, main, filling], one)
    sample(100, [start, main, scaled], one)
    sample(50, [start, main, scale], one)
    sample(120, [walk, walk, walk, scale], two)
    sample(60, [walk, walk], two)
    sample(70, [walk, walk, memset], two + [("request", 4096, "bytes")])
    sample(40, [walk, nameless], two + [("request", 65536, "bytes")])
    sample(9, [start, main], thread(102, "work, \"quoted\"", "init"))
    sample(1, [], one)
    p.sample([lost], [12, 0])
    p.comment("command: ./work --size 1000")
    p.extra = (number(9, 1700000000 * 1000 * MS) + number(10, 1012 * MS) +
               block(11, number(1, p.text("cpu")) + number(2, p.text("nanoseconds"))) +
               number(12, MS))
    p.write(os.path.join(HERE, "demo.pb.gz"))


def hostile():
    p = Profile([("weight", "sacks \"of\" potatoes")])
    names = [b"<script>alert(1)</script>", b"line\nbreak", b"tab\tand, comma", b"quote\"s \\ \x1b[31mred",
             b"cut\xff\xc3(", "rtl\u202eevil".encode(), "grün 漢字".encode(), b"=1+1", b" "]
    for i, name in enumerate(names):
        p.sample([p.location(b"/tmp/\xfe/a,b", [(name, b"dir\n/f\xff.c", 3)])], [9 - i],
                 [("comm", name)])
    p.comment(b"command: \x07\xff\n")
    p.write(os.path.join(HERE, "hostile.pb.gz"))


def paths():
    p = Profile([("calls", "count")])
    lib = "/usr/lib/python3/dist-packages"
    for path, calls in (("/", 1), (f"{lib}/scipy/__init__.py", 40), (f"{lib}/scipy/stats", 10),
                        (f"{lib}/scipy/stats/__init__.py", 30), (f"{lib}/pandas/__init__.py", 15),
                        ("/opt/stats/__init__.py", 4)):
        parts = [part for part in path.split("/") if part]
        folders = ["/" + "".join(f"{part}/" for part in parts[:i]) for i in range(len(parts))]
        stack = [p.location("", [(name, folder, 0)]) for name, folder in zip(["/"] + parts, ["/"] + folders)]
        p.sample(stack, [calls], [("operation", "getattr")])
    p.write(os.path.join(HERE, "paths.pb.gz"))


if __name__ == "__main__":
    demo()
    hostile()
    paths()

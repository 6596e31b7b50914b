#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""symbols.py SYMBOL_DUMP: names, lines and inlined calls of 5,000 addresses of a large C++ program,
whose debug data are one unit, against addr2line and llvm-symbolizer; and the names of libraries
against c++filt.

CPU seconds are of whole processes, output to /dev/null included, the least of several
interleaved runs.
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile

import bench

FUNCTIONS = 90  # instances of the template: the program has some 18 MB
ADDRESSES, ROUNDS = 5000, 5

SOURCE = """
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>
template <int N> struct Item {
	int v; std::string s;
	bool operator<(const Item &o) const { return v * N < o.v * N || (v == o.v && s < o.s); }
};
template <int N> __attribute__((noinline)) int work(int a)
{
	std::map<std::string, Item<N>> m; std::vector<Item<N>> q;
	for (int i = 0; i < a; i++) { Item<N> t{i ^ N, std::to_string(i)}; m[t.s] = t; q.push_back(t); }
	std::sort(q.begin(), q.end());
	std::function<int(int)> f = [&](int x) { int s = x; for (auto &e : m) s += e.second.v; return s; };
	return f(a) + q[0].v;
}
int main(int argc, char **) { int r = 0; %s return r; }
"""


def build(folder):
    path = os.path.join(folder, "big")
    calls = " ".join(f"r += work<{i + 1}>(argc);" for i in range(FUNCTIONS))
    with open(path + ".cc", "w", encoding="ascii") as file:
        file.write(SOURCE % calls)
    subprocess.run(["g++", "-O2", "-g", path + ".cc", "-o", path], check=True)
    return path


def choose_addresses(path):
    rows = [line.split() for line in
            subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True,
                           check=True).stdout.splitlines()]
    code = [(int(r[0], 16), int(r[1], 16)) for r in rows if len(r) == 4 and r[2] in "tTwW"]
    chance, chosen = random.Random(1), set()
    while len(chosen) < ADDRESSES:
        address, size = chance.choice(code)
        chosen.add(address + chance.randrange(max(size, 1)))
    return "".join(f"{a:x}\n" for a in chosen)


def run(command, text):
    """CPU seconds of one run."""
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        child = subprocess.Popen(command, stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[0]}: exit status {child.returncode}")
    return usage.ru_utime + usage.ru_stime


def compare(title, ours, peers, text):
    peers = [(name, command) for name, command in peers if shutil.which(command[0])]
    best = {}
    for _ in range(ROUNDS):
        for name, command in [("auger", ours)] + peers:
            best[name] = min(best.get(name, 1e9), run(command, text))
    print(title)
    for name, seconds in best.items():
        ratio = "" if name == "auger" else f"   ratio {seconds / best['auger']:5.1f} x"
        print(f"  {name:18} {seconds:7.3f} s CPU{ratio}")
        if name != "auger":
            bench.row(title, best["auger"], "CPU s", name, seconds)


def main():
    dump = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="auger-bench-") as folder:
        big = build(folder)
        text = choose_addresses(big)
        compare(f"{ADDRESSES:,} addresses of a program of {os.path.getsize(big) / 1e6:.1f} MB, with inlined "
                "calls", [dump, big], [("addr2line", ["addr2line", "-aife", big]),
                                       ("llvm-symbolizer", ["llvm-symbolizer-14", "-e", big, "--no-demangle"])], text)
        names = subprocess.run(["nm", big], capture_output=True, text=True, check=True).stdout
        names = "".join(line.split()[-1] + "\n" for line in names.splitlines() if "_Z" in line)
        compare(f"{names.count(chr(10)):,} names of functions of that program, and their readable names",
                [dump, "-C", "-n", big], [("nm and c++filt", ["sh", "-c", 'nm "$0" | c++filt', big])], text)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layers.py: holds the sources to tools/layers.txt, and prints what is wrong as "file:line: reason".

- A file includes only its own folder and the folders on that folder's line, by their paths from src/.
- No circles: a .c, its header and its NAME_internal.h are one module; a module that includes another
  is not included by it, neither directly nor through others.
- A floor holds at most 25 .c files.
- ARCHITECTURE.md shows the list as it is, and names functions that exist.
"""
import collections
import fnmatch
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
MOST_ON_A_FLOOR = 25

found = []


def complain(where, reason):
    found.append(f"{where}: {reason}")


def read_layers():
    """(pattern, its patterns) for each line, and the lines as they are."""
    layers = []
    text = open("tools/layers.txt", encoding="utf-8").read()
    for line in text.splitlines():
        if line and not line.startswith("#"):
            folder, allowed = line.split(":")
            layers.append((folder.strip(), allowed.split()))
    return layers, text


def may_include(layers, source, target):
    if source == target:
        return True
    tops = source.split("/")[0], target.split("/")[0]
    inside = tops[0] == tops[1]
    for folder, allowed in layers:
        if not fnmatch.fnmatch(source if inside else tops[0], folder):
            continue
        if any(fnmatch.fnmatch(target if inside else tops[1], pattern) for pattern in allowed):
            return True
    return False


def module(path):
    name = os.path.splitext(path)[0]
    public = name.removesuffix("_internal")
    if any(os.path.exists(f"src/{public}{ending}") for ending in (".c", ".h")):
        return public
    return name


def read_includes(sources):
    """(file, line number, what is included) for each include of a file of ours."""
    for source in sources:
        with open(source, encoding="utf-8") as text:
            for number, line in enumerate(text, 1):
                include = INCLUDE.match(line)
                if include:
                    yield source, number, include[1]


def check_includes(layers, sources):
    edges = collections.defaultdict(dict)
    for source, number, target in read_includes(sources):
        folder = os.path.dirname(source.removeprefix("src/"))
        if "/" not in target:
            complain(f"{source}:{number}", f'include "{target}" by its path from src/')
            continue
        if not may_include(layers, folder, os.path.dirname(target)):
            complain(f"{source}:{number}", f"{folder} may not include {os.path.dirname(target)}")
        first, second = module(source.removeprefix("src/")), module(target)
        if first != second:
            edges[first].setdefault(second, f"{source}:{number}")
    return edges


def reach(edges, start):
    seen, todo = set(), [start]
    while todo:
        for target in edges.get(todo.pop(), ()):
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


def check_circles(edges):
    reached = {name: reach(edges, name) for name in list(edges)}
    for first, targets in edges.items():
        for second, where in targets.items():
            if first in reached.get(second, ()):
                complain(where, f"a circle: {second} includes {first}, directly or through others")


def check_floors(sources):
    floors = collections.Counter(os.path.dirname(source) for source in sources if source.endswith(".c"))
    for floor, count in floors.items():
        if count > MOST_ON_A_FLOOR:
            complain(floor, f"{count} .c files on one floor, more than {MOST_ON_A_FLOOR}")


def check_architecture(layers, sources):
    shown = "".join(line + "\n" for line in layers.splitlines() if not line.startswith("#"))
    architecture = open("ARCHITECTURE.md", encoding="utf-8").read()
    if shown.strip() not in architecture:
        complain("ARCHITECTURE.md:1", "does not show the list of tools/layers.txt as it is")
    code = "".join(open(source, encoding="utf-8").read() for source in sources)
    for name in sorted(set(re.findall(r"`(\w+)\(\)`", architecture))):
        if not re.search(rf"\b{name}\(", code):
            complain("ARCHITECTURE.md:1", f"names {name}(), which src does not have")


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    listed = subprocess.run(["git", "ls-files", "src/*.c", "src/*.h"], check=True, capture_output=True, text=True)
    sources = [name for name in listed.stdout.split() if os.path.exists(name)]
    layers, text = read_layers()
    folders = {folder for folder, _ in layers}
    for top in sorted({source.split("/")[1] for source in sources}):
        if top not in folders:
            complain(f"src/{top}", "is not in tools/layers.txt")
    check_circles(check_includes(layers, sources))
    check_floors(sources)
    check_architecture(text, sources)
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    sys.exit(bool(found))


main()

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""default_targets.py, run by Meson after it has written build.ninja: `ninja` alone builds the
program and the libraries. Meson before 1.7 lists the programs of all tests as prerequisites of
`all`, also those with build_by_default: false; `meson test` asks for the ones it needs by name."""
import os

PREREQUISITES = {"meson-test-prereq", "meson-benchmark-prereq"}


def main():
    path = os.path.join(os.environ["MESON_BUILD_ROOT"], "build.ninja")
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    for number, line in enumerate(lines):
        if line.startswith("build all: phony "):
            lines[number] = " ".join(word for word in line.split() if word not in PREREQUISITES) + "\n"
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.writelines(lines)
    os.replace(path + ".new", path)


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py OUT.c NAME=FILE...: files as `const char NAME[]`, a NUL behind, and `NAME_len`. Files of
one name follow each other."""
import sys

sys.dont_write_bytecode = True
import embed_rows  # noqa: E402


def main():
    texts = {}
    for pair in sys.argv[2:]:
        name, path = pair.split('=', 1)
        with open(path, 'rb') as file:
            data = file.read()
        if any(byte > 127 for byte in data):
            sys.exit(f'{path}: not ASCII')
        texts[name] = texts.get(name, b'') + data
    embed_rows.write(sys.argv[1], texts)


main()

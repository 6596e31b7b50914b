#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py OUT.c NAME=FILE...: files as `const char NAME[]`, a NUL behind, and `NAME_len`. Files of
one name follow each other."""
import sys


def rows(data):
    for at in range(0, len(data), 20):
        yield '\t' + ', '.join(str(byte) for byte in data[at:at + 20]) + ','


def main():
    texts = {}
    for pair in sys.argv[2:]:
        name, path = pair.split('=', 1)
        with open(path, 'rb') as file:
            data = file.read()
        if any(byte > 127 for byte in data):
            sys.exit(f'{path}: not ASCII')
        texts[name] = texts.get(name, b'') + data
    with open(sys.argv[1], 'w', encoding='ascii') as out:
        out.write('/* Made by tools/embed.py. */\n#include <stddef.h>\n')
        for name, data in texts.items():
            out.write(f'\nextern const char {name}[];\nextern const size_t {name}_len;\n')
            out.write(f'const char {name}[] = {{\n' + '\n'.join(rows(data)) + '\n\t0\n};\n')
            out.write(f'const size_t {name}_len = sizeof {name} - 1;\n')


main()

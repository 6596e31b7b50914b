# SPDX-License-Identifier: MIT
"""embed_rows: writes bytes as C: `const char NAME[]`, a NUL behind, and `NAME_len`."""


def rows(data):
    for at in range(0, len(data), 20):
        yield '\t' + ', '.join(str(byte) for byte in data[at:at + 20]) + ','


def write(path, texts):
    """texts: name to bytes, all ASCII."""
    with open(path, 'w', encoding='ascii') as out:
        out.write('/* Made by tools/embed*.py. */\n#include <stddef.h>\n')
        for name, data in texts.items():
            out.write(f'\nextern const char {name}[];\nextern const size_t {name}_len;\n')
            out.write(f'const char {name}[] = {{\n' + '\n'.join(rows(data)) + '\n\t0\n};\n')
            out.write(f'const size_t {name}_len = sizeof {name} - 1;\n')

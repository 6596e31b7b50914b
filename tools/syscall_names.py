#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""syscall_names.py OUT.c CC...: the names of system calls by number, as the kernel's headers have them."""
import re
import subprocess
import sys
import tempfile

# Numbers that all architectures share, and that older headers lack.
LATER = {451: 'cachestat', 452: 'fchmodat2', 453: 'map_shadow_stack', 454: 'futex_wake', 455: 'futex_wait',
         456: 'futex_requeue', 457: 'statmount', 458: 'listmount', 459: 'lsm_get_self_attr',
         460: 'lsm_set_self_attr', 461: 'lsm_list_modules', 462: 'mseal', 463: 'setxattrat', 464: 'getxattrat',
         465: 'listxattrat', 466: 'removexattrat', 467: 'open_tree_attr'}


def names_of(header):
    """The names by number; only the later ones where there is no such header."""
    # What the numbers are made of may be macros, too: the compiler resolves them. Not all compilers read standard input.
    with tempfile.NamedTemporaryFile('w', suffix='.c', encoding='ascii') as source:
        source.write(f'#if __has_include(<{header}>)\n#include <{header}>\n#endif\n')
        source.flush()
        macros = subprocess.run([*sys.argv[2:], '-E', '-dM', source.name], check=True, capture_output=True, text=True).stdout
    values = dict(re.findall(r'^#define (__NR_\w+) (\S+)$', macros, re.M))
    names = dict(LATER)
    for macro, value in values.items():
        while value in values:
            value = values[value]
        if value.isdigit() and int(value) < 512 and macro not in ('__NR_syscalls', '__NR_arch_specific_syscall'):
            names[int(value)] = re.sub('^__NR3264_', '', macro.removeprefix('__NR_'))
    return names


def main():
    with open(sys.argv[1], 'w', encoding='ascii') as file:
        file.write('#include "syscalls/names.h"\n')
        for array, header in (('syscall_names', 'asm/unistd.h'), ('syscall_names_32', 'asm/unistd_32.h')):
            names = names_of(header)
            if header == 'asm/unistd.h' and 'openat' not in names.values():
                sys.exit(f'{sys.argv[2]}: the compiler does not print the numbers of system calls')
            file.write(f'\nconst char *const {array}[SYSCALL_NAMES] = {{\n')
            file.writelines(f'\t[{number}] = "{name}",\n' for number, name in sorted(names.items()))
            file.write('};\n')


main()

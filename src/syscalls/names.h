/* SPDX-License-Identifier: MIT */
/* sysc_names: system calls by number, of the architecture that this is built for. */
#ifndef SYSCALLS_NAMES_H
#define SYSCALLS_NAMES_H

#define SYSC_NAMES 512 /* numbers are below; what is not is told by its number */

extern const char *const sysc_names[SYSC_NAMES]; /* NULL: no such call; made at build */

#endif

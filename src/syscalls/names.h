/* SPDX-License-Identifier: MIT */
/* names: names of system calls by number, for the architecture of this build. */
#ifndef SYSCALLS_NAMES_H
#define SYSCALLS_NAMES_H

#define SYSCALL_NAMES 512 /* numbers are below; others are printed as numbers */

extern const char *const syscall_names[SYSCALL_NAMES]; /* NULL: no such call; tools/syscall_names.py
							  writes it at build time */

#endif

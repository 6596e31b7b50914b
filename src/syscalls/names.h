/* SPDX-License-Identifier: MIT */
/* syscall_names: system calls by number, of the architecture that this is built for. */
#ifndef SYSCALLS_NAMES_H
#define SYSCALLS_NAMES_H

#define SYSCALL_NAMES 512 /* numbers are below; what is not is decoded by its number */

extern const char *const syscall_names[SYSCALL_NAMES]; /* NULL: no such call; made at build */

#endif

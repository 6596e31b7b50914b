/* SPDX-License-Identifier: MIT */
/* names: names of system calls by number, for the architecture of this build. */
#ifndef SYSCALLS_NAMES_H
#define SYSCALLS_NAMES_H

#define SYSCALL_NAMES 512 /* numbers are below; others are printed as numbers */

/* In the number of a call that 32-bit code made (i386, arm): those have numbers of their own. Such
 * a call has a name, but no signature: its arguments are printed as they are. */
#define SYSCALL_32BIT 0x20000000u

/* NULL: no such call; tools/syscall_names.py writes them at build time. syscall_names_32: of i386;
 * of arm none is known. */
extern const char *const syscall_names[SYSCALL_NAMES];
extern const char *const syscall_names_32[SYSCALL_NAMES];

#endif

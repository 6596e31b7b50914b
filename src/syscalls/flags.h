/* SPDX-License-Identifier: MIT */
/* flags: prints the constants of system calls by name. */
#ifndef SYSCALLS_FLAGS_H
#define SYSCALLS_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "syscalls/signatures.h"

/* Appends the names of an argument of this kind; false: it has no names, and nothing is appended.
 */
bool syscall_put_flags(enum syscall_arg kind, uint64_t value, struct buf *out);
void syscall_put_open_flags(uint64_t value, struct buf *out);
void syscall_put_signal(int signal, struct buf *out);

#endif

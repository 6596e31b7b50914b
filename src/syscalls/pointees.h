/* SPDX-License-Identifier: MIT */
/* pointees: prints the memory that arguments point to: strings, structures, vectors. */
#ifndef SYSCALLS_POINTED_H
#define SYSCALLS_POINTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "syscalls/call.h"

/* kind: enum syscall_arg. false: nothing was read there, and nothing is printed. */
bool syscall_put_pointee(const struct syscall *c, size_t arg, char kind, struct buf *out);

/* Does this operation of fcntl(2) take a struct flock? */
bool syscall_is_lock_op(uint64_t order);

#endif

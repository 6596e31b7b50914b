/* SPDX-License-Identifier: MIT */
/* syscall_pointees: what the arguments of a call point to, in words. */
#ifndef SYSCALLS_POINTED_H
#define SYSCALLS_POINTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "syscalls/call.h"

/* kind: enum syscall_arg. false: that memory was not read, or holds nothing. */
bool syscall_put_pointee(const struct syscall *c, size_t arg, char kind, struct buf *out);

/* Of fcntl(): has it a struct flock? */
bool syscall_is_lock_op(uint64_t order);

#endif

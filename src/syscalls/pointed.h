/* SPDX-License-Identifier: MIT */
/* sysc_pointed: what the arguments of a call point to, in words. */
#ifndef SYSCALLS_POINTED_H
#define SYSCALLS_POINTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "syscalls/call.h"

/* kind: enum sysc_arg. false: that memory was not read, or holds nothing. */
bool sysc_put_pointed(const struct sysc_call *c, size_t arg, char kind, struct buf *out);

/* Of fcntl(): has it a struct flock? */
bool sysc_is_lock_order(uint64_t order);

#endif

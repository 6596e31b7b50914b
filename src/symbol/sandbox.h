/* SPDX-License-Identifier: MIT */
/*
 * sandbox: gives up every right of this process but to compute and to use its open descriptors.
 *
 * For a process of one thread that reads foreign bytes. Afterwards it has no capabilities, no
 * other user's rights (root becomes nobody), no network, opens no file, starts no process, and
 * cannot raise its limits. A seccomp filter refuses all other system calls with ENOSYS, which every
 * libc survives. Where the kernel or a container has no filters, user and limits remain, and a
 * network namespace of its own where it is allowed.
 *
 * Built with a sanitizer there is no filter, because its run-time library makes calls of its own.
 *
 * Source: seccomp(2), capabilities(7), getrlimit(2), prctl(2).
 */
#ifndef SYMBOL_SANDBOX_H
#define SYMBOL_SANDBOX_H

#include <stdbool.h>

/* false with a sanitizer: neither a filter nor a limit of the address space. */
bool sandbox_has_limits(void);

/* Keeps the descriptors below keep. For good. Returns whether there is a filter. */
bool sandbox_enter(unsigned keep);

#endif

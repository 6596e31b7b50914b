/* SPDX-License-Identifier: MIT */
/*
 * host: programs that libauger-heap.so can be preloaded into.
 *
 * Not those that are linked statically, for another processor or against another libc than
 * glibc, set-id programs of others, and programs with the allocator of a sanitizer. Those run, but
 * nothing would be recorded, or they would break. What runs a script is checked in its place.
 * Source: ld.so(8), LD_PRELOAD and secure-execution mode; execve(2).
 */
#ifndef HEAP_HOST_H
#define HEAP_HOST_H

#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

#define HEAP_LIBRARY "libauger-heap.so"

/* name: as execvp has it. 0 also when there is no such program, or it cannot be read; ERR_USAGE: it
 * is no host, with the reason. */
int heap_check_host(const char *name, struct err *e) MUST_CHECK;

/* The same for a process that runs, into which the library is to be loaded. -ESRCH: there is none;
 * -EACCES, -EPERM: it is somebody else's. */
int heap_check_process(pid_t pid, struct err *e) MUST_CHECK;

#endif

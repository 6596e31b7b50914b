/* SPDX-License-Identifier: MIT */
/*
 * filter: a seccomp filter that stops a program for its tracer at calls with paths only.
 *
 * Source: seccomp(2); kernel Documentation/userspace-api/seccomp_filter.rst.
 */
#ifndef SYSCALLS_FILTER_H
#define SYSCALLS_FILTER_H

/* Installs it for the calling thread and its children; it cannot be removed. 0 or an errno. */
int syscall_filter_install(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * syscall_filter: a seccomp filter by which a program stops for its tracer at calls that have
 * paths, and at no others.
 *
 * Source: seccomp(2); kernel Documentation/userspace-api/seccomp_filter.rst.
 */
#ifndef SYSCALLS_FILTER_H
#define SYSCALLS_FILTER_H

/* For the calling thread and what it starts, for good. 0 or an errno. */
int syscall_filter_install(void);

#endif

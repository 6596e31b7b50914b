/* SPDX-License-Identifier: MIT */
/*
 * privilege: the rights of this process, and what a container around it takes from them.
 *
 * Source: capabilities(7), user_namespaces(7), seccomp(2).
 */
#ifndef BASE_PRIVILEGE_H
#define BASE_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>

/* Its effective capabilities, as bits; all where they cannot be read. In a user namespace they
 * are rights over that namespace only. */
uint64_t privilege_capabilities(void);

/* It is in a user namespace of its own, whose root has no rights over the kernel. */
bool privilege_is_in_user_namespace(void);

/* Does it have all of these capabilities, or CAP_SYS_ADMIN, over the kernel? */
bool privilege_has_kernel(uint64_t capabilities);

/* What remedies call root: "root", or the one outside of the user namespace. */
const char *privilege_root(void);

/*
 * Does a seccomp filter, as container runtimes set one, answer this system call (SYS_bpf,
 * SYS_perf_event_open or SYS_ptrace) in place of the kernel? Makes the call with arguments that the
 * kernel refuses with another error. Of SYS_bpf only for callers with rights: else it refuses all.
 */
bool privilege_is_filtered(long call);

#endif

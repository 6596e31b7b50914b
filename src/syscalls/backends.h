/* SPDX-License-Identifier: MIT */
/* backends: one struct for each method of tracing; syscalls.c chooses. */
#ifndef SYSCALLS_METHODS_H
#define SYSCALLS_METHODS_H

#include "base/err.h"
#include "syscalls/opts.h"

#define SYSCALL_STACK_BYTES 8192 /* copied with each call when stacks are recorded */

struct syscall_backend {
	enum syscall_method method;
	/* Returns 0 when this method works here, else the reason. run() takes *ret_self over and
	 * frees it.
	 */
	int (*open)(const struct syscall_opts *o, void **ret_self, struct err *e);
	int (*run)(void *self, const struct syscall_opts *o, struct syscall_result *ret,
		   struct err *e);
};

extern const struct syscall_backend syscall_bpf, syscall_perf, syscall_ptrace;

#endif

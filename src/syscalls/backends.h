/* SPDX-License-Identifier: MIT */
/* syscall_backends: the methods of syscalls. */
#ifndef SYSCALLS_METHODS_H
#define SYSCALLS_METHODS_H

#include "base/err.h"
#include "syscalls/opts.h"

#define SYSCALL_STACK_BYTES 8192 /* copied with each call, when stacks are wanted */

struct syscall_backend {
	enum syscall_method method;
	/* Can it do this here? 0, or why not. What was made for that goes to run(), which ends it.
	 */
	int (*open)(const struct syscall_opts *o, void **ret_self, struct err *e);
	int (*run)(void *self, const struct syscall_opts *o, struct syscall_result *ret,
		   struct err *e);
};

extern const struct syscall_backend syscall_bpf, syscall_perf, syscall_ptrace;

#endif

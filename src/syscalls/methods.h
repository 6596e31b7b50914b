/* SPDX-License-Identifier: MIT */
/* sysc_inside: the methods of sysc. */
#ifndef SYSCALLS_METHODS_H
#define SYSCALLS_METHODS_H

#include "base/err.h"
#include "syscalls/opts.h"

#define SYSC_STACK_BYTES 8192 /* copied with each call, when stacks are wanted */

struct sysc_backend {
	enum sysc_method method;
	/* Can it do this here? 0, or why not. What was made for that goes to run(), which ends it.
	 */
	int (*open)(const struct sysc_opts *o, void **ret_self, struct err *e);
	int (*run)(void *self, const struct sysc_opts *o, struct sysc_result *ret, struct err *e);
};

extern const struct sysc_backend sysc_bpf, sysc_perf, sysc_ptrace;

#endif

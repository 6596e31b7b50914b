/* SPDX-License-Identifier: MIT */
/* System calls by BPF, where this is built without it. */
#include "sample/bpf.h"
#include "syscalls/backends.h"

static int open_method(const struct syscall_opts *o, void **ret_self, struct err *e)
{
	(void)o;
	(void)ret_self;
	return bpf_probe(e);
}

const struct syscall_backend syscall_bpf = { SYSCALL_BPF, open_method, NULL };

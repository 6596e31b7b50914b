/* SPDX-License-Identifier: MIT */
/* System calls by BPF, where this is built without it. */
#include "sample/bpf.h"
#include "syscalls/methods.h"

static int open_method(const struct sysc_opts *o, void **ret_self, struct err *e)
{
	(void)o;
	(void)ret_self;
	return bpf_probe(e);
}

const struct sysc_backend sysc_bpf = { SYSC_BPF, open_method, NULL };

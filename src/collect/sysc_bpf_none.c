/* SPDX-License-Identifier: MIT */
/* System calls by BPF, where this is built without it. */
#include "collect/bpf.h"
#include "collect/sysc_inside.h"

static int probe(const struct sysc_opts *o, struct err *e)
{
	(void)o;
	return bpf_probe(e);
}

const struct sysc_backend sysc_bpf = { SYSC_BPF, probe, NULL };

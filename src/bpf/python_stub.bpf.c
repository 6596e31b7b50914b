/* SPDX-License-Identifier: MIT */
/*
 * python_stub: runs at each sample, and goes on to python.bpf.c once that is loaded.
 *
 * Events inherit their program from the parent's event. So the program must be there before a
 * Python is seen, and loading the whole one takes long. This one needs no types of the kernel.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

const char licence[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} next SEC(".maps");

SEC("perf_event")
int on_sample(void *ctx)
{
	bpf_tail_call(ctx, &next, 0);
	return 1; /* the sample is taken */
}

/* SPDX-License-Identifier: MIT */
/*
 * python: walks the Python frames of a thread at the moment it is sampled.
 *
 * The program runs right before the sample is written, with the sample's time: user space joins
 * the two by thread and time. Programs on samples do not interrupt each other.
 */
#include "bpf/python_walk.h"

const char licence[] SEC("license") = "Dual MIT/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct perf_sample_data {
	__u64 time;
};

struct bpf_perf_event_data_kern {
	struct perf_sample_data *data;
};
#pragma clang attribute pop

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

SEC("perf_event")
int on_sample(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bpf_perf_event_data_kern *sample = bpf_cast_to_kern_ctx(ctx);
	__u32 cpu = bpf_get_smp_processor_id();
	struct python_scratch *s = bpf_map_lookup_elem(&python_scratches, &cpu);
	struct python_walk w = { 0 };

	if (s && walk_python(s, &w, task, 0))
		send_stack(s, &w, sample->data->time);
	return 1;
}

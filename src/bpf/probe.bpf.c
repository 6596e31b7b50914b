/* SPDX-License-Identifier: MIT */
/* probe: the least program that needs what our programs need: a map of ours in tasks, and a
 * tracepoint whose arguments have types. */
#include "bpf/kernel.h"

const char licence[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} seen SEC(".maps");

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u64 *tgid = bpf_task_storage_get(&seen, child, NULL, 0);

	if (tgid)
		*tgid = (__u64)parent->tgid;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * kernel: what our BPF programs know of the kernel: the types they read, of each only the members
 * they read. Where those are is found out when a program is loaded, from the BTF of the kernel
 * that runs (CO-RE): so a program fits kernels of other versions and settings, and no header that
 * is made from one of them is needed. The names are the kernel's; order and place mean nothing.
 *
 * For programs only (clang -target bpf).
 * Source: kernel 6.18 include/linux/sched.h, struct task_struct.
 */
#ifndef COLLECT_BPF_KERNEL_H
#define COLLECT_BPF_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	int pid;  /* of the thread */
	int tgid; /* of the process */
};

#pragma clang attribute pop

#endif

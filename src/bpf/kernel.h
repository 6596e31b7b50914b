/* SPDX-License-Identifier: MIT */
/*
 * kernel: what our BPF programs know of the kernel: the types they read, of each only the members
 * they read. Where those are is found out when a program is loaded, from the BTF of the kernel
 * that runs (CO-RE): so a program fits kernels of other versions and settings, and no header that
 * is made from one of them is needed. The names are the kernel's; order and place mean nothing.
 *
 * For programs only (clang -target bpf).
 * Source: kernel 6.18 include/linux/sched.h, mm_types.h, arch/x86/include/asm.
 */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* task_struct.flags */
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD 0x00200000

/* task_struct.__state */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED 0x4
#define TASK_TRACED 0x8
#define TASK_DEAD 0x80
#define TASK_NOLOAD 0x400

#define TS_COMPAT 0x0002      /* thread_info.status of x86: in a call of 32-bit code */
#define TIF_32BIT (1UL << 22) /* thread_info.flags of arm64: a 32-bit process */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct {
	unsigned long exec_vm; /* pages of code */
	unsigned long start_stack;
};

#ifdef __TARGET_ARCH_x86
struct thread_struct {
	unsigned long fsbase;
};

struct thread_info {
	__u32 status;
};

struct pt_regs {
	unsigned long ip, sp, bp, cs;
	unsigned long di, si, dx, r10, r8, r9, orig_ax; /* of a system call */
	unsigned long bx, cx;                           /* of one of 32-bit code */
	unsigned long r12, r13, r14, r15;
};
#elif defined(__TARGET_ARCH_arm64)
struct thread_info {
	unsigned long flags;
};

struct pt_regs {
	__u64 regs[31];
	__u64 orig_x0;
	__s32 syscallno;
};
#endif

struct sched_entity {
	__u64 sum_exec_runtime; /* CPU time, ns */
};

struct signal_struct {
	struct task_struct
		*group_exec_task; /* of an exec that waits for the other threads to end */
};

/* Before Linux 5.17. */
struct signal_struct___old {
	struct task_struct *group_exit_task;
};

struct task_struct {
	struct thread_info thread_info;
	int pid;  /* of the thread */
	int tgid; /* of the process */
	__u64 start_time;
	struct task_struct *group_leader;
	unsigned int flags;
	unsigned int __state;
	int exit_code; /* as of wait(2) */
	int on_cpu;
	unsigned in_iowait : 1;
	struct sched_entity se;
	struct mm_struct *mm;       /* NULL: a thread of the kernel */
	struct files_struct *files; /* NULL: it has ended */
	struct signal_struct *signal;
	char comm[16];
#ifdef __TARGET_ARCH_x86
	struct thread_struct thread;
#endif
};

struct bpf_iter__task {
	struct task_struct *task; /* NULL: the end */
};

#pragma clang attribute pop

#endif

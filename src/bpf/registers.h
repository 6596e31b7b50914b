/* SPDX-License-Identifier: MIT */
/* registers: number and arguments of a call from a thread's registers, for syscalls.bpf.c. */
#ifndef BPF_REGISTERS_H
#define BPF_REGISTERS_H

#include "bpf/kernel.h"
#include "bpf/memory.h"
#include "bpf/syscalls.h"

static __always_inline void take_args(struct inflight *d, struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	d->args[0] = regs->di;
	d->args[1] = regs->si;
	d->args[2] = regs->dx;
	d->args[3] = regs->r10;
	d->args[4] = regs->r8;
	d->args[5] = regs->r9;
	if (d->nr & CALLS_32BIT) {
		d->args[0] = regs->bx;
		d->args[1] = regs->cx;
		d->args[3] = regs->si;
		d->args[4] = regs->di;
		d->args[5] = regs->bp;
	}
#elif defined(__TARGET_ARCH_arm64)
	d->args[0] = regs->orig_x0;
	d->args[1] = regs->regs[1];
	d->args[2] = regs->regs[2];
	d->args[3] = regs->regs[3];
	d->args[4] = regs->regs[4];
	d->args[5] = regs->regs[5];
#endif
}

/* The number of a call that a thread is in; 32-bit code has numbers of its own. */
static __always_inline __u32 marked(__u32 nr, const struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	bool is_32bit = task->thread_info.status & TS_COMPAT;
#elif defined(__TARGET_ARCH_arm64)
	bool is_32bit = task->thread_info.flags & TIF_32BIT;
#endif

	return is_32bit ? nr | CALLS_32BIT : nr;
}

static __always_inline __u32 number_of(struct pt_regs *regs, const struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return marked((__u32)regs->orig_ax, task);
#elif defined(__TARGET_ARCH_arm64)
	return marked((__u32)regs->syscallno, task);
#endif
}

#endif

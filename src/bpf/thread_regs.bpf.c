/* SPDX-License-Identifier: MIT */
/* thread_regs: the user's registers of a thread that waits in the kernel, without a stop. */
#include "bpf/thread_regs.h"
#include "bpf/kernel.h"

const char licence[] SEC("license") = "Dual MIT/GPL";

__u32 wanted_tid; /* as the first pid namespace numbers it */
struct thread_regs found;

SEC("iter/task")
int on_task(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	const struct pt_regs *regs;

	if (!task || (__u32)task->pid != wanted_tid || task->flags & PF_KTHREAD)
		return 0;
	/* One that runs has others by now. */
	if (!task->__state || task->thread_info.status & TS_COMPAT)
		return 0;
	regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	found.ip = regs->ip;
	found.dwarf[3] = regs->bx;
	found.dwarf[6] = regs->bp;
	found.dwarf[7] = regs->sp;
	found.dwarf[12] = regs->r12;
	found.dwarf[13] = regs->r13;
	found.dwarf[14] = regs->r14;
	found.dwarf[15] = regs->r15;
	found.is_found = 1;
	return 0;
}

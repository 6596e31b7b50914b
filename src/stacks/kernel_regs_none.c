/* SPDX-License-Identifier: MIT */
/* Built without BPF. */
#include "stacks/kernel_regs.h"

bool kernel_regs_read(struct kernel_regs *k, pid_t tid, struct thread_regs *ret)
{
	(void)k;
	(void)tid;
	(void)ret;
	return false;
}

void kernel_regs_close(struct kernel_regs *k)
{
	(void)k;
}

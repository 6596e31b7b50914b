/* SPDX-License-Identifier: MIT */
/*
 * kernel_regs: the registers of a thread that waits in the kernel and cannot be stopped, by BPF.
 *
 * Without BPF, or the rights for it, there are none. x86-64.
 */
#ifndef STACKS_KERNEL_REGS_H
#define STACKS_KERNEL_REGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"
#include "bpf/thread_regs.h"

/* All zero: not loaded yet. */
struct kernel_regs {
	struct thread_regs_bpf *bpf; /* NULL: none */
	bool is_tried;
};

/* Loads the program when it is needed first. false: they are not known. */
bool kernel_regs_read(struct kernel_regs *k, pid_t tid, struct thread_regs *ret);
void kernel_regs_close(struct kernel_regs *k);

#endif

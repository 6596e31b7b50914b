/* SPDX-License-Identifier: MIT */
/* thread_regs: what thread_regs.bpf.c and its loader share. */
#ifndef BPF_THREAD_REGS_H
#define BPF_THREAD_REGS_H

#include <linux/types.h>

#define THREAD_REGS_COUNT 16 /* by DWARF number of x86-64 */

/* The registers that a thread had when it entered the kernel. */
struct thread_regs {
	__u32 is_found; /* the following hold */
	__u32 unused;
	__u64 ip;
	__u64 dwarf[THREAD_REGS_COUNT]; /* those that calls preserve, and the stack pointer */
};

#endif

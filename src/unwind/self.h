/* SPDX-License-Identifier: MIT */
/*
 * self: unwinds the calling thread's own stack, also inside malloc and signal handlers.
 *
 * The tables of all code of the process are built beforehand, outside of such places, and again
 * after code was loaded. Building uses mmap and no malloc.
 */
#ifndef UNWIND_SELF_H
#define UNWIND_SELF_H

#include "base/err.h"
#include "unwind/walk.h"

struct unwind_self; /* the process' code at a time */

/*
 * From /proc/self/maps. old: what was made before, whose tables of files that are still there
 * move over; NULL at first. old stays usable, and must be freed before the new one is, but
 * not while a walk uses it (also one that a signal interrupted). Code that is in no ELF file,
 * or in one that is gone, is walked by frame pointers.
 * -ENOMEM, -ENOTSUP on other machines than x86-64 and AArch64, or the errno of reading
 * /proc/self/maps.
 */
int unwind_self_new(struct unwind_self *old, struct unwind_self **ret, struct err *e) MUST_CHECK;
void unwind_self_free(struct unwind_self *self); /* NULL is allowed */

const struct unwind_space *unwind_self_space(const struct unwind_self *self);

/* One past the mapping that the calling thread's stack lies in; the same for all the thread's
 * life, so call it once a thread. Reads /proc/self/maps. 0: not known. */
uint64_t unwind_self_stack_end(void);

/* The registers of the function it stands in; none on other machines than the two. */
static inline __attribute__((always_inline)) void unwind_self_regs(struct unwind_regs *regs)
{
	uint64_t ip, sp, fp;

	regs->known = 0;
#if defined(__x86_64__)
	uint64_t bx;

	__asm__ volatile("mov %%rbx, %3\n\tmov %%rbp, %2\n\tmov %%rsp, %1\n\tlea 0(%%rip), %0"
			 : "=&r"(ip), "=&r"(sp), "=&r"(fp), "=&r"(bx));
	unwind_regs_set(regs, UNWIND_X86_SP, sp);
	unwind_regs_set(regs, UNWIND_X86_BP, fp);
	unwind_regs_set(regs, UNWIND_X86_BX, bx);
#elif defined(__aarch64__)
	uint64_t lr;

	__asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
			 : "=&r"(ip), "=&r"(sp), "=&r"(fp), "=&r"(lr));
	unwind_regs_set(regs, UNWIND_ARM64_SP, sp);
	unwind_regs_set(regs, UNWIND_ARM64_FP, fp);
	unwind_regs_set(regs, UNWIND_ARM64_LR, lr);
#else
	ip = sp = fp = 0;
#endif
	regs->ip = ip;
}

#endif

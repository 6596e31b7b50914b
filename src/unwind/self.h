/* SPDX-License-Identifier: MIT */
/*
 * self: unwinds the calling thread's own stack, also inside malloc and signal handlers.
 *
 * What is loaded is read beforehand, outside of such places, and again after code was loaded. That
 * uses mmap and no malloc. Rules are found as walks need them (unwind/lookup.h), so of all
 * walks in a space only one may run at a time.
 */
#ifndef UNWIND_SELF_H
#define UNWIND_SELF_H

#include "base/elf_image.h"
#include "base/err.h"
#include "unwind/walk.h"

struct unwind_self; /* the process' code at a time */

/*
 * From /proc/self/maps. old: what was made before, whose rules of files that are still there
 * move over; NULL at first. old stays usable, and must be freed before the new one is, but
 * not while a walk uses it (also one that a signal interrupted). Code that is in no ELF file,
 * or in one that is gone, is walked by frame pointers.
 * -ENOMEM, -ENOTSUP on other machines than x86-64 and AArch64, or the errno of reading
 * /proc/self/maps.
 */
int unwind_self_new(struct unwind_self *old, struct unwind_self **ret, struct err *e) MUST_CHECK;
void unwind_self_free(struct unwind_self *self); /* NULL is allowed */

const struct unwind_space *unwind_self_space(const struct unwind_self *self);

/* Where a mapping of the space comes from. */
struct unwind_self_code {
	uint64_t offset;        /* in the file */
	uint64_t device, inode; /* major << 32 | minor; 0: no file */
	const char *path;     /* as in /proc/self/maps, "" if it has none; lives as long as self */
	bool has_bias;        /* of the map: its bias is known */
	uint8_t build_id_len; /* 0: none */
	unsigned char build_id[ELF_BUILD_ID_MAX];
};

/* index < count of the space. Lives as long as self. */
const struct unwind_self_code *unwind_self_code(const struct unwind_self *self, uint32_t index);

/* One past the mapping that the calling thread's stack lies in; the same for all the thread's
 * life, so call it once a thread. Reads /proc/self/maps. 0: not known. */
uint64_t unwind_self_stack_end(void);

/* May the process write there, as /proc/self/maps has it? */
bool unwind_self_is_writable(uint64_t address);

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

/* SPDX-License-Identifier: MIT */
/*
 * process_code: the code of a process at a moment, to know where a stopped thread of it stands.
 *
 * A function like dlopen() may be called in a thread that is neither in the dynamic linker nor in
 * an allocator, on no frame of its stack. Tables of unwinding are made of the files on stacks only.
 */
#ifndef HEAP_PROCESS_CODE_H
#define HEAP_PROCESS_CODE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/elf_image.h"
#include "base/err.h"
#include "base/macros.h"
#include "inject/arch.h"

struct process_code; /* opaque */

enum thread_place {
	THREAD_FREE,         /* functions may be called in it */
	THREAD_IN_LOADER,    /* in the dynamic linker, perhaps with its lock */
	THREAD_IN_ALLOCATOR, /* in malloc, fork and others that may not be entered again */
	THREAD_UNKNOWN,      /* its stack cannot be unwound to its end */
};

/* -ESRCH: there is no such process. */
int process_code_new(pid_t pid, struct process_code **ret, struct err *e) MUST_CHECK;
void process_code_free(struct process_code *c); /* NULL is allowed */

/* Of a thread that is in a ptrace stop of ours, with these registers. */
enum thread_place process_code_place(struct process_code *c, const struct arch_regs *regs);

/* The address of a function of the C library; 0: it has none of that name. */
uint64_t process_code_libc(struct process_code *c, const char *name);

/* Where a vaddr of image is, whose file is mapped under this path; 0: it is not. */
uint64_t process_code_address(const struct process_code *c, const char *path,
			      const struct elf_image *image, uint64_t vaddr);

/* The path of the first mapping that begins so; NULL: none. Borrowed. */
const char *process_code_find_path(const struct process_code *c, const char *start);

#endif

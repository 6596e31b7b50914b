/* SPDX-License-Identifier: MIT */
/*
 * memory: the stack memory that a walk reads, one word at a time.
 *
 * A walk first looks in one slice of bytes for [start..start+len): the kernel's copy, or the
 * thread's own stack. For other addresses it calls read, if there is one, which may move the
 * slice. No function here uses malloc or a lock.
 */
#ifndef UNWIND_MEMORY_H
#define UNWIND_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

struct unwind_memory {
	const unsigned char *bytes; /* [0..len), borrowed */
	uint64_t start;             /* address of bytes[0] */
	uint64_t len;

	/* For a word that does not lie in the slice; NULL: such words are not there. May set
	 * bytes, start and len anew. false: not there. */
	bool (*read)(struct unwind_memory *m, uint64_t address, uint64_t *ret);
	unsigned char *window; /* [window_size): what read may fill; the caller's */
	size_t window_size;
	pid_t pid; /* whose memory is read */
};

/* A copy of the stack, e.g. of PERF_SAMPLE_STACK_USER; nothing else is there. */
struct unwind_memory unwind_memory_copy(uint64_t start, const void *bytes, uint64_t len);

/* The calling thread's own stack, from the sp of the walk to its end (unwind_self_stack_end),
 * read in place. */
struct unwind_memory unwind_memory_own(uint64_t sp, uint64_t stack_end);

/*
 * Another process, by process_vm_readv; window (of a page or more) is filled a piece at a
 * time. What cannot be read is not there. The process should be stopped, or the walk may
 * see two moments. Also for pid of our own, to read what may not be mapped.
 */
struct unwind_memory unwind_memory_process(pid_t pid, void *window, size_t window_size);

static inline bool unwind_memory_word(struct unwind_memory *m, uint64_t address, uint64_t *ret)
{
	uint64_t at = address - m->start;

	if (__builtin_expect(m->len >= 8 && at <= m->len - 8, 1)) {
		memcpy(ret, m->bytes + at, 8);
		return true;
	}
	return m->read && m->read(m, address, ret);
}

#endif

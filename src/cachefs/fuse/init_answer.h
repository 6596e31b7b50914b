/* SPDX-License-Identifier: MIT */
/*
 * init_answer: what is added to the answer to the kernel's first request: what libfuse 3.14 does
 * not know of, or forgets, if the kernel has it. Source: linux/fuse.h.
 */
#ifndef CACHEFS_FUSE_INIT_ANSWER_H
#define CACHEFS_FUSE_INIT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* All zero before the request and after the answer. */
struct init_answer {
	uint32_t flags, flags2; /* what the kernel can */
	bool passes;            /* that it is to pass files through */
};

/* What that request offers. */
void init_answer_note(struct init_answer *a, const void *request, size_t len);

/* Asks for files to be passed through. False: that is not offered. */
bool init_answer_pass(struct init_answer *a);

static inline bool init_answer_is_due(const struct init_answer *a)
{
	return a->flags;
}

/* Of a whole answer, its header first. */
void init_answer_extend(struct init_answer *a, const struct iovec *iov, int count);

#endif

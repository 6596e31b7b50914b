/* SPDX-License-Identifier: MIT */
/*
 * init_reply: patches libfuse's reply to FUSE_INIT with flags that libfuse 3.14 does not know, or
 * drops. Source: linux/fuse.h.
 */
#ifndef CACHEFS_FUSE_INIT_REPLY_H
#define CACHEFS_FUSE_INIT_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* All zero before the request and after the reply. */
struct init_reply {
	uint32_t flags, flags2; /* that the kernel offers */
	bool passthrough;       /* enabled by init_reply_enable_passthrough */
};

/* Reads what the request offers. */
void init_reply_note_request(struct init_reply *a, const void *request, size_t len);

/* False: the kernel does not offer passthrough. */
bool init_reply_enable_passthrough(struct init_reply *a);

static inline bool init_reply_is_pending(const struct init_reply *a)
{
	return a->flags;
}

/* iov: the whole reply, its header first. */
void init_reply_patch(struct init_reply *a, const struct iovec *iov, int count);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * init_reply: patches libfuse's reply to FUSE_INIT with flags that libfuse 3.14 does not know, or
 * drops. Source: linux/fuse.h.
 */
#ifndef CACHEFS_FUSE_INIT_REPLY_H
#define CACHEFS_FUSE_INIT_REPLY_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* libfuse calls our functions to read requests and write replies since 3.14. Before, all threads
 * use the session's descriptor, and the reply to FUSE_INIT stays as it is. */
#if FUSE_MINOR_VERSION >= 14 && !defined AUGER_FORCE_COMPAT
#define HAS_CUSTOM_IO 1
#else
#define HAS_CUSTOM_IO 0
#endif
typedef ssize_t init_reply_read(int fd, void *into, size_t len, void *userdata);
typedef ssize_t init_reply_writev(int fd, struct iovec *iov, int count, void *userdata);

/* 0, or -errno. */
static inline int init_reply_set_io(struct fuse_session *session, init_reply_read *read,
				    init_reply_writev *writev)
{
#if HAS_CUSTOM_IO
	const struct fuse_custom_io io = { .read = read, .writev = writev }; /* it is copied */

	return fuse_session_custom_io(session, &io, fuse_session_fd(session));
#else
	(void)session, (void)read, (void)writev;
	return 0;
#endif
}

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

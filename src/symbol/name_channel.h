/* SPDX-License-Identifier: MIT */
/*
 * name_channel: messages between the naming process and its parent, over a socket of the Unix
 * domain.
 *
 * A message is its type and length, 4 bytes each, and so many bytes; each type has a largest
 * length. Only the parent passes descriptors.
 */
#ifndef SYMBOL_NAME_CHANNEL_H
#define SYMBOL_NAME_CHANNEL_H

#include <stddef.h>

#include "base/buf.h"
#include "base/macros.h"

enum name_message {
	NAME_HELLO,   /* from the process: it has given up its rights; a byte: has it a filter? */
	NAME_REQUEST, /* to it: name_request_write() */
	NAME_LOG,     /* from it: the level, and the text */
	NAME_OPEN,    /* from it: the enum opener_kind, and the path of a file it wants */
	NAME_OPENED,  /* to it: with a descriptor, or the reason why there is none */
	NAME_ANSWER,  /* from it: name_answer_write() */
	NAME_MESSAGES,
};

struct name_channel {
	int fd;
	/* Waits until events (poll(2)) have come: 0 or -errno, which ends the call. NULL: the calls
	 * block. */
	int (*wait)(void *context, short events);
	void *context;
};

/* passed_fd: -1: none. 0 or -errno. */
int name_channel_send(const struct name_channel *c, enum name_message type, const void *bytes,
		      size_t len, int passed_fd) MUST_CHECK;

/* Replaces what is in *ret. ret_fd: the descriptor that came along, or -1, the caller's to close;
 * NULL: none is taken. The type, or -EPIPE at the end, -EPROTO, -ENOMEM, -errno. */
int name_channel_receive(const struct name_channel *c, struct buf *ret, int *ret_fd) MUST_CHECK;

#endif

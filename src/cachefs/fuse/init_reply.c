/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/init_reply.h"

#include <linux/fuse.h>
#include <string.h>

#define DIRECT_IO_ALLOW_MMAP (1u << 4) /* in flags2, since Linux 6.6 */
#define PASSTHROUGH (1u << 5)          /* the same, since Linux 6.9 */

void init_reply_note_request(struct init_reply *a, const void *request, size_t len)
{
	struct {
		struct fuse_in_header header;
		struct fuse_init_in init;
	} first;

	if (len < sizeof first)
		return;
	memcpy(&first, request, sizeof first);
	a->flags = first.init.flags;
	a->flags2 = first.init.flags2;
}

bool init_reply_enable_passthrough(struct init_reply *a)
{
	a->passthrough = a->flags2 & PASSTHROUGH;
	return a->passthrough;
}

void init_reply_patch(struct init_reply *a, const struct iovec *iov, int count)
{
	struct fuse_init_out *out = count == 2 ? iov[1].iov_base : NULL;

	if (!out || iov[1].iov_len != sizeof *out)
		return;
	out->flags |= a->flags & FUSE_PARALLEL_DIROPS;
	if (out->flags & FUSE_INIT_EXT)
		out->flags2 |=
			a->flags2 & (DIRECT_IO_ALLOW_MMAP | (a->passthrough ? PASSTHROUGH : 0));
	if (a->passthrough)
		memcpy(&out->flags2 + 1, &(uint32_t){ 1 }, sizeof(uint32_t)); /* max_stack_depth */
	*a = (struct init_reply){ 0 };
}

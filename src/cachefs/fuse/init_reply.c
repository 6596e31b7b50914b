/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/init_reply.h"

#include <assert.h>
#include <linux/fuse.h>
#include <stddef.h>
#include <string.h>

#define INIT_EXT (1u << 30)            /* in flags: flags2 counts; since Linux 5.17 */
#define DIRECT_IO_ALLOW_MMAP (1u << 4) /* in flags2, since Linux 6.6 */
#define PASSTHROUGH (1u << 5)          /* the same, since Linux 6.9 */

/* struct fuse_init_out as in Linux 6.9: older headers name fewer of its members. */
struct init_out {
	uint32_t major, minor, max_readahead, flags;
	uint16_t max_background, congestion_threshold;
	uint32_t max_write, time_gran;
	uint16_t max_pages, map_alignment;
	uint32_t flags2, max_stack_depth;
	uint32_t unused[6];
};
static_assert(sizeof(struct init_out) == sizeof(struct fuse_init_out), "of one size always");

void init_reply_note_request(struct init_reply *a, const void *request, size_t len)
{
	struct {
		struct fuse_in_header header;
		uint32_t major, minor, max_readahead, flags;
		uint32_t flags2; /* since Linux 5.17 */
	} first = { 0 };

	if (len < offsetof(__typeof__(first), flags2))
		return;
	memcpy(&first, request, len < sizeof first ? len : sizeof first);
	a->flags = first.flags;
	a->flags2 = first.flags2;
}

bool init_reply_enable_passthrough(struct init_reply *a)
{
	a->passthrough = a->flags2 & PASSTHROUGH;
	return a->passthrough;
}

void init_reply_patch(struct init_reply *a, const struct iovec *iov, int count)
{
	struct init_out *out = count == 2 ? iov[1].iov_base : NULL;

	if (!out || iov[1].iov_len != sizeof *out)
		return;
	out->flags |= a->flags & FUSE_PARALLEL_DIROPS;
	if (out->flags & INIT_EXT)
		out->flags2 |=
			a->flags2 & (DIRECT_IO_ALLOW_MMAP | (a->passthrough ? PASSTHROUGH : 0));
	if (a->passthrough)
		out->max_stack_depth = 1;
	*a = (struct init_reply){ 0 };
}

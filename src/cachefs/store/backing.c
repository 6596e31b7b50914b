/* SPDX-License-Identifier: MIT */
#include "cachefs/store/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/compat/compat.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* since Linux 6.3. Source: linux/memfd.h */
#endif

#define HUGE_BYTES (UINT64_C(2) << 20) /* of a huge page on x86-64 and most of aarch64 */
#define COLLAPSE_ROUNDS 6              /* a page that is being read just then cannot collapse */
#define PAUSE_NS (10 * 1000 * 1000) /* after the first round; doubled after each: 310 ms in all */

struct backing {
	_Atomic size_t refs;
	int fd;
	uint64_t size;
	char *room; /* [room_bytes] of reserved addresses around bytes */
	size_t room_bytes;
	char *bytes; /* [size], aligned to huge pages */
	_Atomic bool is_collapsing;
	uint64_t at;     /* offset of the next page; this and below: of the collapsing thread */
	unsigned rounds; /* over the whole file */
	unsigned failed; /* pages of this round */
};

static int get_memory(uint64_t size)
{
	int fd = memfd_create("auger-cache", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0)
		fd = memfd_create("auger-cache", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, (off_t)size) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool map(struct backing *b)
{
	uintptr_t at;

	b->room_bytes = (size_t)(b->size + HUGE_BYTES);
	/* cppcheck-suppress invalidFunctionArg ; -1 is the descriptor of no file */
	b->room = mmap(NULL, b->room_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b->room == MAP_FAILED)
		return false;
	at = ((uintptr_t)b->room + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1);
	b->bytes = mmap(b->room + (at - (uintptr_t)b->room), (size_t)b->size,
			PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, b->fd, 0);
	if (b->bytes != MAP_FAILED)
		return true;
	munmap(b->room, b->room_bytes);
	return false;
}

struct backing *backing_new(uint64_t size)
{
	struct backing *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	b->refs = 1;
	b->size = size;
	b->fd = get_memory(size);
	if (b->fd >= 0 && map(b))
		return b;
	if (b->fd >= 0)
		close(b->fd);
	free(b);
	return NULL;
}

struct backing *backing_ref(struct backing *b)
{
	atomic_fetch_add(&b->refs, 1);
	return b;
}

void backing_unref(struct backing *b)
{
	if (!b || atomic_fetch_sub(&b->refs, 1) > 1)
		return;
	munmap(b->room, b->room_bytes);
	close(b->fd);
	free(b);
}

uint64_t backing_size(const struct backing *b)
{
	return b->size;
}

int backing_fd(const struct backing *b)
{
	return b->fd;
}

char *backing_at(const struct backing *b, uint64_t offset)
{
	return b->bytes + offset;
}

void backing_punch(const struct backing *b, uint64_t offset, size_t len)
{
	fallocate(b->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)len);
}

bool backing_collapse_begin(struct backing *b)
{
	if (atomic_exchange(&b->is_collapsing, true))
		return false;
	b->at = 0;
	b->rounds = b->failed = 0;
	return true;
}

/* False: all pages collapsed, or it was the last round. */
static bool begin_round(struct backing *b)
{
	const struct timespec pause = { .tv_nsec = (long)PAUSE_NS << b->rounds };

	if (!b->failed || ++b->rounds == COLLAPSE_ROUNDS)
		return false;
	nanosleep(&pause, NULL);
	b->at = 0;
	b->failed = 0;
	return true;
}

bool backing_collapse_next(struct backing *b)
{
	if (b->size - b->at < HUGE_BYTES)
		return begin_round(b);
	if (madvise(b->bytes + b->at, HUGE_BYTES, MADV_COLLAPSE) < 0) {
		if (errno == EINVAL)
			return false; /* the kernel has no huge pages */
		b->failed++;
	}
	b->at += HUGE_BYTES;
	return true;
}

void backing_collapse_end(struct backing *b)
{
	atomic_store(&b->is_collapsing, false);
}

/* SPDX-License-Identifier: MIT */
#include "cachefs/store/whole.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* since Linux 6.3. Source: linux/memfd.h */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* since Linux 6.1. Source: asm-generic/mman-common.h */
#endif

#define LARGE_BYTES (UINT64_C(2) << 20) /* of a large page, on most machines */
#define FOLD_ROUNDS 6                   /* who reads pages just then keeps them from it */
#define PAUSE_NS (10 * 1000 * 1000)     /* after the first round; then twice as long each time */

struct whole {
	_Atomic size_t refs;
	int fd;
	uint64_t size;
	char *room; /* [room_bytes] of addresses, which holds bytes */
	size_t room_bytes;
	char *bytes; /* [size], at an address that large pages may have */
	_Atomic bool is_folding;
	uint64_t at;             /* of the next large page; this and below: who folds has them */
	unsigned rounds, failed; /* over all of it; pages of this one */
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

static bool map(struct whole *w)
{
	uintptr_t at;

	w->room_bytes = (size_t)(w->size + LARGE_BYTES);
	/* cppcheck-suppress invalidFunctionArg ; -1 is the descriptor of no file */
	w->room = mmap(NULL, w->room_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->room == MAP_FAILED)
		return false;
	at = ((uintptr_t)w->room + LARGE_BYTES - 1) & ~(uintptr_t)(LARGE_BYTES - 1);
	w->bytes = mmap(w->room + (at - (uintptr_t)w->room), (size_t)w->size,
			PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, w->fd, 0);
	if (w->bytes != MAP_FAILED)
		return true;
	munmap(w->room, w->room_bytes);
	return false;
}

struct whole *whole_new(uint64_t size)
{
	struct whole *w = calloc(1, sizeof *w);

	if (!w)
		return NULL;
	w->refs = 1;
	w->size = size;
	w->fd = get_memory(size);
	if (w->fd >= 0 && map(w))
		return w;
	if (w->fd >= 0)
		close(w->fd);
	free(w);
	return NULL;
}

struct whole *whole_ref(struct whole *w)
{
	atomic_fetch_add(&w->refs, 1);
	return w;
}

void whole_unref(struct whole *w)
{
	if (!w || atomic_fetch_sub(&w->refs, 1) > 1)
		return;
	munmap(w->room, w->room_bytes);
	close(w->fd);
	free(w);
}

uint64_t whole_size(const struct whole *w)
{
	return w->size;
}

int whole_fd(const struct whole *w)
{
	return w->fd;
}

char *whole_at(const struct whole *w, uint64_t offset)
{
	return w->bytes + offset;
}

void whole_drop(const struct whole *w, uint64_t offset, size_t len)
{
	fallocate(w->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)len);
}

bool whole_fold_begin(struct whole *w)
{
	if (atomic_exchange(&w->is_folding, true))
		return false;
	w->at = 0;
	w->rounds = w->failed = 0;
	return true;
}

/* False: that was the last one. */
static bool begin_round(struct whole *w)
{
	const struct timespec pause = { .tv_nsec = (long)PAUSE_NS << w->rounds };

	if (!w->failed || ++w->rounds == FOLD_ROUNDS)
		return false;
	nanosleep(&pause, NULL);
	w->at = 0;
	w->failed = 0;
	return true;
}

bool whole_fold_next(struct whole *w)
{
	if (w->size - w->at < LARGE_BYTES)
		return begin_round(w);
	if (madvise(w->bytes + w->at, LARGE_BYTES, MADV_COLLAPSE) < 0) {
		if (errno == EINVAL)
			return false; /* the kernel has none */
		w->failed++;
	}
	w->at += LARGE_BYTES;
	return true;
}

void whole_fold_end(struct whole *w)
{
	atomic_store(&w->is_folding, false);
}

/* SPDX-License-Identifier: MIT */
#include "cachefs/memory/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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
#define MAPPINGS 16384                 /* at most: a quarter of the least vm.max_map_count */
#define COLLAPSE_ROUNDS 6              /* a page that is being read just then cannot collapse */
#define PAUSE_NS (10 * 1000 * 1000) /* after the first round; doubled after each: 310 ms in all */

struct backings {
	pthread_mutex_t lock;            /* of the next three */
	struct backing *newest, *oldest; /* those with descriptors, by last use */
	unsigned fds;                    /* how many these are */
	unsigned max_fds;                /* never changes */
	_Atomic unsigned refs;           /* one of the owner, and one of each backing file */
};

struct backing {
	_Atomic size_t refs;
	struct backings *all;
	struct backing *before, *after; /* in its list; under its lock */
	int fd;                         /* the same; -1: none */
	uint64_t size;
	char *bytes; /* [size], aligned to huge pages */
	_Atomic bool is_collapsing;
	uint64_t at;     /* offset of the next page; this and below: of the collapsing thread */
	unsigned rounds; /* over the whole file */
	unsigned failed; /* pages of this round */
};

struct backings *backings_new(unsigned max_fds)
{
	struct backings *all = calloc(1, sizeof *all);

	if (!all)
		return NULL;
	all->refs = 1;
	all->max_fds = max_fds;
	pthread_mutex_init(&all->lock, NULL);
	return all;
}

void backings_free(struct backings *all)
{
	if (!all || atomic_fetch_sub(&all->refs, 1) > 1)
		return;
	pthread_mutex_destroy(&all->lock);
	free(all);
}

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

/* Reserves more addresses than needed, and gives those around an aligned range back. */
static char *map(int fd, uint64_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = (size_t)(size + HUGE_BYTES), skip, end;
	char *room, *bytes;

	/* cppcheck-suppress invalidFunctionArg ; -1 is the descriptor of no file */
	room = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return NULL;
	skip = -(uintptr_t)room & (HUGE_BYTES - 1);
	bytes = mmap(room + skip, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		     0);
	if (bytes == MAP_FAILED) {
		munmap(room, len);
		return NULL;
	}
	if (skip)
		munmap(room, skip);
	end = (skip + (size_t)size + page - 1) & ~(page - 1);
	munmap(room + end, len - end);
	return bytes;
}

/* Under lock, as the next two. */
static void enlist(struct backing *b)
{
	struct backings *all = b->all;

	b->before = NULL;
	b->after = all->newest;
	if (all->newest)
		all->newest->before = b;
	else
		all->oldest = b;
	all->newest = b;
	all->fds++;
}

static void unlist(struct backing *b)
{
	struct backings *all = b->all;

	if (b->before)
		b->before->after = b->after;
	else
		all->newest = b->after;
	if (b->after)
		b->after->before = b->before;
	else
		all->oldest = b->before;
	all->fds--;
}

static void close_oldest(struct backings *all)
{
	struct backing *b = all->oldest;

	unlist(b);
	close(b->fd);
	b->fd = -1;
}

static struct backing *open_backing(struct backings *all, uint64_t size)
{
	struct backing *b = calloc(1, sizeof *b);

	if (!b)
		return NULL;
	b->refs = 1;
	b->all = all;
	b->size = size;
	b->fd = get_memory(size);
	b->bytes = b->fd >= 0 ? map(b->fd, size) : NULL;
	if (b->bytes)
		return b;
	if (b->fd >= 0)
		close(b->fd);
	free(b);
	return NULL;
}

struct backing *backing_new(struct backings *all, uint64_t size)
{
	bool fits = atomic_fetch_add(&all->refs, 1) <= MAPPINGS;
	struct backing *b = fits ? open_backing(all, size) : NULL;

	if (!b) {
		backings_free(all);
		return NULL;
	}
	pthread_mutex_lock(&all->lock);
	enlist(b);
	if (all->fds > all->max_fds)
		close_oldest(all);
	pthread_mutex_unlock(&all->lock);
	return b;
}

struct backing *backing_ref(struct backing *b)
{
	atomic_fetch_add(&b->refs, 1);
	return b;
}

void backing_unref(struct backing *b)
{
	struct backings *all;

	if (!b || atomic_fetch_sub(&b->refs, 1) > 1)
		return;
	all = b->all;
	pthread_mutex_lock(&all->lock);
	if (b->fd >= 0) {
		unlist(b);
		close(b->fd);
	}
	pthread_mutex_unlock(&all->lock);
	munmap(b->bytes, (size_t)b->size);
	free(b);
	backings_free(all);
}

uint64_t backing_size(const struct backing *b)
{
	return b->size;
}

int backing_dup(struct backing *b)
{
	int fd = -1;

	pthread_mutex_lock(&b->all->lock);
	if (b->fd >= 0) {
		unlist(b);
		enlist(b);
		fd = fcntl(b->fd, F_DUPFD_CLOEXEC, 0);
	}
	pthread_mutex_unlock(&b->all->lock);
	return fd;
}

char *backing_at(const struct backing *b, uint64_t offset)
{
	return b->bytes + offset;
}

void backing_punch(const struct backing *b, uint64_t offset, size_t len)
{
	madvise(b->bytes + offset, len, MADV_REMOVE);
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

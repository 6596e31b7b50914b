/* SPDX-License-Identifier: MIT */
#include "preload/heap/mappings.h"

#include <stddef.h>
#include <string.h>

#include "preload/heap/account.h"
#include "preload/heap/pages.h"
#include "preload/heap/spin.h"

#define RANGES_AT_FIRST 256

/* A mapping, or a piece of it. */
struct range {
	uint64_t start, end; /* addresses [start..end), not empty */
	uint64_t mapping;    /* number of the mapping that it is of */
	uint32_t site;
	uint32_t is_piece; /* others may be of the same mapping */
};

static struct {
	struct range *all; /* [count], by address; they do not overlap */
	size_t count, cap;
	uint64_t made; /* mappings so far; read without the lock, too */
	uint32_t lock;
} ranges;

void mappings_lock(void)
{
	if (!thread_tls.is_forking)
		spin_lock(&ranges.lock);
}

void mappings_unlock(void)
{
	if (!thread_tls.is_forking)
		spin_unlock(&ranges.lock);
}

uint64_t mappings_made(void)
{
	return __atomic_load_n(&ranges.made, __ATOMIC_ACQUIRE);
}

/* The first one that ends behind address. */
static size_t find(uint64_t address)
{
	size_t from = 0, to = ranges.count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (ranges.all[middle].end > address)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

static bool has_room(void)
{
	size_t cap = ranges.cap ? 2 * ranges.cap : RANGES_AT_FIRST;
	struct range *all;

	if (ranges.count < ranges.cap)
		return true;
	all = pages_new(cap * sizeof *all);
	if (!all)
		return false;
	if (ranges.all) {
		memcpy(all, ranges.all, ranges.count * sizeof *all);
		pages_free(ranges.all, ranges.cap * sizeof *all);
	}
	ranges.all = all;
	ranges.cap = cap;
	return true;
}

static void insert(size_t at, const struct range *r)
{
	memmove(&ranges.all[at + 1], &ranges.all[at], (ranges.count - at) * sizeof *r);
	ranges.all[at] = *r;
	ranges.count++;
}

static void remove_at(size_t at)
{
	ranges.count--;
	memmove(&ranges.all[at], &ranges.all[at + 1], (ranges.count - at) * sizeof(struct range));
}

static bool is_last_piece(const struct range *r)
{
	size_t pieces = 0;

	if (!r->is_piece)
		return true;
	for (size_t i = 0; i < ranges.count && pieces < 2; i++)
		pieces += ranges.all[i].mapping == r->mapping;
	return pieces < 2;
}

/* Where there is no memory for one more range, what is behind the hole ends, too. */
static void split(struct thread *t, size_t at, uint64_t start, uint64_t end)
{
	struct range *r = &ranges.all[at], behind = *r;
	bool ok;

	r->is_piece = behind.is_piece = 1;
	behind.start = end;
	ok = has_room();
	r = &ranges.all[at];
	account_unmapped(t, 0, r->site, 0, (ok ? end : r->end) - start);
	r->end = start;
	if (ok)
		insert(at + 1, &behind);
}

/* One range less what it has in common with [start..end), which is not nothing. false: it is gone.
 */
static bool cut_one(struct thread *t, size_t at, uint64_t start, uint64_t end, bool is_move)
{
	struct range *r = &ranges.all[at];

	if (start <= r->start && end >= r->end) {
		account_unmapped(t, is_move ? 0 : r->start, r->site, is_last_piece(r),
				 r->end - r->start);
		remove_at(at);
		return false;
	}
	if (start > r->start && end < r->end) {
		split(t, at, start, end);
	} else if (start > r->start) {
		account_unmapped(t, 0, r->site, 0, r->end - start);
		r->end = start;
	} else {
		account_unmapped(t, 0, r->site, 0, end - r->start);
		r->start = end;
	}
	return true;
}

void mappings_cut(struct thread *t, uint64_t start, uint64_t end, uint64_t made, bool is_move)
{
	size_t at = find(start);

	while (at < ranges.count && ranges.all[at].start < end)
		at += ranges.all[at].mapping > made || cut_one(t, at, start, end, is_move);
}

void mappings_put(struct thread *t, uint64_t start, uint64_t end, const uint64_t *frame,
		  bool is_move)
{
	struct range fresh = { .start = start, .end = end };

	mappings_cut(t, start, end, UINT64_MAX, false);
	if (!has_room()) {
		account_miss();
		return;
	}
	fresh.mapping = __atomic_add_fetch(&ranges.made, 1, __ATOMIC_RELEASE);
	fresh.site = account_mapped(t, start, end - start, frame, is_move);
	insert(find(start), &fresh);
}

void mappings_repair(void)
{
	if (!ranges.lock)
		return;
	ranges.count = 0;
	ranges.lock = 0;
}

void mappings_release(void)
{
	if (ranges.all)
		pages_free(ranges.all, ranges.cap * sizeof *ranges.all);
	memset(&ranges, 0, sizeof ranges);
}

/* SPDX-License-Identifier: MIT */
#include "cachefs/memory/slabs.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cachefs/memory/blocks.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)

/* Lines of /proc/self/maps; sanitizers have mappings of their own. */
static size_t mappings(void)
{
	FILE *f = TAP_UNDER_TSAN || TAP_UNDER_ASAN ? NULL : fopen("/proc/self/maps", "re");
	size_t lines = 0;
	int c;

	while (f && (c = getc(f)) != EOF)
		lines += c == '\n';
	if (f)
		fclose(f);
	return lines;
}

/* How many of these bytes are in memory, in whole pages. */
static size_t resident(const void *bytes, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), sum = 0;
	unsigned char seen[MIB / 4096 + 1] = { 0 };
	uintptr_t begin = (uintptr_t)bytes / page * page, end = (uintptr_t)bytes + len;

	/* cppcheck-suppress nullPointer */
	if (mincore((void *)begin, end - begin, seen) < 0)
		return SIZE_MAX;
	for (size_t i = 0; i < (end - begin + page - 1) / page; i++)
		sum += (seen[i] & 1) * page;
	return sum;
}

/* A piece takes at most a sixteenth, or a page, more than its length. */
static void test_round(void)
{
	struct slabs *s = slabs_new(64 * MIB);

	for (size_t len = 1; s && len <= BLOCK_MAX; len += 1 + len / 100) {
		size_t got = slabs_round(s, len);
		size_t most = len <= 128          ? 128
			      : len <= SLAB_LARGE ? len + len / 16 + 1
						  : len + 4095;

		if (!CHECK(got >= len && (got <= most || got - len < slabs_page_bytes(s))))
			fprintf(stderr, "%zu takes %zu\n", len, got);
	}
	CHECK_INT(slabs_round(s, 128), 128);
	CHECK_INT(slabs_round(s, 129), 136);
	CHECK_INT(slabs_round(s, SLAB_LARGE), SLAB_LARGE);
	slabs_free(s);
}

struct held {
	struct slab_piece piece;
	size_t len;
	unsigned char fill;
};

static bool is_intact(const struct held *h)
{
	for (size_t i = 0; i < h->len; i += 61)
		if ((unsigned char)h->piece.bytes[i] != h->fill)
			return false;
	return (unsigned char)h->piece.bytes[h->len - 1] == h->fill;
}

/* A generator of its own: the test is the same on each run. */
static uint32_t dice(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static size_t any_len(uint32_t *state)
{
	return 1 + dice(state) % (dice(state) % 8 ? 20000 : (uint32_t)BLOCK_MAX);
}

static void take(struct slabs *s, struct held *h, uint32_t *state)
{
	h->len = any_len(state);
	h->fill = (unsigned char)dice(state);
	if (!CHECK(slabs_take(s, h->len, &h->piece)))
		return;
	if (h->len > SLAB_LARGE)
		CHECK(h->piece.bytes[0] == 0 && h->piece.bytes[h->len - 1] == 0);
	memset(h->piece.bytes, h->fill, h->len);
}

static void give(struct slabs *s, struct held *h)
{
	CHECK(is_intact(h));
	slabs_give(s, h->piece, h->len);
	h->piece.bytes = NULL;
}

/* Pieces of all lengths, taken and given back in any order, never overlap. */
static void *churn(void *arg)
{
	enum { HELD = 120, ROUNDS = 4000 };
	static _Atomic uint32_t seeds;
	uint32_t state = ++seeds;
	struct held held[HELD] = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		struct held *h = &held[dice(&state) % HELD];

		if (h->piece.bytes)
			give(arg, h);
		else
			take(arg, h, &state);
	}
	for (int i = 0; i < HELD; i++)
		if (held[i].piece.bytes)
			give(arg, &held[i]);
	return NULL;
}

static void test_churn(void)
{
	struct slabs *s = slabs_new(64 * MIB);
	pthread_t threads[3];
	size_t before = mappings();

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, churn, s);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	CHECK(mappings() < before + 20);
	slabs_free(s);
}

/* 300,000 pieces are few mappings; when every second one is given back they stay few, and the
 * memory of the others stays; with the last one all goes. */
static void test_many(void)
{
	enum { COUNT = 300000 };
	struct slabs *s = slabs_new(1024 * MIB);
	struct held *held = calloc(COUNT, sizeof *held);
	size_t before = mappings(), bytes = 0;
	uint32_t state = 1;

	for (int i = 0; held && i < COUNT; i++) {
		held[i].len = 1 + dice(&state) % 1500;
		held[i].fill = (unsigned char)i;
		bytes += slabs_round(s, held[i].len);
		if (!CHECK(slabs_take(s, held[i].len, &held[i].piece)))
			return;
		held[i].piece.bytes[0] = held[i].piece.bytes[held[i].len - 1] = (char)i;
	}
	CHECK(mappings() < before + 20 + bytes / (32 * MIB));
	for (int i = 0; held && i < COUNT; i += 2)
		slabs_give(s, held[i].piece, held[i].len);
	CHECK(mappings() < before + 20 + bytes / (32 * MIB));
	for (int i = 1; held && i < COUNT; i += 2) {
		if (!CHECK((unsigned char)held[i].piece.bytes[held[i].len - 1] == (unsigned char)i))
			break;
		slabs_give(s, held[i].piece, held[i].len);
	}
	CHECK(mappings() <= before + 3);
	free(held);
	slabs_free(s);
}

/* A page goes back with the last piece that has a part of it. */
static void test_pages(void)
{
	enum { COUNT = 64, LEN = 900 };
	struct slabs *s = slabs_new(64 * MIB);
	struct slab_piece pieces[COUNT], large;
	size_t page = slabs_page_bytes(s);

	for (int i = 0; i < COUNT; i++) {
		if (!CHECK(slabs_take(s, LEN, &pieces[i])))
			return;
		memset(pieces[i].bytes, 1, LEN);
	}
	for (int i = 0; i < COUNT; i++)
		if (i != COUNT / 2)
			slabs_give(s, pieces[i], LEN);
	CHECK_INT(pieces[COUNT / 2].bytes[LEN - 1], 1);
	CHECK(resident(pieces[0].bytes, (size_t)(COUNT * slabs_round(s, LEN))) <= 2 * page);
	slabs_give(s, pieces[COUNT / 2], LEN);
	CHECK_INT(resident(pieces[0].bytes, COUNT * slabs_round(s, LEN)), 0);
	if (!CHECK(slabs_take(s, MIB - 5, &large)))
		return;
	memset(large.bytes, 1, MIB - 5);
	CHECK_INT(resident(large.bytes, MIB), MIB);
	slabs_give(s, large, MIB - 5);
	CHECK_INT(resident(large.bytes, MIB), 0);
	slabs_free(s);
}

int main(void)
{
	TAP_CASE(test_round);
	TAP_CASE(test_churn);
	TAP_CASE(test_many);
	TAP_CASE(test_pages);
	return tap_done();
}

/* SPDX-License-Identifier: MIT */
#include "preload/heap/blocks.h"

#include "preload/heap/thread.h"
#include "tap.h"

#define BLOCKS 40000

_Thread_local struct thread_tls thread_tls;

static struct {
	uintptr_t address;
	struct block block;
	bool is_live;
} model[BLOCKS];

static uint64_t state = 1;

static unsigned random_below(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(state >> 33) % n;
}

/* Blocks as an allocator places them: near each other, a few far away, each 8 bytes or more. */
static void place_blocks(void)
{
	uintptr_t at = UINT64_C(0x555555560010);

	for (int i = 0; i < BLOCKS; i++) {
		model[i].address = at;
		at += 8 + 8 * random_below(random_below(100) ? 16 : 4000);
		if (random_below(5000) == 0)
			at += UINT64_C(0x100000000) * random_below(5);
	}
}

static void check_equal(const struct block *got, const struct block *want)
{
	CHECK_INT((long long)got->size, (long long)want->size);
	CHECK_INT(got->site, want->site);
	CHECK_INT(got->weight, want->weight);
}

static void put_one(int i)
{
	struct block old;

	model[i].block =
		(struct block){ .size = random_below(4) ? random_below(1000) : BLOCK_SIZE_MAX,
				.site = random_below(1 << 24),
				.weight = 1 + random_below(BLOCK_WEIGHT_MAX) };
	CHECK(!blocks_put((void *)model[i].address, &model[i].block, &old));
	model[i].is_live = true;
}

static void take_one(int i)
{
	struct block got;

	CHECK(blocks_take((void *)model[i].address, &got) == model[i].is_live);
	if (model[i].is_live)
		check_equal(&got, &model[i].block);
	model[i].is_live = false;
}

static void test_model(void)
{
	place_blocks();
	for (int round = 0; round < 400000; round++) {
		int i = (int)random_below(BLOCKS);

		if (model[i].is_live || random_below(10) == 0)
			take_one(i);
		else
			put_one(i);
	}
	for (int i = 0; i < BLOCKS; i++)
		take_one(i);
}

static void check_put_twice(uint32_t weight)
{
	struct block first = { .size = 10, .site = 1, .weight = weight };
	struct block second = { .size = 20, .site = 2, .weight = weight }, got = { 0 };

	CHECK(!blocks_put((void *)UINT64_C(0x7000), &first, &got));
	CHECK(blocks_put((void *)UINT64_C(0x7000), &second, &got));
	check_equal(&got, &first);
	CHECK(blocks_take((void *)UINT64_C(0x7000), &got));
	check_equal(&got, &second);
	CHECK(!blocks_take((void *)UINT64_C(0x7000), &got));
}

static void test_put_twice(void)
{
	check_put_twice(1);
	check_put_twice(3);
}

/* A child without atfork handlers: a table in use may be half changed. */
static void test_repair(void)
{
	struct block b = { .size = 1000, .site = 1, .weight = 1 }, got;

	blocks_put((void *)UINT64_C(0x7000), &b, &got);
	blocks_repair();
	CHECK(blocks_take((void *)UINT64_C(0x7000), &got));
	blocks_put((void *)UINT64_C(0x7000), &b, &got);
	blocks_lock_all();
	blocks_repair();
	CHECK(!blocks_take((void *)UINT64_C(0x7000), &got));
	CHECK(!blocks_put((void *)UINT64_C(0x7000), &b, &got));
	CHECK(blocks_take((void *)UINT64_C(0x7000), &got));
}

int main(void)
{
	TAP_CASE(test_model);
	TAP_CASE(test_put_twice);
	TAP_CASE(test_repair);
	return tap_done();
}

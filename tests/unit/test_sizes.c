/* SPDX-License-Identifier: MIT */
#include "native/sizes.h"

#include <pthread.h>
#include <stdint.h>

#include "tap.h"

#define MIB ((uintptr_t)1 << 20)
#define THREADS 4
#define BLOCKS 20000

static const void *at(uintptr_t address)
{
	return (const void *)address;
}

static void test_sizes(void)
{
	static const size_t rows[] = {
		0,     1,     16,    511,        512,        65532,
		65533, 65534, 65535, 65536 + 16, 1ull << 32, (1ull << 47) - 1,
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CHECK_INT(sizes_put(at(64 * MIB), rows[i]), 0);
		CHECK_INT(sizes_take(at(64 * MIB)), rows[i]);
		CHECK_INT(sizes_take(at(64 * MIB)), -1);
		/* a large one leaves nothing behind where others may begin */
		for (uintptr_t next = 16; next <= 64; next += 16)
			CHECK_INT(sizes_take(at(64 * MIB + next)), -1);
	}
}

/* Freed without a take: what comes to its place is told how large it was. */
static void test_again(void)
{
	CHECK_INT(sizes_put(at(64 * MIB), 100000), 0);
	CHECK_INT(sizes_put(at(64 * MIB), 7), 100000);
	CHECK_INT(sizes_take(at(64 * MIB + 16)), -1);
	CHECK_INT(sizes_take(at(64 * MIB)), 7);
}

static void test_edges(void)
{
	static const uintptr_t rows[] = {
		16,
		MIB - 16, /* the last of a leaf: a large size stands behind it */
		MIB,
		((uintptr_t)1 << 34) - 16,
		(uintptr_t)1 << 34,
		((uintptr_t)1 << 47) - 16,
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_INT(sizes_put(at(rows[i]), 70000 + i), 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_INT(sizes_take(at(rows[i])), 70000 + i);
	CHECK_INT(sizes_put(at((uintptr_t)1 << 56), 8), -1);
	CHECK_INT(sizes_take(at((uintptr_t)1 << 56)), -1);
	CHECK_INT(sizes_take(at((uintptr_t)1 << 40)), -1);
}

static void test_clear(void)
{
	for (uintptr_t i = 0; i < 1000; i++)
		CHECK_INT(sizes_put(at(128 * MIB + i * 4096), i), 0);
	sizes_clear();
	for (uintptr_t i = 0; i < 1000; i++)
		CHECK_INT(sizes_take(at(128 * MIB + i * 4096)), -1);
}

/* Blocks of all threads lie side by side, and all meet in new leaves. */
static void *work(void *arg)
{
	uintptr_t first = 1024 * MIB + 16 * *(const uintptr_t *)arg;
	intptr_t wrong = 0;

	for (uintptr_t i = 0; i < BLOCKS; i++)
		wrong += sizes_put(at(first + i * 16 * THREADS * 8), i % 500) != 0;
	for (uintptr_t i = 0; i < BLOCKS; i++)
		wrong += sizes_take(at(first + i * 16 * THREADS * 8)) != (long long)(i % 500);
	return (void *)wrong;
}

static void test_threads(void)
{
	pthread_t threads[THREADS];
	uintptr_t numbers[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++) {
		numbers[i] = i;
		if (!CHECK_INT(pthread_create(&threads[i], NULL, work, &numbers[i]), 0))
			return;
	}
	for (size_t i = 0; i < THREADS; i++) {
		void *wrong = NULL;

		pthread_join(threads[i], &wrong);
		CHECK(wrong == NULL);
	}
}

int main(void)
{
	TAP_CASE(test_sizes);
	TAP_CASE(test_again);
	TAP_CASE(test_edges);
	TAP_CASE(test_clear);
	TAP_CASE(test_threads);
	return tap_done();
}

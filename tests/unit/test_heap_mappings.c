/* SPDX-License-Identifier: MIT */
#include "preload/heap/mappings.h"

#include <pthread.h>
#include <string.h>

#include "preload/heap/account.h"
#include "tap.h"

#define PAGES 200
#define CHANGES 20000
#define THREADS 4

struct account_options account_options;
_Thread_local struct thread_tls thread_tls;

/* What the ranges say of each mapping: its site is its number. */
static struct {
	uint64_t objects, bytes, temporary;
} said[CHANGES * THREADS + 1];
static uint32_t site_count;

uint32_t account_mapped(struct thread *t, uint64_t address, uint64_t bytes, const uint64_t *frame,
			bool is_move)
{
	uint32_t site = ++site_count;

	(void)t;
	(void)frame;
	(void)address;
	(void)is_move;
	said[site].objects = 1;
	said[site].bytes = bytes;
	return site;
}

void account_unmapped(struct thread *t, uint64_t address, uint32_t site, uint64_t objects,
		      uint64_t bytes)
{
	(void)t;
	said[site].objects -= objects;
	said[site].bytes -= bytes;
	said[site].temporary += address != 0;
}

void account_miss(void)
{
	bool has_room = false;

	CHECK(has_room);
}

static uint32_t owners[PAGES]; /* of each page: its mapping; 0: none */
static uint64_t state = 1;

static unsigned random_below(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(state >> 33) % n;
}

static void check_model(void)
{
	static uint64_t pages[CHANGES + 1];

	memset(pages, 0, sizeof pages);
	for (int i = 0; i < PAGES; i++)
		pages[owners[i]]++;
	for (uint32_t i = 1; i <= site_count; i++) {
		bool is_as_in_model =
			said[i].bytes == pages[i] && said[i].objects == (pages[i] != 0);

		if (!CHECK(is_as_in_model))
			return;
	}
}

/* Any mapping may cover others, any hole may cut them. */
static void test_model(void)
{
	for (int i = 0; i < CHANGES; i++) {
		unsigned start = random_below(PAGES), len = 1 + random_below(30);
		bool is_put = random_below(3) != 0;

		len = start + len > PAGES ? PAGES - start : len;
		if (is_put)
			mappings_put(NULL, 1000 + start, 1000 + start + len, NULL, false);
		else
			mappings_cut(NULL, 1000 + start, 1000 + start + len, UINT64_MAX,
				     random_below(2));
		for (unsigned at = start; at < start + len; at++)
			owners[at] = is_put ? site_count : 0;
		if (i % 50 == 0)
			check_model();
	}
	check_model();
	mappings_cut(NULL, 0, UINT64_MAX, UINT64_MAX, false);
	memset(owners, 0, sizeof owners);
	check_model();
	mappings_release();
}

static void test_temporary(void)
{
	uint32_t first = site_count + 1;

	mappings_put(NULL, 10, 20, NULL, false);
	mappings_put(NULL, 30, 40, NULL, false);
	mappings_put(NULL, 50, 60, NULL, false);
	mappings_cut(NULL, 10, 20, UINT64_MAX, false);
	mappings_cut(NULL, 30, 40, UINT64_MAX, true);
	mappings_cut(NULL, 50, 55, UINT64_MAX, false);
	CHECK_INT((long long)said[first].temporary, 1);
	CHECK_INT((long long)said[first + 1].temporary, 0);
	CHECK_INT((long long)said[first + 2].temporary, 0);
	CHECK_INT((long long)said[first + 2].objects, 1);
	mappings_release();
}

/* Another thread gets the addresses of a mapping after it has ended, and before it is cut. */
static void test_newer(void)
{
	uint32_t first = site_count + 1;
	uint64_t made;

	mappings_put(NULL, 10, 40, NULL, false);
	made = mappings_made();
	mappings_put(NULL, 20, 30, NULL, false);
	CHECK_INT((long long)said[first].bytes, 20);
	mappings_cut(NULL, 10, 40, made, false);
	CHECK_INT((long long)said[first].bytes, 0);
	CHECK_INT((long long)said[first].objects, 0);
	CHECK_INT((long long)said[first + 1].bytes, 10);
	mappings_cut(NULL, 10, 40, mappings_made(), false);
	CHECK_INT((long long)said[first + 1].objects, 0);
	mappings_release();
}

/* Each in its own addresses, in the same table. */
static void *map_some(void *number)
{
	uint64_t base = (uint64_t)(1 + (uintptr_t)number) << 30;

	for (uint64_t i = 0; i < CHANGES / 2; i++) {
		mappings_lock();
		mappings_put(NULL, base + 10 * (i % 100), base + 10 * (i % 100) + 10, NULL, false);
		mappings_unlock();
		mappings_lock();
		mappings_cut(NULL, base + 10 * (i % 100) + 4, base + 10 * (i % 100) + 6, UINT64_MAX,
			     false);
		mappings_unlock();
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[THREADS];
	uint64_t objects = 0, bytes = 0;

	memset(said, 0, sizeof said);
	site_count = 0;
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, map_some, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 1; i <= site_count; i++) {
		objects += said[i].objects;
		bytes += said[i].bytes;
	}
	CHECK_INT((long long)objects, THREADS * 100);
	CHECK_INT((long long)bytes, THREADS * 800);
	mappings_release();
}

int main(void)
{
	TAP_CASE(test_model);
	TAP_CASE(test_temporary);
	TAP_CASE(test_newer);
	TAP_CASE(test_threads);
	return tap_done();
}

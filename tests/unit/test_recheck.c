/* SPDX-License-Identifier: MIT */
#include "cachefs/memory/recheck.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define ROOM (1 << 20)

static void test_hash(void)
{
	char *room = calloc(1, ROOM);

	if (!CHECK(room))
		return;
	CHECK(recheck_hash(room, ROOM) == recheck_hash(NULL, ROOM)); /* a hole */
	CHECK(recheck_hash(room, 4097) == recheck_hash(NULL, 4097));
	CHECK(recheck_hash(room, 4096) != recheck_hash(NULL, 4097));
	room[ROOM - 1] = 1;
	CHECK(recheck_hash(room, ROOM) != recheck_hash(NULL, ROOM));
	CHECK(recheck_hash(room, ROOM - 1) == recheck_hash(NULL, ROOM - 1));
	free(room);
}

static void test_early(void)
{
	struct stat st = { .st_ctim = { .tv_sec = 100, .tv_nsec = 5 } };

	CHECK(recheck_is_early(&st, 100 * NS_PER_S)); /* the server's clock is ahead */
	CHECK(recheck_is_early(&st, 102 * NS_PER_S));
	CHECK(!recheck_is_early(&st, 102 * NS_PER_S + 5));
}

static void test_parts(void)
{
	struct recheck *r = NULL;
	struct recheck_part *part;
	size_t i = 0;

	CHECK(!recheck_next(r, INT64_MAX, &i));
	for (uint64_t n = 0; n < 100; n++)
		CHECK_INT(recheck_add(&r, n * 10, 10, n, (int64_t)n), 0);
	CHECK_INT(recheck_add(&r, 990, 10, 99, 1000), 0); /* the same once more */
	for (int n = 0; n <= 50; n++)
		CHECK(recheck_next(r, 50, &i));
	CHECK(!recheck_next(r, 50, &i));
	i = 0;
	part = recheck_next(r, 50, &i);
	part->reader = &i;
	CHECK(recheck_of(r, &i) == part);
	CHECK(!recheck_of(r, part));
	for (int n = 0; n < 100; n++) {
		i = 0;
		part = recheck_next(r, 99, &i);
		if (CHECK(part))
			recheck_remove(&r, part);
	}
	CHECK(!r);
	CHECK_INT(recheck_add(&r, 0, 1, 1, 0), 0);
	recheck_clear(&r);
	CHECK(!r);
}

int main(void)
{
	TAP_CASE(test_hash);
	TAP_CASE(test_early);
	TAP_CASE(test_parts);
	return tap_done();
}

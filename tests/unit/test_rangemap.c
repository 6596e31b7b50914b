/* SPDX-License-Identifier: MIT */
#include "symbol/lookup/rangemap.h"

#include "tap.h"

static const uint64_t wanted[] = { 10, 20, 30, 40, 50 };

static void test_last_wins(void)
{
	static const uint32_t want[] = { 1, 3, 3, 1, RANGEMAP_NONE };
	struct rangemap c = rangemap_make(wanted, ARRAY_LEN(wanted));
	uint32_t got[ARRAY_LEN(wanted)];

	CHECK(!rangemap_add(&c, 0, 10, 0));  /* the end is not inside */
	CHECK(!rangemap_add(&c, 11, 20, 0)); /* nothing wanted inside */
	CHECK(!rangemap_add(&c, 51, UINT64_MAX, 0));
	CHECK(!rangemap_add(&c, 30, 30, 0));
	CHECK(!rangemap_add(&c, 40, 10, 0)); /* upside down */
	CHECK(rangemap_add(&c, 10, 41, 1));
	CHECK(rangemap_add(&c, 20, 21, 2));
	CHECK(rangemap_add(&c, 15, 40, 3));
	if (CHECK_INT(rangemap_resolve(&c, got), 0))
		for (size_t i = 0; i < ARRAY_LEN(want); i++)
			CHECK_INT(got[i], want[i]);
	rangemap_fini(&c);
}

static void test_nothing(void)
{
	struct rangemap c = rangemap_make(NULL, 0);
	uint32_t none;

	CHECK(!rangemap_add(&c, 0, UINT64_MAX, 0));
	CHECK_INT(rangemap_resolve(&c, &none), 0);
	rangemap_fini(&c);
}

/* A million ranges over everything cost no more than a million that hold one address. */
static void test_many_over_all(void)
{
	enum { WANTED = 5000, RANGES = 200000 };
	static uint64_t many[WANTED];
	static uint32_t got[WANTED];
	struct rangemap c = rangemap_make(many, WANTED);

	for (size_t i = 0; i < WANTED; i++)
		many[i] = 1 + i;
	for (uint32_t i = 0; i < RANGES; i++)
		rangemap_add(&c, 0, UINT64_MAX, i);
	if (CHECK_INT(rangemap_resolve(&c, got), 0))
		for (size_t i = 0; i < WANTED; i += 499)
			CHECK_INT(got[i], RANGES - 1);
	rangemap_fini(&c);
}

int main(void)
{
	TAP_CASE(test_last_wins);
	TAP_CASE(test_nothing);
	TAP_CASE(test_many_over_all);
	return tap_done();
}

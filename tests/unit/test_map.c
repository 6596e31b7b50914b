/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include "tap.h"

static void test_empty(void)
{
	struct map m = { 0 };

	CHECK_INT(map_get(&m, 0), MAP_NONE);
	map_clear(&m);
	map_fini(&m);
	map_fini(&m);
}

static void test_every_key_is_allowed(void)
{
	static const uint64_t keys[] = { 0, 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX };
	CLEANUP(map_fini) struct map m = { 0 };

	for (uint32_t i = 0; i < ARRAY_LEN(keys); i++)
		CHECK_INT(map_put(&m, keys[i], i), 0);
	CHECK_INT(m.count, ARRAY_LEN(keys));
	for (uint32_t i = 0; i < ARRAY_LEN(keys); i++)
		CHECK_INT(map_get(&m, keys[i]), i);
	CHECK_INT(map_get(&m, 2), MAP_NONE);
}

static void test_put_again_replaces(void)
{
	CLEANUP(map_fini) struct map m = { 0 };

	CHECK_INT(map_put(&m, 5, 1), 0);
	CHECK_INT(map_put(&m, 5, 2), 0);
	CHECK_INT(map_get(&m, 5), 2);
	CHECK_INT(m.count, 1);
}

static void test_at_starts_without_a_value(void)
{
	CLEANUP(map_fini) struct map m = { 0 };
	uint32_t *value = map_at(&m, 5);

	if (!CHECK(value != NULL))
		return;
	CHECK_INT(*value, MAP_NONE);
	*value = 3;
	CHECK_INT(map_get(&m, 5), 3);
	CHECK(map_at(&m, 5) == value);
}

/* Keys that differ only in their high bits are what pairs of ids look like. */
static void test_many_keys(void)
{
	enum { COUNT = 100000 };
	CLEANUP(map_fini) struct map m = { 0 };

	for (uint32_t i = 0; i < COUNT; i++)
		if (!CHECK_INT(map_put(&m, map_pair(i, i % 3), i), 0))
			return;
	CHECK_INT(m.count, COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		if (!CHECK_INT(map_get(&m, map_pair(i, i % 3)), i) ||
		    !CHECK_INT(map_get(&m, map_pair(i, 3)), MAP_NONE))
			return;
}

static void test_clear_keeps_memory(void)
{
	CLEANUP(map_fini) struct map m = { 0 };
	size_t cap;

	for (uint32_t i = 0; i < 1000; i++)
		CHECK_INT(map_put(&m, i, i), 0);
	cap = m.cap;
	map_clear(&m);
	CHECK_INT(m.count, 0);
	CHECK_INT(m.cap, cap);
	CHECK_INT(map_get(&m, 7), MAP_NONE);
}

int main(void)
{
	TAP_CASE(test_empty);
	TAP_CASE(test_every_key_is_allowed);
	TAP_CASE(test_put_again_replaces);
	TAP_CASE(test_at_starts_without_a_value);
	TAP_CASE(test_many_keys);
	TAP_CASE(test_clear_keeps_memory);
	return tap_done();
}

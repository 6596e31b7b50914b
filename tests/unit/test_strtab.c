/* SPDX-License-Identifier: MIT */
#include "base/strtab.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tap.h"

static void free_table(struct strtab **t)
{
	strtab_free(*t);
}

static void test_equal_bytes_have_equal_ids(void)
{
	CLEANUP(free_table) struct strtab *t = strtab_new();

	if (!CHECK(t != NULL))
		return;
	CHECK_INT(strtab_intern(t, "main", 4), 0);
	CHECK_INT(strtab_intern(t, "run", 3), 1);
	CHECK_INT(strtab_intern(t, "main", 4), 0);
	CHECK_INT(strtab_intern(t, "mainly", 4), 0);
	CHECK_INT(strtab_count(t), 2);
	CHECK_STR(strtab_get(t, 0).ptr, "main");
	CHECK_INT(strtab_get(t, 0).len, 4);
}

static void test_bytes_need_not_be_text(void)
{
	CLEANUP(free_table) struct strtab *t = strtab_new();

	if (!CHECK(t != NULL))
		return;
	CHECK_INT(strtab_intern(t, "", 0), 0);
	CHECK_INT(strtab_intern(t, NULL, 0), 0);
	CHECK_INT(strtab_intern(t, "\0", 1), 1);
	CHECK_INT(strtab_intern(t, "\0\0", 2), 2);
	CHECK_INT(strtab_find(t, "\0\0", 2), 2);
	CHECK_STR(strtab_get(t, 0).ptr, "");
}

static void test_find_does_not_add(void)
{
	CLEANUP(free_table) struct strtab *t = strtab_new();

	if (!CHECK(t != NULL))
		return;
	CHECK_INT(strtab_find(t, "x", 1), STRTAB_NONE);
	CHECK_INT(strtab_count(t), 0);
}

/* Over many growths of the index, and strings from nothing to larger than a chunk. */
static void test_many_strings_stay_where_they_are(void)
{
	enum { COUNT = 20000 };
	CLEANUP(free_table) struct strtab *t = strtab_new();
	const char **first = calloc(COUNT, sizeof *first);
	char *text = calloc(1, 200000);

	if (!CHECK(t && first && text))
		goto out;
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < COUNT; i++) {
			int digits = snprintf(text, 20, "%u", i);
			size_t len = i % 1000 == 7 ? 100 * i / 10 : (size_t)digits;
			uint32_t id;

			if (len < (size_t)digits)
				len = (size_t)digits;
			memset(text + digits, 'x', len - (size_t)digits);
			id = strtab_intern(t, text, len);
			if (!CHECK_INT(id, i) || !CHECK_INT(strtab_get(t, id).len, len) ||
			    !CHECK(memcmp(strtab_get(t, id).ptr, text, len) == 0) ||
			    !CHECK(pass == 0 || strtab_get(t, id).ptr == first[i]))
				goto out;
			first[i] = strtab_get(t, id).ptr;
		}
	}
	CHECK_INT(strtab_count(t), COUNT);
out:
	free(first);
	free(text);
}

#define BLOCKS 15 /* of 16 bytes; 2^15 names of 240 bytes: 8 MB */

/* Two blocks that a multiplicative hash without a secret cannot tell apart: the high bits of a
 * step's word come out alone, and the next word takes them back. */
static void make_colliding(char *name, unsigned number)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		bool is_other = number >> i & 1;

		memcpy(name + 16 * i,
		       is_other ? "aaaaaaa\xe1"
				  "bbb\xe2"
				  "bbb\xe2"
				: "aaaaaaaabbbbbbbb",
		       16);
	}
}

static void make_random(char *name, unsigned number)
{
	uint64_t state = number + 1;

	for (unsigned i = 0; i < 16 * BLOCKS; i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		name[i] = (char)('a' + (state >> 33) % 26);
	}
}

static int64_t time_names(void (*make)(char *name, unsigned number))
{
	struct strtab *t = strtab_new();
	char name[16 * BLOCKS];
	int64_t spent = 0;

	for (unsigned i = 0; t && i < 1u << BLOCKS; i++) {
		int64_t start;

		make(name, i);
		start = clock_mono_ns();
		if (!CHECK_INT(strtab_intern(t, name, sizeof name), i))
			break;
		spent += clock_mono_ns() - start;
	}
	strtab_free(t);
	return spent;
}

static void test_forged_names_cost_as_much_as_others(void)
{
	int64_t forged = INT64_MAX, others = INT64_MAX;

	for (int round = 0; round < 5;
	     round++) { /* the least of what a shared machine makes of it */
		int64_t a = time_names(make_colliding), b = time_names(make_random);

		forged = a < forged ? a : forged;
		others = b < others ? b : others;
		if (forged < 2 * others)
			break;
	}
	CHECK(forged < 2 * others);
}

static void test_free_of_nothing(void)
{
	strtab_free(NULL);
}

int main(void)
{
	TAP_CASE(test_equal_bytes_have_equal_ids);
	TAP_CASE(test_bytes_need_not_be_text);
	TAP_CASE(test_find_does_not_add);
	TAP_CASE(test_many_strings_stay_where_they_are);
	TAP_CASE(test_forged_names_cost_as_much_as_others);
	TAP_CASE(test_free_of_nothing);
	return tap_done();
}

/* SPDX-License-Identifier: MIT */
#include "base/strtab.h"

#include <stdio.h>
#include <stdlib.h>

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
	TAP_CASE(test_free_of_nothing);
	return tap_done();
}

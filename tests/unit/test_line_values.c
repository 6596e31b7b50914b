/* SPDX-License-Identifier: MIT */
#include "model/line_values.h"

#include "tap.h"

enum { MAIN = 1, WORK, INLINED }; /* function ids */

static uint32_t location(struct profile *p, uint64_t address, const struct line *lines,
			 uint32_t count)
{
	return profile_add_location(
		p, &(struct location){
			   .mapping = 1, .address = address, .lines = lines, .line_count = count });
}

/* main:10 calls work; work:20 itself, work:21 with inlined:30 in it, work:22 calls work. */
static struct profile *example(void)
{
	struct profile *p = profile_new();
	const char *const names[] = { "main", "work", "inlined" };
	uint32_t file = profile_str(p, "/x.c"), main_node, outer;

	profile_add_type(p, "samples", "count");
	profile_add_mapping(p, &(struct mapping){ .path = profile_str(p, "/x"), .limit = 4096 });
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		profile_add_function(
			p, &(struct function){ .name = profile_str(p, names[i]), .file = file });
	main_node = profile_push(p, 0, location(p, 100, (struct line[]){ { MAIN, 10 } }, 1));
	profile_add(
		p, profile_push(p, main_node, location(p, 200, (struct line[]){ { WORK, 20 } }, 1)),
		0, (int64_t[]){ 5 });
	profile_add(
		p,
		profile_push(p, main_node,
			     location(p, 210, (struct line[]){ { INLINED, 30 }, { WORK, 21 } }, 2)),
		0, (int64_t[]){ 7 });
	outer = profile_push(p, main_node, location(p, 220, (struct line[]){ { WORK, 22 } }, 1));
	outer = profile_push(p, outer, location(p, 220, (struct line[]){ { WORK, 22 } }, 1));
	profile_add(p, outer, 0, (int64_t[]){ 11 });
	return p;
}

static void test_lines(void)
{
	static const struct {
		uint32_t function;
		int64_t line, self, total;
	} rows[] = {
		{ MAIN, 10, 0, 23 },  { WORK, 20, 5, 5 },    { WORK, 21, 0, 7 },
		{ WORK, 22, 11, 11 }, { INLINED, 30, 7, 7 },
	};
	struct profile *p = example();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool is_chosen[4] = { false };
		const struct line_value *cost;
		struct line_values c;
		struct err e;

		is_chosen[rows[i].function] = true;
		if (!CHECK_INT(line_values_collect(&c, p, 0, is_chosen, &e), 0))
			continue;
		cost = line_values_find(&c, profile_find_str(p, "/x.c"), rows[i].line);
		if (CHECK(cost != NULL)) {
			CHECK_INT(cost->self, rows[i].self);
			CHECK_INT(cost->total, rows[i].total);
		}
		line_values_fini(&c);
	}
	profile_free(p);
}

static void test_addresses(void)
{
	bool is_chosen[4] = { [WORK] = true };
	struct profile *p = example();
	struct line_values c;
	struct err e;

	if (CHECK_INT(line_values_collect(&c, p, 0, is_chosen, &e), 0)) {
		CHECK_INT(c.address_count, 3);
		CHECK_INT(line_values_find_address(&c, 1, 210)->self, 7);
		CHECK_INT(line_values_find_address(&c, 1, 220)->total, 11);
		CHECK(!line_values_find_address(&c, 1, 100));
		CHECK_INT(c.self, 16);
		CHECK_INT(c.total, 23);
		line_values_fini(&c);
	}
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_lines);
	TAP_CASE(test_addresses);
	return tap_done();
}

/* SPDX-License-Identifier: MIT */
/* Frames of scripts without the native ones between them. */
#include "model/script_frames.h"
#include "tap.h"

static uint32_t push_script(struct profile *p, uint32_t parent, const char *name, int64_t number)
{
	struct mapping m = { .path = profile_str(p, "a.py") };
	struct function f = { .name = profile_str(p, name), .file = m.path };
	struct line line = { profile_add_function(p, &f), number };
	struct location l = { .mapping = profile_add_mapping(p, &m),
			      .lines = &line,
			      .line_count = 1 };

	return profile_push(p, parent, profile_add_location(p, &l));
}

static uint32_t push_native(struct profile *p, uint32_t parent, uint64_t address)
{
	struct mapping m = { .path = profile_str(p, "/bin/python3"), .limit = 1000 };
	struct location l = { .mapping = profile_add_mapping(p, &m), .address = address };

	return profile_push(p, parent, profile_add_location(p, &l));
}

static size_t depth(const struct profile *p, uint32_t node)
{
	size_t n = 0;

	for (; node; node = profile_get_node(p, node).parent)
		n++;
	return n;
}

static void test_keep(void)
{
	struct profile *p = profile_new();
	uint32_t start = push_native(p, 0, 1), f, g;
	struct err e;

	profile_add_type(p, "cpu", "nanoseconds");
	f = push_script(p, start, "f", 1);
	g = push_script(p, push_native(p, f, 2), "g", 2);
	profile_add(p, push_native(p, g, 3), 0, &(int64_t){ 10 });
	profile_add(p, g, 0, &(int64_t){ 5 });
	profile_add(p, f, 0, &(int64_t){ 2 });
	profile_add(p, start, 0, &(int64_t){ 1 });
	CHECK_INT(profile_keep_scripts(&p, &e), 0);
	if (CHECK_INT(profile_sample_count(p), 3)) {
		CHECK_INT(profile_get_sample(p, 0).values[0], 15);
		CHECK_INT(depth(p, profile_get_sample(p, 0).node), 2);
		CHECK_INT(profile_get_sample(p, 1).values[0], 2);
		CHECK_INT(depth(p, profile_get_sample(p, 1).node), 1);
		CHECK_INT(profile_get_sample(p, 2).values[0], 1);
	}
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_keep);
	return tap_done();
}

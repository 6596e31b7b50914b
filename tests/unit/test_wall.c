/* SPDX-License-Identifier: MIT */
#include "model/wall.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

static uint32_t name_stack(struct profile *p, const char *name)
{
	return profile_push(p, 0, profile_name_location(p, name, strlen(name)));
}

static const char *leaf_name(const struct profile *p, uint32_t node)
{
	struct location l = profile_get_location(p, profile_get_node(p, node).location);

	return profile_text(p, profile_get_function(p, l.lines[0].function)->name);
}

static struct profile *recording(void)
{
	struct profile *p = profile_new();
	struct label sleeping = { .key = profile_str(p, "state"),
				  .str = profile_str(p, "sleeping") };

	profile_add_type(p, "samples", "count");
	profile_add_type(p, "cpu", "nanoseconds");
	profile_add_type(p, "offcpu", "nanoseconds");
	profile_add(p, name_stack(p, "work"), 0, (int64_t[]){ 2, 20, 0 });
	profile_add(p, name_stack(p, "work"), profile_add_labels(p, &sleeping, 1),
		    (int64_t[]){ 0, 0, 70 });
	profile_add(p, name_stack(p, "both"), 0, (int64_t[]){ 1, 10, 5 });
	return p;
}

static void test_sum(void)
{
	static const struct {
		const char *leaf;
		int64_t samples, off, wall;
	} rows[] = { { "work", 2, 0, 20 },
		     { "work", 0, 0, 0 },
		     { "[sleeping]", 0, 70, 70 },
		     { "both", 1, 0, 10 },
		     { "[off the CPU]", 0, 5, 5 } };
	struct profile *p = recording(), *wall = NULL;
	struct wall_types types;
	struct err e;

	if (!CHECK_INT(profile_wall(p, &wall, &types, &e), 0))
		goto out;
	CHECK_INT(types.wall, 3);
	CHECK_INT(types.off, 2);
	CHECK_INT(profile_default_type(wall), 3);
	CHECK_INT(profile_sample_count(wall), ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows) && i < profile_sample_count(wall); i++) {
		struct sample s = profile_get_sample(wall, i);

		CHECK_STR(leaf_name(wall, s.node), rows[i].leaf);
		CHECK_INT(s.values[0], rows[i].samples);
		CHECK_INT(s.values[types.off], rows[i].off);
		CHECK_INT(s.values[types.wall], rows[i].wall);
	}
	profile_free(wall);
out:
	profile_free(p);
}

static void test_lacking(void)
{
	static const char *const types[][2] = { { "cpu", "nanoseconds" },
						{ "offcpu", "nanoseconds" } };

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct profile *p = profile_new(), *wall;
		struct wall_types ignored;
		struct err e;

		profile_add_type(p, types[i][0], types[i][1]);
		CHECK_INT(profile_wall(p, &wall, &ignored, &e), -EINVAL);
		profile_free(p);
	}
}

int main(void)
{
	TAP_CASE(test_sum);
	TAP_CASE(test_lacking);
	return tap_done();
}

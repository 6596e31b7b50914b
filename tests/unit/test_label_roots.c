/* SPDX-License-Identifier: MIT */
#include "model/label_roots.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

static uint32_t name_stack(struct profile *p, const char *outer, const char *inner)
{
	uint32_t node = profile_push(p, 0, profile_name_location(p, outer, strlen(outer)));

	return profile_push(p, node, profile_name_location(p, inner, strlen(inner)));
}

static const char *frame_name(const struct profile *p, uint32_t node)
{
	struct location l = profile_get_location(p, profile_get_node(p, node).location);

	return profile_text(p, profile_get_function(p, l.lines[0].function)->name);
}

/* "outermost;...;leaf value" of a sample. */
static void check_sample(const struct profile *p, size_t i, const char *want)
{
	struct sample s = profile_get_sample(p, i);
	char text[256] = "", longer[256];

	for (uint32_t node = s.node; node; node = profile_get_node(p, node).parent) {
		snprintf(longer, sizeof longer, "%s%s%s", frame_name(p, node), *text ? ";" : "",
			 text);
		memcpy(text, longer, sizeof text);
	}
	snprintf(longer, sizeof longer, "%s %lld", text, (long long)s.values[0]);
	CHECK_STR(longer, want);
}

static struct profile *recording(void)
{
	struct profile *p = profile_new();
	struct label worker[] = { { .key = profile_str(p, "comm"),
				    .str = profile_str(p, "worker") },
				  { .key = profile_str(p, "tid"), .num = 7 } };

	profile_add_type(p, "samples", "count");
	profile_add(p, name_stack(p, "main", "f"), profile_add_labels(p, worker, 2),
		    (int64_t[]){ 1 });
	profile_add(p, name_stack(p, "main", "g"), profile_add_labels(p, worker, 2),
		    (int64_t[]){ 2 });
	profile_add(p, name_stack(p, "main", "f"), 0, (int64_t[]){ 3 });
	profile_add(p, 0, profile_add_labels(p, worker, 1), (int64_t[]){ 4 });
	return p;
}

static void test_roots(void)
{
	static const struct {
		const char *key;
		const char *stacks[4];
	} rows[] = {
		{ "thread",
		  { "worker 7;main;f 1", "worker 7;main;g 2", "[no thread];main;f 3",
		    "worker 4" } },
		{ "comm",
		  { "worker;main;f 1", "worker;main;g 2", "[no comm];main;f 3", "worker 4" } },
		{ "tid", { "7;main;f 1", "7;main;g 2", "[no tid];main;f 3", "[no tid] 4" } },
	};
	struct profile *p = recording();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct profile *by;
		struct err e;

		if (!CHECK_INT(profile_label_roots(p, rows[i].key, &by, &e), 0))
			continue;
		if (CHECK_INT(profile_sample_count(by), 4))
			for (size_t k = 0; k < 4; k++)
				check_sample(by, k, rows[i].stacks[k]);
		profile_free(by);
	}
	profile_free(p);
}

static void test_absent(void)
{
	struct profile *p = recording(), *by;
	struct err e;

	CHECK_INT(profile_label_roots(p, "rank", &by, &e), -ENOENT);
	CHECK_STR(e.msg, "no sample has the label 'rank'; there are 'comm' and 'tid'");
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_roots);
	TAP_CASE(test_absent);
	return tap_done();
}

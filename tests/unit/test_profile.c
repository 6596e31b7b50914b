/* SPDX-License-Identifier: MIT */
#include "model/profile.h"

#include <errno.h>
#include <limits.h>

#include "model/filter.h"
#include "model/merge.h"
#include "tap.h"

static uint32_t stack(struct profile *p, const char *const *names, size_t count)
{
	uint32_t node = 0;

	for (size_t i = 0; i < count; i++)
		node = profile_push(p, node, profile_name_location(p, names[i], strlen(names[i])));
	return node;
}

static struct profile *two_types(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "samples", "count");
	profile_add_type(p, "cpu", "nanoseconds");
	return p;
}

static void test_same_stack_sums(void)
{
	struct profile *p = two_types();
	const char *const names[] = { "main", "work" };
	uint32_t node = stack(p, names, 2);

	CHECK_INT(stack(p, names, 2), node);
	profile_add(p, node, 0, (int64_t[]){ 1, 10 });
	profile_add(p, node, 0, (int64_t[]){ 2, 20 });
	CHECK_INT(profile_sample_count(p), 1);
	CHECK_INT(profile_get_sample(p, 0).values[0], 3);
	CHECK_INT(profile_get_sample(p, 0).values[1], 30);
	CHECK_INT(profile_node_count(p), 3);
	CHECK_INT(profile_error(p), 0);
	profile_free(p);
}

static void test_sum_leaves_its_range(void)
{
	struct profile *p = two_types();
	struct err e;

	profile_add(p, 0, 0, (int64_t[]){ 1, INT64_MAX });
	CHECK_INT(profile_error(p), 0);
	profile_add(p, 0, 0, (int64_t[]){ 1, 1 });
	CHECK_INT(profile_check(p, &e), 0);
	CHECK_INT(profile_get_sample(p, 0).values[1], INT64_MAX);
	profile_add(p, 0, 0, (int64_t[]){ 1, -INT64_MAX });
	CHECK_INT(profile_get_sample(p, 0).values[1], 0);
	profile_free(p);
}

static void test_labels_are_sets(void)
{
	struct profile *p = two_types();
	struct label pid = { .key = profile_str(p, "pid"), .num = 7 };
	struct label comm = { .key = profile_str(p, "comm"), .str = profile_str(p, "cc1") };
	uint32_t a = profile_add_labels(p, (struct label[]){ pid, comm }, 2);
	uint32_t b = profile_add_labels(p, (struct label[]){ comm, pid, comm }, 3);
	const struct label *labels;
	size_t count;

	CHECK(a != 0);
	CHECK_INT(a, b);
	CHECK_INT(profile_add_labels(p, NULL, 0), 0);
	labels = profile_get_labels(p, a, &count);
	CHECK_INT(count, 2);
	CHECK_STR(profile_text(p, labels[0].key), "comm");
	CHECK_INT(labels[1].num, 7);
	profile_free(p);
}

static void test_locations_keep_their_key_when_named(void)
{
	struct profile *p = two_types();
	uint32_t m = profile_add_mapping(
		p, &(struct mapping){ .limit = 4096, .path = profile_str(p, "/bin/x") });
	struct location l = { .mapping = m, .address = 0x123 };
	uint32_t id = profile_add_location(p, &l);
	uint32_t f = profile_add_function(p, &(struct function){ .name = profile_str(p, "f") });

	profile_set_lines(p, id, &(struct line){ f, 12 }, 1);
	CHECK_INT(profile_add_location(p, &l), id);
	CHECK_INT(profile_get_location(p, id).line_count, 1);
	CHECK_INT(profile_get_location(p, id).lines[0].line, 12);
	profile_free(p);
}

static void test_types(void)
{
	struct profile *p = two_types();

	CHECK_INT(profile_add_type(p, "cpu", "nanoseconds"), 1);
	CHECK_INT(profile_find_type(p, "samples"), 0);
	CHECK_INT(profile_find_type(p, "bytes"), -1);
	CHECK_INT(profile_default_type(p), 1);
	profile_info(p)->default_type = profile_str(p, "samples");
	CHECK_INT(profile_default_type(p), 0);
	profile_add(p, 0, 0, (int64_t[]){ 1, 1 });
	profile_free(p);
}

static void test_types_that_come_late(void)
{
	struct profile *p = two_types();
	char name[] = "type ?";

	profile_add(p, 0, 0, (int64_t[]){ 1, 10 });
	profile_add(p, stack(p, (const char *const[]){ "a" }, 1), 0, (int64_t[]){ 2, 20 });
	CHECK_INT(profile_add_type(p, "late", "count"), 2);
	profile_add(p, 0, 0, (int64_t[]){ 0, 1, 7 });
	CHECK_INT(profile_get_sample(p, 0).values[1], 11);
	CHECK_INT(profile_get_sample(p, 0).values[2], 7);
	CHECK_INT(profile_get_sample(p, 1).values[0], 2);
	CHECK_INT(profile_get_sample(p, 1).values[1], 20);
	CHECK_INT(profile_get_sample(p, 1).values[2], 0);
	CHECK_INT(profile_error(p), 0);
	for (int i = 0; i < PROFILE_MAX_TYPES - 3; i++) {
		name[5] = (char)('0' + i);
		CHECK_INT(profile_add_type(p, name, "count"), 3 + i);
	}
	CHECK_INT(profile_get_sample(p, 1).values[1], 20);
	CHECK_INT(profile_error(p), 0);
	profile_add_type(p, "one too many", "count");
	CHECK_INT(profile_error(p), -EOVERFLOW);
	profile_free(p);
}

static void test_merge_adds_and_labels(void)
{
	struct profile *a = two_types(), *dst = profile_new();
	const char *const names[] = { "main", "work", "leaf" };
	const struct text_label rank0 = { "rank", "0" }, rank1 = { "rank", "1" };
	struct err e;

	profile_add(a, stack(a, names, 3), 0, (int64_t[]){ 1, 5 });
	profile_add(a, stack(a, names, 2), 0, (int64_t[]){ 2, 6 });
	CHECK_INT(profile_merge(dst, a, &rank0, 1, &e), 0);
	CHECK_INT(profile_merge(dst, a, &rank0, 1, &e), 0);
	CHECK_INT(profile_merge(dst, a, &rank1, 1, &e), 0);
	CHECK_INT(profile_sample_count(dst), 4);
	CHECK_INT(profile_get_sample(dst, 0).values[1], 10);
	CHECK_INT(profile_get_sample(dst, 3).values[1], 6);
	CHECK_INT(profile_node_count(dst), 4);
	profile_free(a);
	profile_free(dst);
}

static void test_merge_refuses_other_types(void)
{
	struct profile *a = two_types(), *b = profile_new();
	struct err e;

	profile_add_type(b, "alloc_space", "bytes");
	CHECK_INT(profile_merge(a, b, NULL, 0, &e), -EINVAL);
	CHECK_STR(e.msg, "sample type alloc_space/bytes is not in the others");
	profile_free(a);
	profile_free(b);
}

static void test_filter(void)
{
	static const struct {
		struct profile_filter filter;
		struct label_filter label;
		int64_t want; /* sum of samples; -1: -EINVAL */
	} rows[] = {
		{ { 0 }, { 0 }, 7 },
		{ { .focus = "work" }, { 0 }, 3 },
		{ { .focus = "^leaf$" }, { 0 }, 1 },
		{ { .ignore = "work" }, { 0 }, 4 },
		{ { .focus = "main", .ignore = "leaf" }, { 0 }, 6 },
		{ { .focus = "(" }, { 0 }, -1 },
		{ { .label_count = 1 }, { "pid", "7" }, 4 },
		{ { .label_count = 1 }, { "pid", "7|8" }, 4 },
		{ { .label_count = 1 }, { "pid", "." }, 4 },
		{ { .label_count = 1 }, { "pid", "" }, 0 },
		{ { .label_count = 1 }, { "tid", ".*" }, 0 },
	};
	struct profile *p = two_types();
	const char *const deep[] = { "main", "work", "leaf" }, *const other[] = { "main", "io" };
	struct label pid = { .key = profile_str(p, "pid"), .num = 7 };

	profile_add(p, stack(p, deep, 3), 0, (int64_t[]){ 1, 0 });
	profile_add(p, stack(p, deep, 2), 0, (int64_t[]){ 2, 0 });
	profile_add(p, stack(p, other, 2), profile_add_labels(p, &pid, 1), (int64_t[]){ 4, 0 });
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct profile_filter filter = rows[i].filter;
		struct profile *kept = NULL;
		int64_t sum = 0;
		struct err e;
		int rc;

		filter.labels = &rows[i].label;
		rc = profile_filter(p, &filter, &kept, &e);
		CHECK_INT(rc, rows[i].want < 0 ? -EINVAL : 0);
		if (rc < 0)
			continue;
		for (size_t k = 0; k < profile_sample_count(kept); k++)
			sum += profile_get_sample(kept, k).values[0];
		if (!CHECK_INT(sum, rows[i].want))
			fprintf(stderr, "row %zu\n", i);
		profile_free(kept);
	}
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_same_stack_sums);
	TAP_CASE(test_sum_leaves_its_range);
	TAP_CASE(test_labels_are_sets);
	TAP_CASE(test_locations_keep_their_key_when_named);
	TAP_CASE(test_types);
	TAP_CASE(test_types_that_come_late);
	TAP_CASE(test_merge_adds_and_labels);
	TAP_CASE(test_merge_refuses_other_types);
	TAP_CASE(test_filter);
	return tap_done();
}

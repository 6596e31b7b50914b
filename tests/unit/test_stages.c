/* SPDX-License-Identifier: MIT */
/* From lines of results to sums: what is read, how it adds up, what is refused. */
#include "model/stages.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "format/stage_record.h"
#include "tap.h"

/* Reduces lines; those that are damaged are counted. */
static struct stages *reduce(const char *key, const char *const *lines, size_t count, int *damaged)
{
	struct stage_reader *r = stage_reader_new(key);
	struct stages *s = stages_new();

	*damaged = 0;
	for (size_t i = 0; i < count; i++) {
		struct stage_record record;
		struct err e;
		int rc = stage_reader_read(r, lines[i], strlen(lines[i]), &record, &e);

		*damaged += rc < 0;
		if (rc > 0)
			CHECK_INT(stages_add(s, &record), 0);
	}
	CHECK_INT(stages_end(s), 0);
	stage_reader_free(r);
	return s;
}

static const struct stage_sum *find(const struct stages *s, const char *group, const char *stage)
{
	ptrdiff_t i = stages_find(s, (struct str){ group, strlen(group) },
				  (struct str){ stage, strlen(stage) });

	return CHECK(i >= 0) ? stages_get(s, (size_t)i) : NULL;
}

static void test_sums(void)
{
	static const char *const lines[] = {
		"{\"input\": \"a\", \"profile\": {\"total_wall_s\": 3, \"stages\": ["
		"{\"stage\": \"x\", \"calls\": 2, \"wall_s\": 1.5, \"wall_max_s\": 1, \"rss_kb_delta\": -4},"
		"{\"stage\": \"y\", \"calls\": 1, \"wall_s\": 0.5, \"read_kb\": null}]}}",
		("{\"total_wall_s\": 1.25, \"stages\": ["
		 "{\"stage\": \"x\", \"calls\": 1, \"wall_s\": 1, \"wall_max_s\": 2, \"rss_kb_delta\": 3}]}"),
		"{\"input\": \"no profile\"}",
	};
	int damaged;
	struct stages *s = reduce(NULL, lines, ARRAY_LEN(lines), &damaged);
	const struct stage_sum *x = find(s, "", "x"), *y = find(s, "", "y");

	CHECK_INT(damaged, 0);
	CHECK_INT(stages_totals(s)->records, 2);
	CHECK_INT(stages_totals(s)->wall_ns, 4250000000);
	if (x && y) {
		CHECK_INT(x->records, 2);
		CHECK_INT(x->values[STAGE_CALLS], 3);
		CHECK_INT(x->values[STAGE_WALL], 2500000000);
		CHECK_INT(x->values[STAGE_WALL_MAX], 2000000000);
		CHECK_INT(x->values[STAGE_RSS_DELTA], -1);
		CHECK_STR(x->slowest, "a");
		CHECK_INT(sketch_quantile(&x->walls, 0.5), 1000000000);
		CHECK_INT(y->has >> STAGE_READ_KB & 1, 0);
	}
	stages_free(s);
}

/* One stage twice in a record, as two sets of threads may write it, is one wall time of it. */
static void test_twice(void)
{
	static const char *const lines[] = {
		"{\"stages\": [{\"stage\": \"x\", \"wall_s\": 1}, {\"stage\": \"x\", \"wall_s\": 2}]}",
	};
	int damaged;
	struct stages *s = reduce(NULL, lines, 1, &damaged);
	const struct stage_sum *x = find(s, "", "x");

	if (x) {
		CHECK_INT(x->records, 1);
		CHECK_INT(x->walls.count, 1);
		CHECK_INT(sketch_quantile(&x->walls, 1), 3000000000);
	}
	stages_free(s);
}

static void test_groups(void)
{
	static const char *const lines[] = {
		"{\"host\": \"outer\", \"profile\": {\"env\": {\"host\": \"n1\", \"slurm\": "
		"{\"procid\": \"3\", \"array_job_id\": \"12\", \"array_task_id\": 7}}, "
		"\"stages\": [{\"stage\": \"x\", \"wall_s\": 1}]}, \"app\": {\"id\": 1}, \"tag\": \"q\\\"\"}",
		"{\"stages\": [{\"stage\": \"x\", \"wall_s\": 1}], \"host\": \"n2\", \"rank\": 4, "
		"\"slurm_job_id\": \"9\", \"tag\": null}",
	};
	static const struct {
		const char *key, *first, *second;
	} rows[] = {
		{ "host", "n1", "n2" }, { "rank", "3", "4" },  { "job", "12_7", "9" },
		{ "tag", "q\"", "" },   { "missing", "", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int damaged;
		struct stages *s = reduce(rows[i].key, lines, 2, &damaged);

		CHECK_INT(damaged, 0);
		find(s, rows[i].first, "x");
		find(s, rows[i].second, "x");
		CHECK_INT(stages_count(s), strcmp(rows[i].first, rows[i].second) ? 2 : 1);
		stages_free(s);
	}
}

/* Nothing of a damaged line is counted. */
static void test_damaged(void)
{
	static const char *const lines[] = {
		"{\"profile\": {\"stages\": [{\"stage\": \"x\", \"wall_s\": 1}",
		"{\"profile\": {\"stages\": [{\"wall_s\": 1}]}}",
		"{\"profile\": {\"stages\": [{\"stage\": 7}]}}",
		"{\"profile\": {\"stages\": [{\"stage\": \"x\", \"wall_s\": \"1\"}]}}",
		"{\"profile\": {\"stages\": [{\"stage\": \"x\", \"wall_s\": 1e99}]}}",
		"{\"profile\": {\"stages\": [{\"stage\": \"x\", \"wall_s\": 1}]}} tail",
		"[1]",
	};
	int damaged;
	struct stages *s = reduce(NULL, lines, ARRAY_LEN(lines), &damaged);

	CHECK_INT(damaged, ARRAY_LEN(lines));
	CHECK_INT(stages_count(s), 0);
	stages_free(s);
}

/* What others call "stages" or "profile" is none of ours. */
static void test_others(void)
{
	static const char *const lines[] = {
		"{\"stages\": [1, 2]}",
		"{\"stages\": \"many\", \"profile\": \"me\"}",
		"{\"profile\": null}",
		"{\"profile\": {\"name\": \"me\"}}",
	};
	int damaged;
	struct stages *s = reduce(NULL, lines, ARRAY_LEN(lines), &damaged);

	CHECK_INT(damaged, 0);
	CHECK_INT(stages_totals(s)->records, 0);
	stages_free(s);
}

static void test_untraced(void)
{
	static const char *const lines[] = {
		"{\"stages\": [{\"stage\": \"x\", \"py_kb_delta\": 0, \"py_kb_peak_max\": 0}], "
		"\"python_memory_traced\": false}",
	};
	int damaged;
	struct stages *s = reduce(NULL, lines, 1, &damaged);

	CHECK(!stages_has(s, STAGE_PY_DELTA) && !stages_has(s, STAGE_PY_PEAK));
	stages_free(s);
}

static void test_saturates(void)
{
	static const char *const lines[] = {
		"{\"stages\": [{\"stage\": \"x\", \"calls\": 9223372036854775807}]}",
		"{\"stages\": [{\"stage\": \"x\", \"calls\": 5, \"rss_kb_delta\": -9223372036854775807}]}",
	};
	int damaged;
	struct stages *s = reduce(NULL, lines, 2, &damaged);
	const struct stage_sum *x = find(s, "", "x");

	if (x) {
		CHECK_INT(x->values[STAGE_CALLS], INT64_MAX);
		CHECK_INT(stage_value(STAGE_RSS_DELTA, x->values[STAGE_RSS_DELTA]), INT64_MIN);
	}
	stages_free(s);
}

static int64_t value_of(const struct profile *p, const char *type, const char *leaf)
{
	int64_t sum = 0;

	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample sample = profile_get_sample(p, i);
		struct stack_node node = profile_get_node(p, sample.node);
		struct location at = profile_get_location(p, node.location);
		const struct function *f = profile_get_function(p, at.lines[0].function);

		if (strcmp(profile_text(p, f->name), leaf) == 0)
			sum += sample.values[profile_find_type(p, type)];
	}
	return sum;
}

static void test_profile(void)
{
	static const char *const lines[] = {
		"{\"stages\": [{\"stage\": \"a\", \"calls\": 1, \"wall_s\": 3, \"heap_kb_delta\": 5},"
		"{\"stage\": \"a.b\", \"calls\": 2, \"wall_s\": 2, \"heap_kb_delta\": 7},"
		"{\"stage\": \"a.b.c.d\", \"calls\": 4, \"wall_s\": 0.5},"
		"{\"stage\": \"lone.e\", \"calls\": 1, \"wall_s\": 1}]}",
	};
	int damaged;
	struct stages *s = reduce(NULL, lines, 1, &damaged);
	struct profile *p = profile_new();

	stages_to_profile(s, NULL, p);
	CHECK_INT(profile_error(p), 0);
	CHECK_INT(value_of(p, "wall", "a"), 1000000000);
	CHECK_INT(value_of(p, "wall", "b"), 1500000000);
	CHECK_INT(value_of(p, "wall", "c.d"), 500000000);
	CHECK_INT(value_of(p, "wall", "lone.e"), 1000000000);
	CHECK_INT(value_of(p, "heap_delta", "a"), -2 * 1024);
	CHECK_INT(value_of(p, "calls", "b"), 2);
	profile_free(p);
	stages_free(s);
}

int main(void)
{
	TAP_CASE(test_sums);
	TAP_CASE(test_twice);
	TAP_CASE(test_groups);
	TAP_CASE(test_damaged);
	TAP_CASE(test_others);
	TAP_CASE(test_untraced);
	TAP_CASE(test_saturates);
	TAP_CASE(test_profile);
	return tap_done();
}

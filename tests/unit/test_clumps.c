/* SPDX-License-Identifier: MIT */
#include "view/clumps.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tap.h"

enum { EVEN, CLUMPED, PHASE, RARE, FUNCTIONS };
static const char *const names[FUNCTIONS] = { "even", "clumped", "phase", "rare" };

struct recording {
	struct profile *p;
	uint32_t nodes[FUNCTIONS], labels;
};

static struct recording make(void)
{
	struct recording r = { .p = profile_new() };
	uint32_t caller = profile_push(r.p, 0, profile_name_location(r.p, "main", 4));
	const struct label tid = { .key = profile_str(r.p, "tid"), .num = 7 };

	profile_add_type(r.p, "samples", "count");
	for (int i = 0; i < FUNCTIONS; i++)
		r.nodes[i] = profile_push(r.p, caller,
					  profile_name_location(r.p, names[i], strlen(names[i])));
	r.labels = profile_add_labels(r.p, &tid, 1);
	return r;
}

static void add(struct recording *r, int function, int second, int64_t value)
{
	struct timed_value v = { .node = r->nodes[function], .labels = r->labels, .value = value };

	if (!value)
		return;
	profile_add(r->p, v.node, v.labels, &value);
	CHECK_INT(sample_times_add(profile_times(r->p), (uint64_t)second * NS_PER_S, &v), 0);
}

static double of_function(const struct flat *f, const double *clumps, const char *name)
{
	for (uint32_t i = 1; i < f->row_count; i++)
		if (strcmp(flat_name(f, i), name) == 0)
			return clumps[i];
	return -1;
}

/* Forty seconds, some twenty samples each. */
static void record(struct recording *r)
{
	static const int counts[] = { 8, 12, 9, 11, 14, 6, 10, 10 };

	for (int i = 0; i < 40; i++) {
		add(r, EVEN, i, counts[i % 8]);
		add(r, CLUMPED, i, i % 4 == 1 ? 40 : 0);
		add(r, PHASE, i, i < 20 ? 0 : 10);
		add(r, RARE, i, i == 11);
	}
}

static void test_functions(void)
{
	struct recording r = make();
	double *clumps = NULL;
	struct flat f;
	struct err e;

	record(&r);
	if (CHECK_INT(flat_init(&f, r.p, FRAME_BY_FUNCTION, 0, -1, &e), 0)) {
		CHECK_INT(clumps_measure(&f, 0, 1, false, &clumps, &e), 0);
		CHECK(clumps != NULL);
	}
	if (clumps) {
		CHECK(of_function(&f, clumps, "even") <= 1.5);
		CHECK(of_function(&f, clumps, "clumped") > 30);
		CHECK(of_function(&f, clumps, "phase") < 1.5);
		CHECK(of_function(&f, clumps, "rare") < 1.5);
		CHECK(of_function(&f, clumps, "main") == 1); /* no samples of its own */
		free(clumps);
		CHECK_INT(clumps_measure(&f, 0, 1, true, &clumps, &e), 0);
		CHECK(clumps && of_function(&f, clumps, "main") > 5);
		free(clumps);
	}
	flat_fini(&f);
	profile_free(r.p);
}

static void test_without_times(void)
{
	struct recording r = make();
	double *clumps = NULL;
	struct flat f;
	struct err e;

	profile_add(r.p, r.nodes[EVEN], r.labels, &(int64_t){ 5 });
	CHECK_INT(flat_init(&f, r.p, FRAME_BY_FUNCTION, 0, -1, &e), 0);
	CHECK_INT(clumps_measure(&f, 0, 1, false, &clumps, &e), 0);
	CHECK(!clumps);
	add(&r, EVEN, 0, 3); /* one slot tells nothing */
	CHECK_INT(clumps_measure(&f, 0, 1, false, &clumps, &e), 0);
	CHECK(!clumps);
	flat_fini(&f);
	profile_free(r.p);
}

int main(void)
{
	TAP_CASE(test_functions);
	TAP_CASE(test_without_times);
	return tap_done();
}

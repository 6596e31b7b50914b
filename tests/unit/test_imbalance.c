/* SPDX-License-Identifier: MIT */
#include "view/report.h"

#include <errno.h>

#include "tap.h"

#define RANKS 16
#define PERIOD 1000000

static uint32_t push_name(struct profile *p, uint32_t parent, const char *name)
{
	return profile_push(p, parent, profile_name_location(p, name, strlen(name)));
}

static void add(struct profile *p, const char *name, int rank, const char *class, int64_t value)
{
	struct label labels[] = {
		{ .key = profile_str(p, "rank"), .num = rank },
		{ .key = profile_str(p, "class"), .str = profile_str(p, class) },
	};

	profile_add(p, push_name(p, push_name(p, 0, "main"), name),
		    profile_add_labels(p, labels, 2), &value);
}

/* even: but for chance; slow: rank 3 has three times of it; wait: the others wait for it. */
static struct profile *make(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "nanoseconds");
	profile_info(p)->period = PERIOD;
	profile_info(p)->period_type = profile_get_type(p, 0);
	for (int rank = 0; rank < RANKS; rank++) {
		add(p, "even", rank, "compute", (400 + rank % 5) * PERIOD);
		add(p, "slow", rank, "compute", (rank == 3 ? 900 : 300) * PERIOD);
		if (rank != 3)
			add(p, "wait", rank, "mpi.collective", INT64_C(600) * PERIOD);
	}
	return p;
}

static int report(const struct profile *p, enum flat_order order, struct buf *text, struct err *e)
{
	const struct report_opts o = { .file = "x", .order = order };
	struct emit out;
	int rc;

	emit_begin(&out, &(struct emit_opts){ .format = EMIT_CSV }, text);
	rc = report_imbalance(&out, p, &o, FRAME_BY_FUNCTION, e);
	if (rc == 0)
		rc = emit_end(&out);
	emit_fini(&out);
	return rc;
}

static void test_truth(void)
{
	CLEANUP(buf_fini) struct buf self = { 0 }, total = { 0 };
	struct profile *p = make();
	struct err e = { 0 };
	CHECK_INT(report(p, FLAT_BY_SELF, &self, &e), 0);
	/* (900 - 337.5) ms * 16 */
	CHECK(strstr(self.data, "\n9000000000,"));
	CHECK(strstr(self.data, ",337500000,900000000,3,300000000,") &&
	      strstr(self.data, ",slow,"));
	CHECK(!strstr(self.data, "even") && !strstr(self.data, "wait") &&
	      !strstr(self.data, "main"));
	CHECK_INT(report(p, FLAT_BY_TOTAL, &total, &e), 0);
	CHECK(strstr(total.data, ",main,") && strstr(total.data, ",slow,"));
	profile_free(p);
}

/* Values at the end of the range, and ranks that have nothing else in common. */
static void test_large(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct profile *p = profile_new();
	struct err e = { 0 };

	profile_add_type(p, "cpu", "nanoseconds");
	add(p, "a", 0, "compute", INT64_MAX);
	add(p, "a", 1, "compute", 1);
	add(p, "b", 2, "compute", INT64_MIN + 1);
	CHECK_INT(report(p, FLAT_BY_SELF, &text, &e), 0);
	CHECK(strstr(text.data, "9223372036854775807"));
	profile_free(p);
}

static void test_no_ranks(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct profile *p = profile_new();
	struct err e = { 0 };

	profile_add_type(p, "cpu", "nanoseconds");
	CHECK_INT(report(p, FLAT_BY_SELF, &text, &e), -ENODATA);
	add(p, "a", 5, "compute", 1);
	CHECK_INT(report(p, FLAT_BY_SELF, &text, &e), -ENODATA);
	profile_free(p);
}

int main(void)
{
	TAP_CASE(test_truth);
	TAP_CASE(test_large);
	TAP_CASE(test_no_ranks);
	return tap_done();
}

/* SPDX-License-Identifier: MIT */
#include "perf/joins.h"

#include "base/buf.h"
#include "tap.h"

struct bench {
	struct profile *profile;
	struct joins joins;
};

static struct bench bench_new(uint32_t read_min)
{
	struct bench b = { .profile = profile_new() };

	profile_add_type(b.profile, "samples", "count");
	b.joins.profile = b.profile;
	b.joins.read_min = read_min;
	return b;
}

static void bench_fini(struct bench *b)
{
	joins_fini(&b->joins);
	profile_free(b->profile);
}

static uint32_t locate(struct bench *b, char name)
{
	return profile_name_location(b->profile, &name, 1);
}

/* A stack of frames with names of one letter, the outermost first. */
static uint32_t push(struct bench *b, const char *names)
{
	uint32_t node = 0;

	for (; *names; names++)
		node = profile_push(b->profile, node, locate(b, *names));
	return node;
}

static void add(struct bench *b, const char *names, size_t copied, int64_t value, bool is_read)
{
	CHECK_INT(joins_add(&b->joins, push(b, names), copied, 0, &value, is_read), 0);
}

/* Puts the stack of a node, the outermost frame first; longer names in brackets as they are. */
static void put_stack(const struct profile *p, uint32_t node, struct buf *out)
{
	struct stack_node n = profile_get_node(p, node);
	struct location l = profile_get_location(p, n.location);

	if (n.parent)
		put_stack(p, n.parent, out);
	buf_put_str(out, profile_text(p, profile_get_function(p, l.lines[0].function)->name));
}

/* "abc 3, [truncated]c 1": what the profile has, without zeroes. */
static void check_profile(struct bench *b, const char *want)
{
	CLEANUP(buf_fini) struct buf got = { 0 };

	CHECK_INT(joins_settle(&b->joins), 0);
	for (size_t i = 0; i < profile_sample_count(b->profile); i++) {
		struct sample s = profile_get_sample(b->profile, i);

		if (!s.values[0])
			continue;
		buf_put_str(&got, got.len ? ", " : "");
		put_stack(b->profile, s.node, &got);
		buf_printf(&got, " %lld", (long long)s.values[0]);
	}
	CHECK_STR(got.data ? got.data : "", want);
}

/* Until it was read often enough, it is truncated; then all of it is joined. */
static void test_readings(void)
{
	CLEANUP(bench_fini) struct bench b = bench_new(3);

	add(&b, "abcd", 2, 1, true); /* cd are copied */
	add(&b, "abcd", 2, 1, false);
	add(&b, "abce", 2, 5, true);
	check_profile(&b, "[truncated]cd 2, [truncated]ce 5");
	CHECK_INT(b.joins.truncated, 3);
	add(&b, "abcd", 2, 10, true);
	check_profile(&b, "abcd 12, abce 5");
	CHECK_INT(b.joins.joined, 4);
	CHECK_INT(b.joins.truncated, 0);
	add(&b, "abcf", 2, 7, false); /* at once */
	check_profile(&b, "abcd 12, abce 5, abcf 7");
	CHECK(joins_trusts(&b.joins, push(&b, "abcx"), 2));
	CHECK(!joins_trusts(&b.joins, push(&b, "abyx"), 2)); /* y was not read */
}

/* A frame with two callers: what was joined at it, or through it, is truncated, before and after.
 */
static void test_doubts(void)
{
	CLEANUP(bench_fini) struct bench b = bench_new(1);

	add(&b, "abcd", 2, 1, true);
	add(&b, "amno", 2, 2, true);
	add(&b, "abcde", 2, 3, true);
	check_profile(&b, "abcd 1, amno 2, abcde 3");
	CHECK_INT(joins_doubt(&b.joins, locate(&b, 'b')), 0);
	check_profile(&b, "[truncated]cd 1, [truncated]de 3, amno 2");
	add(&b, "abcd", 2, 10, true);
	check_profile(&b, "[truncated]cd 11, [truncated]de 3, amno 2");
	CHECK_INT(b.joins.joined, 1);
	CHECK_INT(b.joins.truncated, 3);
	CHECK_INT(joins_doubt(&b.joins, locate(&b, 'o')), 0); /* only copied: of no matter */
	check_profile(&b, "[truncated]cd 11, [truncated]de 3, amno 2");
	CHECK(!joins_trusts(&b.joins, push(&b, "abcd"), 2));
}

/* Where nothing can be read, what was seen before counts until it is doubted. */
static void test_without_readings(void)
{
	CLEANUP(bench_fini) struct bench b = bench_new(0);

	add(&b, "abcd", 1, 1, false);
	check_profile(&b, "abcd 1");
	CHECK_INT(joins_doubt(&b.joins, locate(&b, 'd')), 0);
	check_profile(&b, "[truncated]d 1");
}

int main(void)
{
	TAP_CASE(test_readings);
	TAP_CASE(test_doubts);
	TAP_CASE(test_without_readings);
	return tap_done();
}

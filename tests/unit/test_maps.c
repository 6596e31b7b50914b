/* SPDX-License-Identifier: MIT */
#include "perf/maps.h"

#include "tap.h"

static uint64_t versions;

static void add(struct maps **m, uint64_t start, uint64_t end, uint64_t offset, uint32_t dso)
{
	struct vma v = { .start = start, .end = end, .offset = offset, .dso = dso };

	CHECK_INT(maps_add(m, &v), 0);
}

static long dso_at(struct maps *m, uint64_t address)
{
	const struct vma *v = maps_find(m, address);

	return v ? (long)v->dso : -1;
}

static long offset_at(struct maps *m, uint64_t address)
{
	const struct vma *v = maps_find(m, address);

	return v ? (long)(v->offset + (address - v->start)) : -1;
}

static void check_sorted(const struct maps *m)
{
	for (size_t i = 1; i < maps_count(m); i++)
		CHECK(maps_get(m, i - 1)->end <= maps_get(m, i)->start);
}

static void test_find(void)
{
	struct maps *m = maps_new(&versions);

	CHECK_INT(dso_at(m, 5), -1);
	add(&m, 100, 200, 0, 1);
	add(&m, 300, 400, 0, 2);
	add(&m, 10, 20, 0, 3);
	add(&m, 50, 50, 0, 4); /* empty */
	CHECK_INT(maps_count(m), 3);
	CHECK_INT(dso_at(m, 9), -1);
	CHECK_INT(dso_at(m, 10), 3);
	CHECK_INT(dso_at(m, 19), 3);
	CHECK_INT(dso_at(m, 20), -1);
	CHECK_INT(dso_at(m, 199), 1);
	CHECK_INT(dso_at(m, 200), -1);
	CHECK_INT(dso_at(m, 399), 2);
	CHECK_INT(dso_at(m, 400), -1);
	check_sorted(m);
	maps_unref(m);
}

/* Each new mapping over [100..200) and [200..300), and what is found then. */
static void test_overlap(void)
{
	static const struct {
		uint64_t start, end;
		long at_100, at_150, at_199, at_200, at_250, at_299;
		size_t count;
	} rows[] = {
		{ 50, 100, 1, 1, 1, 2, 2, 2, 3 },  /* beside */
		{ 50, 120, 9, 1, 1, 2, 2, 2, 3 },  /* over the front */
		{ 140, 160, 1, 9, 1, 2, 2, 2, 4 }, /* inside: splits */
		{ 100, 200, 9, 9, 9, 2, 2, 2, 2 }, /* in place of */
		{ 150, 251, 1, 9, 9, 9, 9, 2, 3 }, /* over two */
		{ 0, 1000, 9, 9, 9, 9, 9, 9, 1 },  /* over all */
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct maps *m = maps_new(&versions);
		uint64_t before;

		add(&m, 100, 200, 1000, 1);
		add(&m, 200, 300, 5000, 2);
		before = maps_version(m);
		add(&m, rows[i].start, rows[i].end, 0, 9);
		CHECK_INT(dso_at(m, 100), rows[i].at_100);
		CHECK_INT(dso_at(m, 150), rows[i].at_150);
		CHECK_INT(dso_at(m, 199), rows[i].at_199);
		CHECK_INT(dso_at(m, 200), rows[i].at_200);
		CHECK_INT(dso_at(m, 250), rows[i].at_250);
		CHECK_INT(dso_at(m, 299), rows[i].at_299);
		if (rows[i].at_199 == 1)
			CHECK_INT(offset_at(m, 199), 1099);
		if (rows[i].at_299 == 2)
			CHECK_INT(offset_at(m, 299), 5099);
		CHECK_INT(maps_count(m), rows[i].count);
		CHECK_INT(maps_version(m) == before, i == 0);
		check_sorted(m);
		maps_unref(m);
	}
}

static void test_shared(void)
{
	struct maps *parent = maps_new(&versions), *child;
	uint64_t version;

	add(&parent, 100, 200, 0, 1);
	child = maps_ref(parent);
	version = maps_version(parent);
	add(&child, 100, 200, 0, 1); /* nothing new: still shared */
	CHECK(child == parent);
	add(&child, 150, 160, 0, 2);
	CHECK(child != parent);
	CHECK(maps_version(child) != version);
	CHECK_INT(maps_version(parent), version);
	CHECK_INT(dso_at(parent, 155), 1);
	CHECK_INT(dso_at(child, 155), 2);
	maps_unref(parent);
	CHECK_INT(dso_at(child, 199), 1);
	maps_unref(child);
	maps_unref(NULL);
}

/* Many, in an order that is not theirs, against an array of bytes. */
static void test_random(void)
{
	unsigned char truth[4096] = { 0 };
	struct maps *m = maps_new(&versions);
	uint32_t seed = 12345;

	for (int i = 0; i < 2000; i++) {
		uint64_t start, len;

		seed = seed * 1664525 + 1013904223;
		start = seed >> 20;
		len = (seed >> 8 & 63) + 1;
		if (start + len > sizeof truth)
			len = sizeof truth - start;
		add(&m, start, start + len, start, (uint32_t)(i % 200) + 1);
		memset(truth + start, i % 200 + 1, len);
	}
	for (uint64_t a = 0; a < sizeof truth; a++) {
		long want = truth[a] ? truth[a] : -1;

		if (dso_at(m, a) != want || (want > 0 && offset_at(m, a) != (long)a))
			CHECK_INT(dso_at(m, a), want);
	}
	check_sorted(m);
	maps_unref(m);
}

int main(void)
{
	TAP_CASE(test_find);
	TAP_CASE(test_overlap);
	TAP_CASE(test_shared);
	TAP_CASE(test_random);
	return tap_done();
}

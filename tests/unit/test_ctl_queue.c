/* SPDX-License-Identifier: MIT */
#include "ctlfs/queue.h"

#include <string.h>

#include "base/macros.h"
#include "format/akaros/akaros.h"
#include "tap.h"

static bool put(struct queue *q, size_t core, uint64_t ns, size_t frames)
{
	CLEANUP(buf_fini) struct buf b = { 0 };
	uint64_t pcs[AKAROS_MAX_FRAMES] = { 0 };

	for (size_t i = 0; i < frames; i++)
		pcs[i] = ns + i;
	akaros_put_sample(&b, (uint32_t)core, ns, pcs, frames);
	return queue_put(q, core, b.data, b.len);
}

/* The time of the next sample, which must be whole; 0: there is none. */
static uint64_t take(struct queue *q, size_t core)
{
	CLEANUP(buf_fini) struct buf b = { 0 };
	struct akaros_trace t = { 0 };
	struct akaros_sample s = { 0 };

	if (!queue_take(q, core, &b))
		return 0;
	t.data = (const unsigned char *)b.data;
	t.len = b.len;
	CHECK(akaros_next(&t, &s));
	CHECK_INT(t.at, b.len);
	for (size_t i = 0; i < s.count; i++)
		CHECK_INT(s.pcs[8 * i], (unsigned char)(s.ns + i));
	return s.ns;
}

static void test_order(void)
{
	struct queue q;

	CHECK_INT(queue_init(&q, 3, 1 << 20), 0);
	CHECK(put(&q, 2, 10, 3) && put(&q, 0, 20, 1) && put(&q, 2, 30, 0) && put(&q, 0, 5, 2));
	CHECK_INT(queue_len(&q, QUEUE_ALL), 4 * 16 + 8 * 6);
	CHECK_INT(queue_len(&q, 0), 2 * 16 + 8 * 3);
	CHECK_INT(take(&q, QUEUE_ALL), 10);
	CHECK_INT(take(&q, 1), 0);
	CHECK_INT(take(&q, 0), 20);
	CHECK_INT(take(&q, QUEUE_ALL), 5);
	CHECK_INT(take(&q, QUEUE_ALL), 30);
	CHECK_INT(take(&q, QUEUE_ALL), 0);
	CHECK_INT(queue_len(&q, QUEUE_ALL), 0);
	queue_fini(&q);
}

/* The ring goes round and grows while samples are in it. */
static void test_round(void)
{
	struct queue q;
	uint64_t next = 1, seen = 1;

	CHECK_INT(queue_init(&q, 1, 8 << 20), 0);
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 100 + round; i++, next++)
			CHECK(put(&q, 0, next, next % 200));
		for (int i = 0; i < 90 + round; i++, seen++)
			CHECK_INT(take(&q, 0), seen);
	}
	while (seen < next) {
		CHECK_INT(take(&q, 0), seen);
		seen++;
	}
	CHECK_INT(take(&q, 0), 0);
	queue_fini(&q);
}

static void test_limit(void)
{
	struct queue q;

	CHECK_INT(queue_init(&q, 2, 100), 0);
	CHECK(put(&q, 0, 1, 4)); /* 48 bytes */
	CHECK(put(&q, 1, 2, 4));
	CHECK(!put(&q, 1, 3, 0)); /* 4 are left */
	CHECK_INT(q.cores[0].dropped, 0);
	CHECK_INT(q.cores[1].dropped, 1);
	CHECK_INT(take(&q, QUEUE_ALL), 1);
	CHECK(put(&q, 1, 4, 0));
	CHECK_INT(q.cores[1].count, 2);
	q.limit = 10; /* less than is in it */
	CHECK(!put(&q, 0, 5, 0));
	queue_clear(&q);
	CHECK_INT(queue_len(&q, QUEUE_ALL), 0);
	CHECK_INT(take(&q, QUEUE_ALL), 0);
	queue_fini(&q);
}

int main(void)
{
	TAP_CASE(test_order);
	TAP_CASE(test_round);
	TAP_CASE(test_limit);
	return tap_done();
}

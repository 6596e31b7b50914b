/* SPDX-License-Identifier: MIT */
/* peaks: the most since any moment, against a search through everything that was told. */
#include "wire/peaks.h"

#include <stdlib.h>

#include "tap.h"

#define TOLD 4000

static int64_t told[TOLD + 1]; /* at each moment, from 1 */

static int64_t search(size_t after, size_t now)
{
	int64_t most = INT64_MIN;

	for (size_t i = after + 1; i <= now; i++) {
		if (told[i] > most)
			most = told[i];
	}
	return most;
}

/* Numbers that wander: as long as few of them stand out, all windows are exact. */
static void test_windows(void)
{
	static struct peaks p;
	int64_t value = 0;

	srand(7);
	for (size_t i = 1; i <= TOLD; i++) {
		value += rand() % 2001 - 1000;
		told[i] = value;
		peaks_add(&p, value);
		CHECK_INT(peaks_now(&p), i);
		for (int k = 0; k < 4 && p.count < PEAKS_MAX; k++) {
			size_t after = (size_t)rand() % i;

			CHECK_INT(peaks_since(&p, after, INT64_MIN), search(after, i));
		}
	}
	CHECK_INT(peaks_since(&p, TOLD, 42), 42); /* nothing since */
	CHECK_INT(peaks_since(&p, 0, INT64_MAX), INT64_MAX);
}

/* Falling all the time, more than there is room for: never too low, and too high by little. */
static void test_too_many(void)
{
	static struct peaks p;

	for (size_t i = 1; i <= TOLD; i++) {
		told[i] = (int64_t)(1000000 - 100 * i);
		peaks_add(&p, told[i]);
	}
	CHECK_INT(p.count, PEAKS_MAX);
	for (size_t after = 0; after < TOLD; after += 7) {
		int64_t got = peaks_since(&p, after, INT64_MIN);
		int64_t want = search(after, TOLD);

		CHECK(got >= want);
		CHECK(got <= want + 100 * 2 * TOLD / PEAKS_MAX);
	}
}

int main(void)
{
	TAP_CASE(test_windows);
	TAP_CASE(test_too_many);
	return tap_done();
}

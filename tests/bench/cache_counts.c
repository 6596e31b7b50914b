/* SPDX-License-Identifier: MIT */
/* cache_counts: what it costs to count a request of the cache file system, as the best of rounds: a
 * request itself takes some microseconds (cache.py tells how many). */
#include <stdio.h>

#include "base/clock.h"
#include "cachefs/profile/metrics.h"
#include "cachefs/store/path_counts.h"

#include "bench.h"

#define CALLS 1000000
#define ROUNDS 10

/* Nanoseconds of one call. */
static double measure(struct metrics *m, struct path_counts *counts)
{
	int64_t start_ns = clock_mono_ns(), ns;

	for (int i = 0; i < CALLS; i++) {
		struct metrics_call call = metrics_begin(METRICS_GETATTR);
		enum request_result result = metrics_end(m, &call, 0, 0, &ns);

		if (counts)
			path_counts_add(counts, PATH_METADATA, result, ns, 0);
	}
	return (double)(clock_mono_ns() - start_ns) / CALLS;
}

static double best(struct metrics *m, struct path_counts *counts)
{
	double least = measure(m, counts);

	for (int i = 1; i < ROUNDS; i++) {
		double ns = measure(m, counts);

		if (ns < least)
			least = ns;
	}
	return least;
}

int main(void)
{
	struct metrics *m = metrics_new();
	struct path_counts counts = { .paths = 1 };

	if (!m)
		return 1;
	bench_value("counting a request", best(m, NULL), "ns");
	bench_value("counting a request and its path", best(m, &counts), "ns");
	metrics_free(m);
	return 0;
}

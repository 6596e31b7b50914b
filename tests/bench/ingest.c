/* SPDX-License-Identifier: MIT */
/*
 * ingest: how fast a profile takes in a synthetic stream of samples, and in how much memory:
 * 10 million samples over 200,000 distinct stacks must fit in 256 MiB.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/macros.h"
#include "model/profile.h"

#include "bench.h"

#define SAMPLES 10000000
#define STACKS 200000
#define TREE_BITS 17    /* of the number of a stack */
#define DEPTH 24        /* frames a stack */
#define FUNCTIONS 20000 /* distinct locations */
#define THREADS 64      /* distinct label sets */
#define LIMIT_MIB 256

/* xorshift64*: the same stream at each run. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static void free_profile(struct profile **p)
{
	profile_free(*p);
}

/*
 * One sample, from the root to the leaf, as a reader of a perf ring adds it. The number of the
 * stack is its path through a binary tree, so that stacks share their outer frames as those of
 * programs do.
 */
static void add_sample(struct profile *p, uint64_t stack, uint32_t mapping, uint32_t labels)
{
	static const int64_t values[] = { 1, 1001001 };
	uint32_t node = 0;

	for (unsigned depth = 0; depth < DEPTH; depth++) {
		uint64_t path = stack >> (TREE_BITS * (DEPTH - 1 - depth) / (DEPTH - 1));
		uint64_t function = (path * 2654435761 + depth) % FUNCTIONS;
		struct location l = { .mapping = mapping, .address = 0x1000 + 16 * function };

		node = profile_push(p, node, profile_add_location(p, &l));
	}
	profile_add(p, node, labels, values);
}

static uint32_t add_thread(struct profile *p, int64_t tid)
{
	const struct label labels[] = {
		{ .key = profile_str(p, "pid"), .num = 100 },
		{ .key = profile_str(p, "tid"), .num = tid },
		{ .key = profile_str(p, "comm"), .str = profile_str(p, "solver") },
	};

	return profile_add_labels(p, labels, ARRAY_LEN(labels));
}

int main(void)
{
	CLEANUP(free_profile) struct profile *p = profile_new();
	uint32_t mapping, threads[THREADS];
	uint64_t state = 1;
	struct rusage usage;
	int64_t began;
	double seconds;

	if (!p)
		return 1;
	profile_add_type(p, "samples", "count");
	profile_add_type(p, "cpu", "nanoseconds");
	mapping = profile_add_mapping(
		p, &(struct mapping){ .start = 0x1000,
				      .limit = 0x1000 + 16 * FUNCTIONS,
				      .path = profile_str(p, "/usr/bin/solver") });
	for (int i = 0; i < THREADS; i++)
		threads[i] = add_thread(p, 100 + i);
	began = clock_mono_ns();
	for (int i = 0; i < SAMPLES; i++) {
		/* Some stacks are much hotter than others. */
		uint64_t stack =
			next_random(&state) % STACKS * (next_random(&state) % STACKS) / STACKS;

		add_sample(p, stack, mapping, threads[stack % THREADS]);
	}
	seconds = (double)(clock_mono_ns() - began) / (double)NS_PER_S;
	getrusage(RUSAGE_SELF, &usage);
	printf("%d samples of %d frames, %zu distinct stacks, %zu nodes\n"
	       "%.2f million samples/s, %.0f ns a frame, peak %ld MiB\n",
	       SAMPLES, DEPTH, profile_sample_count(p), profile_node_count(p),
	       SAMPLES / seconds / 1e6, seconds / SAMPLES / DEPTH * 1e9, usage.ru_maxrss / 1024);
	bench_value("samples", SAMPLES / seconds / 1e6, "million/s");
	bench_print(&(struct bench_row){ .what = "memory of 200,000 stacks",
					 .value = (double)usage.ru_maxrss / 1024,
					 .unit = "MiB",
					 .most = LIMIT_MIB });
	return profile_error(p) < 0;
}

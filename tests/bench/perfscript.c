/* SPDX-License-Identifier: MIT */
/*
 * perfscript: how fast the text of perf script is read: a synthetic one of the shape of a
 * real recording of a mixed load (348,000 samples, 5.3 million lines, 303 MB, 44,000 distinct
 * stacks of 5,200 functions).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/macros.h"
#include "format/perfscript/perfscript.h"

#include "bench.h"

#define SAMPLES 347821
#define STACKS 44157
#define TREE_BITS 16 /* of the number of a stack */
#define FUNCTIONS 5192
#define MIN_DEPTH 6
#define MAX_DEPTH 22
#define THREADS 128
#define LEAF_ADDRESSES 16 /* of a function that is sampled */
#define TARGET_MB_S 600
#define PEER_MB_S 27 /* stackcollapse-perf.pl, a text of this shape */
#define ROUNDS 5

/* splitmix64's finaliser: a number of its own for each path and depth. */
static uint64_t scramble(uint64_t v)
{
	v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
	return v ^ v >> 31;
}

static uint64_t next_random(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return scramble(*state);
}

static void put_frame(struct buf *out, uint64_t function, uint64_t offset)
{
	static const char *const dsos[] = { "/usr/lib/libc.so.6", "/usr/bin/work",
					    "[kernel.kallsyms]" };
	static const char *const words[] = { "handle", "sort",  "insert", "page", "lookup",
					     "node",   "fault", "read",   "list", "parse" };
	uint64_t word = scramble(function);

	buf_printf(out, "\t%16" PRIx64 " %s_%s%" PRIu64 "+0x%" PRIx64 " (%s)\n",
		   0x10000 + (function << 12) + offset, words[word % ARRAY_LEN(words)],
		   words[(word >> 8) % ARRAY_LEN(words)], function, offset,
		   dsos[(word >> 16) % ARRAY_LEN(dsos)]);
}

/* The number of a stack is its path through a binary tree. Leaf first. */
static void put_stack(struct buf *out, uint64_t stack, uint64_t *state)
{
	unsigned depth = MIN_DEPTH + (unsigned)(scramble(stack) % (MAX_DEPTH - MIN_DEPTH + 1));
	uint64_t offset = next_random(state) % LEAF_ADDRESSES * 4;

	for (unsigned level = depth; level-- > 0;) {
		uint64_t path = stack >> (TREE_BITS - TREE_BITS * (level + 1) / depth);
		uint64_t site = scramble(path * MAX_DEPTH + level);

		put_frame(out, site % FUNCTIONS, offset);
		offset = (site >> 32) % 64 * 8; /* of the call in its caller */
	}
	buf_put_byte(out, '\n');
}

static void put_samples(struct buf *out)
{
	uint64_t state = 1, time_us = 158665000000;

	for (int i = 0; i < SAMPLES; i++) {
		/* Some stacks are much hotter than others. */
		uint64_t stack =
			next_random(&state) % STACKS * (next_random(&state) % STACKS) / STACKS;
		uint64_t thread = stack / (STACKS / THREADS + 1);

		time_us += 100;
		buf_printf(out,
			   "worker/%" PRIu64 " %" PRIu64 " [%03" PRIu64 "] %" PRIu64 ".%06" PRIu64
			   ":     200040 cpu-clock:ppp: \n",
			   thread % 7, 1000 + thread, thread % 2, time_us / 1000000,
			   time_us % 1000000);
		put_stack(out, stack, &state);
	}
}

/* CPU time: other work of the machine counts less. */
static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / (double)NS_PER_S;
}

/* Seconds it takes to read the text; negative: it failed. */
static double time_read(const struct buf *text)
{
	struct profile *p = profile_new();
	struct err e = { 0 };
	double began = cpu_seconds(), seconds = -1;

	if (p && perfscript_read(p, (const unsigned char *)text->data, text->len, &e) == 0)
		seconds = cpu_seconds() - began;
	else
		fprintf(stderr, "%s\n", e.msg);
	profile_free(p);
	return seconds;
}

int main(void)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	double best = -1, mb_s;

	put_samples(&text);
	if (buf_error(&text) < 0)
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		double seconds = time_read(&text);

		if (seconds < 0)
			return 1;
		if (best < 0 || seconds < best)
			best = seconds;
	}
	mb_s = (double)text.len / 1e6 / best;
	printf("%.0f MB, %d samples: %.3f s\n", (double)text.len / 1e6, SAMPLES, best);
	bench_print(&(struct bench_row){ .what = "text of perf script",
					 .value = mb_s,
					 .unit = "MB/s",
					 .least = TARGET_MB_S });
	bench_compare("text of perf script", mb_s, "MB/s", "stackcollapse-perf.pl, quoted",
		      PEER_MB_S, 0);
	return 0;
}

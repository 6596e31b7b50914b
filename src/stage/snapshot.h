/* SPDX-License-Identifier: MIT */
/*
 * snapshot: copies the rows of a profiler, with ended threads and the open stages so far.
 *
 * Threads run on meanwhile; each row is consistent in itself.
 */
#ifndef STAGE_SNAPSHOT_H
#define STAGE_SNAPSHOT_H

#include "stage/profiler.h"

struct snapshot_thread {
	pid_t tid;
	struct row **rows; /* [path_count + 1], NULL: none */
};

struct snapshot {
	struct arena arena;   /* owns all below */
	struct reading now;   /* without the costs of threads */
	struct reading reset; /* at the last reset */
	double tick_ns;
	uint32_t path_count;
	const struct path *paths; /* [1..path_count], the profiler's */
	struct row **rows;        /* [path_count + 1], NULL: none */
	uint32_t *order;          /* [row_count]: paths with rows, by first begin */
	uint32_t row_count;
	struct snapshot_thread *threads; /* [thread_count]; only with per_thread */
	uint32_t thread_count;
	int64_t rss_kb; /* -1: not known */
};

/* 0 or -ENOMEM; call fini in either case. The caller holds the profiler's lock. */
int snapshot_take(struct snapshot *s, struct auger_profiler *p) MUST_CHECK;
void snapshot_fini(struct snapshot *s);

/* Sorts the paths with rows by first begin into order [path_count]; returns their count. */
uint32_t snapshot_sort(const struct snapshot *s, struct row *const *rows, uint32_t *order);

/* Ticks in nanoseconds. */
int64_t snapshot_ns(const struct snapshot *s, int64_t ticks);

/* The time that threads waited, and their CPU time, for calls where both are known. */
int64_t snapshot_wait_ns(const struct snapshot *s, const int64_t *costs);
int64_t snapshot_cpu_ns(const struct snapshot *s, const int64_t *costs);

#endif

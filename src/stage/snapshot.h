/* SPDX-License-Identifier: MIT */
/*
 * snapshot: the rows of a profiler at one moment, with those of threads that ended and the open
 * stages so far. Threads go on meanwhile; each row is consistent in itself.
 */
#ifndef STAGE_SNAPSHOT_H
#define STAGE_SNAPSHOT_H

#include "stage/profiler.h"

struct snapshot_thread {
	pid_t tid;
	struct row **rows; /* [path_count + 1], NULL: none */
};

struct snapshot {
	struct arena arena;    /* of all below */
	struct boundary now;   /* without what only threads know */
	struct boundary reset; /* when it was begun */
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

/* 0 or -ENOMEM; fini in either case. The profiler's lock is held. */
int snapshot_take(struct snapshot *s, struct auger_profiler *p) MUST_CHECK;
void snapshot_fini(struct snapshot *s);

/* Paths with rows by first begin, into order [path_count]; how many. */
uint32_t snapshot_sort(const struct snapshot *s, struct row *const *rows, uint32_t *order);

/* Ticks as nanoseconds. */
int64_t snapshot_ns(const struct snapshot *s, int64_t ticks);

/* Of costs of calls: time that threads waited, and their CPU time, where both are known. */
int64_t snapshot_wait_ns(const struct snapshot *s, const int64_t *costs);
int64_t snapshot_cpu_ns(const struct snapshot *s, const int64_t *costs);

#endif

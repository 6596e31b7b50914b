/* SPDX-License-Identifier: MIT */
/*
 * thread_rows: the samples of one type, thread by thread and in order of time, for formats that
 * have time lines.
 *
 * Times are those of model/sample_times.h. What is sampled without a time stands at time 0, and so
 * does everything when no times are known: none is made up. Values below 1 are left out. All of a
 * thread add up to its total. When times were thinned, a thread's stacks are right on average only.
 */
#ifndef FORMAT_THREAD_ROWS_H
#define FORMAT_THREAD_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "model/profile.h"

struct thread_row {
	uint64_t time_ns; /* since the first time; of the sample, or of the end of a wait */
	uint32_t node, labels;
	int64_t value; /* 1 and more */
	bool is_timed; /* else time_ns is 0 */
};

/* A thread, by its labels; "0" and "" for those that it lacks. */
struct thread {
	uint32_t pid, tid, comm; /* texts, for thread_rows_text() */
	size_t first, count;     /* of its rows in order */
};

/* All zero is empty. */
struct thread_rows {
	struct rows rows;    /* struct thread_row, by time */
	struct rows threads; /* struct thread, in order of their first row */
	uint32_t *order;     /* [rows.count]: rows by thread, in their order within it; owned */
	uint64_t last_ns;    /* the last time */
	uint64_t end_ns;     /* where its bucket ends; 0: no times are known */
	struct strtab *texts, *keys;
};

int thread_rows_make(struct thread_rows *ret, const struct profile *p, size_t type,
		     struct err *e) MUST_CHECK;
void thread_rows_fini(struct thread_rows *t);

/* How long the recording was, as far as it is known; no time is at or behind it. 0: unknown. */
uint64_t thread_rows_length(const struct thread_rows *t, const struct profile *p);

/* NUL-terminated; borrowed. */
const char *thread_rows_text(const struct thread_rows *t, uint32_t text);

static inline const struct thread *thread_rows_thread(const struct thread_rows *t, size_t i)
{
	return (const struct thread *)t->threads.data + i;
}

/* Row i of a thread. */
static inline const struct thread_row *thread_rows_at(const struct thread_rows *t,
						      const struct thread *thread, size_t i)
{
	return (const struct thread_row *)t->rows.data + t->order[thread->first + i];
}

#endif

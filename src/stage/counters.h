/* SPDX-License-Identifier: MIT */
/*
 * counters: reads what a thread and its process have used so far, each from its cheapest source.
 *
 * Process CPU, peak RSS, faults, switches: one getrusage(2). RSS: /proc/self/statm, read again
 * after a page fault or when the value is old. Bytes read and written: rchar and wchar of
 * /proc/self/io, at most once a millisecond, without the reads of this library. CPU of the thread:
 * CLOCK_THREAD_CPUTIME_ID. That clock is read only after a context switch, which one load from the
 * mapped perf page shows: between switches CPU time advances with the wall clock.
 * Sources: getrusage(2), proc(5), perf_event_open(2) (the field lock of the mapped page).
 */
#ifndef STAGE_COUNTERS_H
#define STAGE_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "stage/costs.h"
#include "stage/macros.h"

/* Of the process: descriptors, shared by threads. */
struct counter_files {
	int statm, io;     /* -1: not readable */
	uint64_t own_read; /* bytes that this library read through them; atomic */
	int64_t page_kb;
};

void counter_files_open(struct counter_files *f);
/* Closes only our own files: a program may have closed these descriptors and reused them. */
void counter_files_close(struct counter_files *f);

/* Of a thread. All zero: not started. */
struct counters {
	struct counter_files *files;
	struct perf_event_mmap_page *page; /* NULL: no perf event here */
	uint64_t rss_ticks;                /* maximum age of a value; 0: read each time */
	uint64_t io_ticks;
	uint64_t rss_at, io_at; /* time of the last read; 0: never */
	int64_t rss_faults;     /* page faults at rss_at */
	int64_t rss_kb;         /* last value, like the next two */
	int64_t read_bytes, write_bytes;
	uint64_t clock_read_ticks; /* a clock read that takes longer means a context switch */
	uint32_t lock;             /* value of page->lock at base_at */
	uint64_t base_at;          /* ticks */
	int64_t base_ns;           /* CPU time of the thread at base_at */
};

struct counter_plan {
	uint64_t rss_ticks, io_ticks, clock_read_ticks; /* as in struct counters */
};

/* Call in the thread that is measured. */
void counters_start(struct counters *m, struct counter_files *f, const struct counter_plan *plan);
void counters_stop(struct counters *m);

/*
 * Reads the costs of the process. Returns its peak RSS since the start, in KiB. Keeps errno.
 */
int64_t counters_read_process(struct counters *m, int64_t *at, bool is_begin);

/*
 * Reads the costs of the thread at the time in at[COST_WALL]. When that takes a system call, a
 * begin moves to the time after it, so that the stage excludes it. An end does not move: a context
 * switch during the call counts as a wait after the stage.
 */
void counters_read_thread_slowly(struct counters *m, int64_t *at, bool is_begin);

static inline void counters_read_thread(struct counters *m, int64_t *at, bool is_begin)
{
	if (UNLIKELY(!m->page || __atomic_load_n(&m->page->lock, __ATOMIC_ACQUIRE) != m->lock)) {
		counters_read_thread_slowly(m, at, is_begin);
		return;
	}
	STORE_RELEASE(at[COST_WAIT_TICKS], (int64_t)m->base_at);
	STORE_RELEASE(at[COST_WAIT_NS], m->base_ns);
}

/* Resets the peak RSS of the process to its RSS. 0 or a negative errno. Source:
 * proc(5), /proc/PID/clear_refs, value 5; kernel 4.0. */
int counters_reset_rss_hwm(void);

/* Peak RSS since the last reset, in KiB; -1: unknown. The peak of getrusage() is no substitute: it
 * includes the program before an exec. */
int64_t counters_rss_hwm_kb(void);

/* RSS, in KiB; -1: unknown. */
int64_t counters_rss_kb(struct counter_files *f);

#endif

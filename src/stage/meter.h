/* SPDX-License-Identifier: MIT */
/*
 * meter: what a thread and its process have used so far, by the cheapest sound source.
 *
 * process CPU, peak RSS, faults, switches: getrusage(2), one call. RSS: /proc/self/statm, read
 * again when a page fault happened since, or when the reading is old. Bytes read and written:
 * rchar and wchar of /proc/self/io, at most once a millisecond, less what this library read. CPU
 * of the thread: CLOCK_THREAD_CPUTIME_ID, but as long as the thread was not switched out its CPU
 * time runs as the wall clock does, and the kernel's perf page tells of switches for one load.
 * Sources: getrusage(2), proc(5), perf_event_open(2) (the field lock of the mapped page).
 */
#ifndef STAGE_METER_H
#define STAGE_METER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "stage/costs.h"
#include "stage/macros.h"

/* The process' part: descriptors, shared by threads. */
struct meter_files {
	int statm, io;     /* -1: not readable */
	uint64_t own_read; /* bytes that this library read through them; atomic */
	int64_t page_kb;
};

void meter_files_open(struct meter_files *f);
/* Only what is still ours: a program may have closed and used the numbers again. */
void meter_files_close(struct meter_files *f);

/* The thread's part. All zero: not started. */
struct meter {
	struct meter_files *files;
	struct perf_event_mmap_page *page; /* NULL: no perf event here */
	uint64_t rss_ticks;                /* how old a reading may be; 0: read always */
	uint64_t io_ticks;
	uint64_t rss_at, io_at; /* when they were read; 0: never */
	int64_t rss_faults;     /* page faults at that time */
	int64_t rss_kb;         /* as last read, like the next two */
	int64_t read_bytes, write_bytes;
	uint64_t away_ticks; /* reading the clock takes less, unless the thread was switched out */
	uint32_t lock;       /* of page when the base was read */
	uint64_t base_at;    /* ticks */
	int64_t base_ns;     /* CPU of the thread then */
};

struct meter_plan {
	uint64_t rss_ticks, io_ticks, away_ticks; /* as in struct meter */
};

/* In the thread that is measured. */
void meter_start(struct meter *m, struct meter_files *f, const struct meter_plan *plan);
void meter_stop(struct meter *m);

/*
 * Fills in the group of the process, and gives the most RSS that the process ever had, in KiB.
 * errno is kept.
 */
int64_t meter_read_process(struct meter *m, int64_t *at, bool is_begin);

/*
 * Fills in the group of the thread, at the time in at[COST_WALL]. When its CPU time had to be read
 * by a system call, a begin is moved on to the time of that: what it took is no part of the stage.
 * An end is not; if the thread was switched out meanwhile, it waited after the stage.
 */
void meter_read_thread_slowly(struct meter *m, int64_t *at, bool is_begin);

static inline void meter_read_thread(struct meter *m, int64_t *at, bool is_begin)
{
	if (UNLIKELY(!m->page || __atomic_load_n(&m->page->lock, __ATOMIC_ACQUIRE) != m->lock)) {
		meter_read_thread_slowly(m, at, is_begin);
		return;
	}
	POKE(at[COST_WAIT_TICKS], (int64_t)m->base_at);
	POKE(at[COST_WAIT_NS], m->base_ns);
}

/* Makes the most RSS that the process ever had what it has now. 0 or a negative errno. Source:
 * proc(5), /proc/PID/clear_refs, value 5; kernel 4.0. */
int meter_reset_rss_hwm(void);

/* The most RSS since the last reset, in KiB; -1: not known. getrusage() does not tell it: its peak
 * is also that of the program that was there before an exec. */
int64_t meter_rss_hwm_kb(void);

/* RSS now, in KiB; -1: not known. */
int64_t meter_rss_kb(struct meter_files *f);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * profiler: the types that the library's modules share, with their owners and locks.
 *
 * A profiler has one shard for each thread that uses it. Only that thread writes to its shard,
 * without a lock; a reporting thread reads it at the same time (STORE_RELEASE and LOAD_ACQUIRE).
 * The profiler's lock guards what threads share, the paths and the lists; a thread takes it only
 * for something new. All memory lives until the profiler is closed, so readers never see freed
 * memory.
 *
 * A thread finds its shard by the profiler's slot. The serial number shows whether the slot still
 * belongs to the same profiler.
 */
#ifndef STAGE_PROFILER_H
#define STAGE_PROFILER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "auger/stage.h"
#include "job/place.h"
#include "stage/arena.h"
#include "stage/counters.h"
#include "stage/macros.h"
#include "stage/paths.h"
#include "stage/rows.h"
#include "stage/write.h"
#include "wire/heap_count.h"

#define PROFILERS_MAX 256
#define CHILDREN_LEN 256 /* a power of two */
#define KEYS_MAX 32
#define KEPT_SHARDS_MAX 256
#define SOURCE_NAME_MAX 15

struct shard;

/* The values read at a begin, an end, or for a report; only groups that are read are set. */
struct reading {
	int64_t at[COST_COUNT];                          /* running totals */
	uint64_t heap_moment, source_moment, rss_moment; /* see wire/peaks.h */
	int64_t rss_hwm;                                 /* KiB: peak RSS of the process */
	bool has_source;                                 /* the source answered */
};

enum {
	FRAME_INHERITED = 1, /* from before a fork(): not counted */
	FRAME_RESET = 2,     /* open at a reset: its thread-only costs are unknown */
};

/* An open stage, or a spare frame in the list of its shard. */
struct frame {
	struct frame *below;
	const struct shard *shard; /* that began it */
	void *address;             /* of the function that has its scope; NULL: no scope */
	auger_token token;
	uint32_t path;
	uint32_t name;
	uint32_t epoch;        /* of the profiler when begin was read */
	uint32_t flags;        /* FRAME_... */
	uint32_t inner_groups; /* that are set in inner; the others are zero */
	struct reading begin;
	int64_t inner[COST_COUNT]; /* cost of the ended stages inside */
	int64_t rss_seen;          /* KiB: highest RSS seen during the call */
};

/* Adds the cost of a call inside that ended. */
static inline void frame_add_inner(struct frame *f, const struct call *call)
{
	uint32_t fresh = call->groups & ~f->inner_groups;

	if (fresh) {
		costs_clear(fresh, f->inner);
		STORE_RELEASE(f->inner_groups, f->inner_groups | fresh);
	}
	costs_add(call->groups, f->inner, call->total);
}

/* Written by one thread at a time. change is odd during a change: readers try again. */
struct auger_context {
	struct auger_profiler *profiler;
	struct auger_context *next;  /* of the profiler's tasks; under its lock, never removed */
	struct auger_context *spare; /* the next unused one; under its lock */
	struct frame *top;           /* innermost; NULL: nothing open */
	uint32_t change;
	uint32_t id;           /* of the profiler; part of tokens */
	uint32_t depth;        /* frames */
	uint32_t deep;         /* open stages that are too deep to be measured */
	uint32_t base;         /* path that stages with nothing open nest in */
	bool is_task;          /* a task's, not a thread's */
	uint64_t serial;       /* of the last token */
	uint64_t ended_serial; /* a fork() ended all tokens up to this one */
};

struct child {
	uint64_t key; /* child_key(): parent and name; 0: empty */
	uint32_t path;
};

struct shard {
	struct auger_context context;
	struct auger_profiler *profiler;
	struct shard *next; /* of the profiler's, also the unused ones; never removed */
	struct child children[CHILDREN_LEN]; /* cache of paths_child() */
	struct row **rows;                   /* [paths.max + 1]; NULL: not used */
	struct frame *spare;
	struct counters counters;
	struct heap_thread *heap; /* NULL: not counted */
	uint32_t epoch;           /* of the profiler when the rows were cleared */
	bool is_used;             /* owned by a thread; under lock */
	pid_t tid;
};

struct key {
	const char *name, *value; /* value NULL: removed */
};

struct auger_profiler {
	unsigned slot;
	uint64_t serial;
	pthread_mutex_t lock;
	struct arena arena; /* under lock */

	/* Written before the profiler is published. */
	struct auger_opts opts; /* without AUTO; out: NULL or a copy */
	const char *folder;     /* base of a relative out; NULL: the current folder */
	uint32_t groups;        /* that are read */
	struct counter_plan plan;
	bool resets_rss;               /* opts.reset_rss_peak, and /proc/self/clear_refs works */
	const struct heap_count *heap; /* NULL: not counted */
	struct auger_source source;    /* read NULL: none */
	char source_name[SOURCE_NAME_MAX + 1];
	char source_detail[32];
	struct counter_files files;
	struct job_place place;
	bool has_perf_page;

	/* Under lock. */
	struct paths paths;
	struct shard *shards;
	struct auger_context *tasks, *spare_tasks;
	uint32_t context_ids;
	unsigned kept_shards; /* ended threads that keep their rows (per_thread) */
	struct row **retired; /* [paths.max + 1]: sums of ended threads; NULL: none */
	struct key keys[KEYS_MAX];
	unsigned key_count;

	/* Atomic. */
	uint32_t epoch;       /* count of resets */
	uint64_t stray_ends;  /* ends without an open stage */
	uint64_t bad_names;   /* NULL */
	uint64_t too_deep;    /* begins */
	uint64_t other_calls; /* begins counted in the path "other" */
	uint64_t lost;        /* begins without memory, or in a signal handler */

	/* Of the last reset; under lock. */
	struct reading reset; /* without the costs of a thread */
	uint64_t start_ns;    /* CLOCK_REALTIME */

	struct written early; /* the report on SIGTERM; under the registry's lock */

	/* With locks of their own. */
	struct peaks source_peaks; /* peaks peaks of the source */
	int64_t source_live;       /* last value of the source; atomic */
	struct peaks rss_peaks;    /* with reset_rss_peak; KiB */
};

/* Without /proc/self/statm, RSS is unknown and only getrusage()'s peak is left. */
static inline bool profiler_has_rss(const struct auger_profiler *p)
{
	return (p->groups & GROUP_PROCESS) && p->files.statm >= 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * profiler: who owns what, and who may touch it.
 *
 * A profiler has one shard for each thread that uses it. The thread alone writes to its shard,
 * without a lock; whoever makes a report reads it meanwhile (POKE and PEEK). What threads share,
 * the paths and the lists, is under the profiler's lock and is touched when something is new.
 * Nothing is freed before the profiler is closed, so a reader never meets memory that is gone.
 *
 * A thread finds its shard by the slot of the profiler, and knows by the serial number whether
 * the slot is still that of the same profiler.
 */
#ifndef STAGE_PROFILER_H
#define STAGE_PROFILER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "auger/stage.h"
#include "stage/arena.h"
#include "stage/macros.h"
#include "stage/meter.h"
#include "stage/paths.h"
#include "stage/place.h"
#include "stage/rows.h"
#include "stage/write.h"
#include "wire/heap_count.h"

#define PROFILERS_MAX 256
#define CHILDREN_LEN 256 /* a power of two */
#define KEYS_MAX 32
#define KEPT_SHARDS_MAX 256
#define SOURCE_NAME_MAX 15

struct shard;

/* All that is read at a begin, an end, or for a report; groups that are not read are not set. */
struct boundary {
	int64_t at[COST_COUNT];                          /* running totals */
	uint64_t heap_moment, source_moment, rss_moment; /* of the peaks */
	int64_t rss_hwm;                                 /* KiB, the most the process ever had */
	bool has_source;                                 /* the source was known */
};

enum {
	FRAME_INHERITED = 1, /* over a fork(): not counted */
	FRAME_CUT = 2,       /* by a reset: what only its thread knows is not known */
};

/* An open stage. In a list of spare ones when it is not open. */
struct frame {
	struct frame *below;
	const struct shard *shard; /* that began it */
	void *address;             /* of the function that has its scope; NULL: no scope */
	auger_token token;
	uint32_t path;
	uint32_t name;
	uint32_t epoch;        /* of the profiler when the totals below were begun */
	uint32_t flags;        /* FRAME_... */
	uint32_t inner_groups; /* of inner that are set; the others are all zero */
	struct boundary begin;
	int64_t inner[COST_COUNT]; /* of the stages inside that have ended */
	int64_t rss_seen;          /* KiB: the most that it was known to have during the call */
};

/* A call inside of it ended. */
static inline void frame_add_inner(struct frame *f, const struct call *call)
{
	uint32_t fresh = call->groups & ~f->inner_groups;

	if (fresh) {
		costs_clear(fresh, f->inner);
		POKE(f->inner_groups, f->inner_groups | fresh);
	}
	costs_add(call->groups, f->inner, call->total);
}

/* Written by one thread at a time. change is odd meanwhile: a reader tries again. */
struct auger_context {
	struct auger_profiler *profiler;
	struct auger_context *next;  /* of the profiler's tasks; under its lock, never removed */
	struct auger_context *spare; /* the next that is not used; under its lock */
	struct frame *top;           /* innermost; NULL: nothing open */
	uint32_t change;
	uint32_t id;           /* of the profiler; part of tokens */
	uint32_t depth;        /* frames */
	uint32_t deep;         /* stages above that are too deep to be measured */
	uint32_t base;         /* path that stages with nothing open nest in */
	bool is_task;          /* not of a thread */
	uint64_t serial;       /* of the last token */
	uint64_t ended_serial; /* tokens up to this one were ended by a fork() */
};

struct child {
	uint64_t key; /* child_key(): parent and name; 0: empty */
	uint32_t path;
};

struct shard {
	struct auger_context context;
	struct auger_profiler *profiler;
	struct shard *next; /* of the profiler's, also the unused ones; never removed */
	struct child children[CHILDREN_LEN]; /* what paths_child() said */
	struct row **rows;                   /* [paths.max + 1]; NULL: not used */
	struct frame *spare;
	struct meter meter;
	struct heap_thread *heap; /* NULL: not counted */
	uint32_t epoch;           /* that rows are of */
	bool is_used;             /* has a thread; under lock */
	pid_t tid;
};

struct key {
	const char *name, *value; /* value NULL: taken away */
};

struct auger_profiler {
	unsigned slot;
	uint64_t serial;
	pthread_mutex_t lock;
	struct arena arena; /* under lock */

	/* Written before it is given out. */
	struct auger_opts opts; /* all decided; out: NULL or a copy */
	const char *folder;     /* that a relative out starts from; NULL: the current one */
	uint32_t groups;        /* that are read */
	struct meter_plan plan;
	bool resets_rss;               /* opts.reset_rss_peak, and it can be done here */
	const struct heap_count *heap; /* NULL: not counted */
	struct auger_source source;    /* read NULL: none */
	char source_name[SOURCE_NAME_MAX + 1];
	char source_detail[32];
	struct meter_files files;
	struct place place;
	bool has_perf_page;

	/* Under lock. */
	struct paths paths;
	struct shard *shards;
	struct auger_context *tasks, *spare_tasks;
	uint32_t context_ids;
	unsigned kept_shards; /* of threads that ended, for rows of each thread */
	struct row **retired; /* [paths.max + 1]: of threads that ended; NULL: none */
	struct key keys[KEYS_MAX];
	unsigned key_count;

	/* Atomic. */
	uint32_t epoch;       /* how often it was reset */
	uint64_t stray_ends;  /* ends of nothing that was open */
	uint64_t bad_names;   /* NULL */
	uint64_t too_deep;    /* begins */
	uint64_t other_calls; /* begins that went to the path "other" */
	uint64_t lost;        /* begins without memory, or in a signal handler */

	/* Of the last reset; under lock. */
	struct boundary reset; /* without what only a thread knows */
	uint64_t start_ns;     /* CLOCK_REALTIME */

	struct written early; /* the report on SIGTERM; under the registry's lock */

	/* With locks of their own. */
	struct peaks source_peaks; /* of the source */
	int64_t source_live;       /* at the last boundary; atomic */
	struct peaks rss_peaks;    /* with reset_rss_peak; KiB */
};

/* Without /proc, or a descriptor for it, there are only the peaks that getrusage() tells. */
static inline bool profiler_has_rss(const struct auger_profiler *p)
{
	return (p->groups & GROUP_PROCESS) && p->files.statm >= 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * collect: the heap files of one or more processes as one profile.
 *
 * Each sample has the labels pid and comm of its process. The peak of several processes is the sum
 * of the peaks of each, which need not be at the same time.
 */
#ifndef HEAP_COLLECT_H
#define HEAP_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "heap/image.h"
#include "model/profile.h"

/* The sample types of the profile, in their order. Those up to HEAP_INUSE_SPACE are pprof's. */
enum heap_type {
	HEAP_ALLOC_OBJECTS,
	HEAP_ALLOC_SPACE,
	HEAP_INUSE_OBJECTS,
	HEAP_INUSE_SPACE,
	HEAP_PEAK_OBJECTS,
	HEAP_PEAK_SPACE,
	HEAP_TEMPORARY_OBJECTS,
	HEAP_TEMPORARY_SPACE,
	HEAP_REALLOC_MOVES,
	HEAP_TYPES,
};

struct heap_collection {
	pid_t only_pid; /* the caller's to set: files of other processes are left out; 0: none is */
	struct profile *profile;    /* owned */
	int64_t totals[HEAP_TYPES]; /* of all samples */
	size_t process_count;       /* that were recorded; an exec makes another one */
	pid_t last_pid;             /* of the process that was added last, */
	uint64_t last_ticks;        /* and when it started */
	bool is_last_alive;
	size_t living_count;       /* of these, still running */
	uint64_t sample_bytes;     /* mean bytes from sample to sample; 0: all blocks */
	uint64_t peak_error_bytes; /* by which the peak may be off: several threads */
	uint64_t lost;             /* allocations that are in no sample */
	uint64_t unknown_frees; /* of blocks that are older than the recording, of attached ones */
	bool has_mappings;      /* of a process: what it mapped counts, too */
	uint64_t full_count;    /* processes that had no room for all stacks */
};

/* With the sample types. 0 or -ENOMEM; fini follows in any case. */
int heap_collection_init(struct heap_collection *c, struct err *e) MUST_CHECK;
void heap_collection_fini(struct heap_collection *c);

/* Is the process running that the file is of? */
bool heap_process_runs(const struct heap_header *h);

/* Of the same process, what it was before an exec comes first. */
void heap_collection_add(struct heap_collection *c, const struct heap_image *h);

/* Adds a heap file, or all that are in a folder, where such that cannot be read are warned of. */
int heap_collect_path(struct heap_collection *c, const char *path, struct err *e) MUST_CHECK;

/* Adds those in a folder whose processes have ended, and removes them, if there are many: a command
 * that makes thousands of processes does not fill its disk. */
int heap_collect_ended(struct heap_collection *c, const char *path, struct err *e) MUST_CHECK;

/* Adds that which is open for reading. name: for messages. */
int heap_collect_fd(struct heap_collection *c, int fd, const char *name, struct err *e) MUST_CHECK;

/* Adds that of a running process. -ENOENT: it has none. */
int heap_collect_pid(struct heap_collection *c, pid_t pid, struct err *e) MUST_CHECK;

#endif

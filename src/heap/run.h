/* SPDX-License-Identifier: MIT */
/*
 * run: a command whose processes keep their allocations in heap files (wire/heap.h), and the folder
 * that these are in.
 */
#ifndef HEAP_RUN_H
#define HEAP_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

struct heap_run_opts {
	char *const *argv;     /* ends with NULL */
	uint64_t sample_bytes; /* one allocation is recorded in so many bytes; 0: all are */
	bool is_exact;         /* the peak is exact with several threads, too */
	bool has_mappings;     /* what is mapped is recorded, too, and stacks of threads */
	bool has_python;       /* Python's objects are allocated by malloc */
	bool is_alone;         /* only the command itself is recorded, none of its children */
	bool owns_stdout;      /* the command writes to standard error instead */
	/* Called once a second with the folder; may be NULL. */
	void (*tick)(void *context, const char *folder);
	void *context;
};

struct heap_run {
	char folder[PATH_MAX]; /* of the heap files; "": there is none */
	pid_t pid;             /* of the command */
	int status;            /* of the command, 128+N for signal N */
	bool is_no_exec;       /* it cannot be executed */
	int64_t start_ns;      /* CLOCK_REALTIME */
	int64_t duration_ns;
	int64_t peak_rss_bytes; /* of the largest process; 0: smaller than we are */
};

/*
 * Runs the command to its end. The folder is made where files can be mapped: in $TMPDIR, else in
 * /tmp or /var/tmp, whichever is no memory. A program that nothing can be preloaded into is
 * ERR_USAGE (heap/host.h), one that cannot be executed is its errno, and is_no_exec.
 * heap_run_fini() follows in any case.
 */
int heap_run(const struct heap_run_opts *o, struct heap_run *ret, struct err *e) MUST_CHECK;

/* Removes the folder, but not when is_kept: processes of the command still run. */
void heap_run_fini(struct heap_run *r, bool is_kept);

#endif

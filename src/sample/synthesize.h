/* SPDX-License-Identifier: MIT */
/*
 * procmaps: processes that run already, told as perf would have told of them.
 *
 * Threads, their names, and executable mappings, as PERF_RECORD_COMM and MMAP2 records.
 * Source: proc(5), /proc/PID/task/TID/comm, /proc/PID/maps.
 */
#ifndef SAMPLE_SYNTHESIZE_H
#define SAMPLE_SYNTHESIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "perf/ingest.h"

/* Who is told, one record at a time. */
struct synthesize_sink {
	int (*put)(void *context, const struct record *r); /* 0 or -ENOMEM */
	void *context;
	bool wants_data; /* mappings of files that are not executable, too */
	bool wants_all;  /* and those of no file */
};

struct synthesize_sink synthesize_to_ingest(struct ingest *in);

/* One process. One that is gone, or may not be looked at, is as if it told nothing.
 * proc: "/proc". 0 or -ENOMEM. */
int synthesize_process(const struct synthesize_sink *to, const char *proc, uint32_t pid) MUST_CHECK;

/* All processes. */
int synthesize_all(const struct synthesize_sink *to, const char *proc, struct err *e) MUST_CHECK;

/* The kernel's code, by a file like /proc/kallsyms, as perf's own recordings have it. */
int synthesize_kernel(const struct synthesize_sink *to, const char *path) MUST_CHECK;

/* The lowest address of the kernel's code in a file like /proc/kallsyms; 0: it is not told. */
uint64_t synthesize_kernel_start(const char *path);

/* The functions of these names in such a file, to ret[0..cap); returns how many it tells. names:
 * ends with NULL. */
size_t synthesize_find_functions(const char *path, const char *const *names, size_t cap,
				 struct ingest_code *ret);

#endif

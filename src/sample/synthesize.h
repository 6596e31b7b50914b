/* SPDX-License-Identifier: MIT */
/*
 * synthesize: makes the records that the kernel would have written for processes that run already.
 *
 * PERF_RECORD_COMM for threads and their names, MMAP2 for executable mappings, as perf record does.
 * Source: proc(5), /proc/PID/task/TID/comm, /proc/PID/maps.
 */
#ifndef SAMPLE_SYNTHESIZE_H
#define SAMPLE_SYNTHESIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "perf/ingest.h"

/* The receiver, one record at a time. */
struct synthesize_sink {
	int (*put)(void *context, const struct record *r); /* 0 or -ENOMEM */
	bool (*is_over)(void *context); /* the rest is not wanted; asked often. NULL: all is */
	void *context;
	bool wants_data; /* data mappings of files, too */
	bool wants_all;  /* and anonymous mappings */
};

struct synthesize_sink synthesize_to_ingest(struct ingest *in);

/* The records of one process. An ended or unreadable process has none. proc: "/proc". 0 or -ENOMEM.
 */
int synthesize_process(const struct synthesize_sink *to, const char *proc, uint32_t pid) MUST_CHECK;

/* The records of all processes. */
int synthesize_all(const struct synthesize_sink *to, const char *proc, struct err *e) MUST_CHECK;

/* The kernel's code mapping, by a file like /proc/kallsyms, as perf.data files have it. */
int synthesize_kernel(const struct synthesize_sink *to, const char *path) MUST_CHECK;

/* The lowest address of the kernel's code in a file like /proc/kallsyms; 0: hidden. */
uint64_t synthesize_kernel_start(const char *path);

/* Finds the functions of these names (ends with NULL) in such a file; returns their count in
 * ret[0..cap). */
size_t synthesize_find_functions(const char *path, const char *const *names, size_t cap,
				 struct ingest_code *ret);

#endif

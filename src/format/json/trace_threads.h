/* SPDX-License-Identifier: MIT */
/* trace_threads: the threads of a trace by the texts of their numbers, with names; label sets. */
#ifndef FORMAT_JSON_TRACE_THREADS_H
#define FORMAT_JSON_TRACE_THREADS_H

#include "base/buf.h"
#include "base/json_read.h"
#include "base/macros.h"
#include "base/rows.h"
#include "format/text_cache.h"
#include "model/profile.h"

/* All zero is empty. */
struct trace_threads {
	struct rows rows;          /* struct trace_thread */
	struct text_cache indices; /* by pid and tid */
	struct text_cache names;   /* of processes: string ids, by pid */
	struct buf key;            /* that is being made */
	uint32_t last;             /* index of the thread that was found last */
};

struct trace_thread {
	struct json_text pid, tid; /* as written; borrowed from the input */
	uint32_t name;             /* string id, or 0 */
};

void trace_threads_fini(struct trace_threads *t);

/* Its index. UINT32_MAX: out of memory. */
uint32_t trace_threads_find(struct trace_threads *t, struct json_text pid, struct json_text tid);

/* name: string id. 0 or -ENOMEM. */
int trace_threads_set_name(struct trace_threads *t, struct json_text pid, struct json_text tid,
			   uint32_t name) MUST_CHECK;
int trace_threads_set_process(struct trace_threads *t, struct json_text pid,
			      uint32_t name) MUST_CHECK;

/* Label sets of p, [rows.count], to be freed. NULL: out of memory. */
uint32_t *trace_threads_labels(struct trace_threads *t, struct profile *p);

#endif

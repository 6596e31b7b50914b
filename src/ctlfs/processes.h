/* SPDX-License-Identifier: MIT */
/*
 * processes: the mapped files of sampled processes, including ended ones.
 *
 * Processes that end without a sample are removed. The text is bounded, for each user and in all;
 * further lines are dropped.
 */
#ifndef CTLFS_PROCESSES_H
#define CTLFS_PROCESSES_H

#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "sample/tracer.h"

/* All zero is empty. When memory runs out, mappings are left out. */
struct processes {
	struct map by_pid; /* index of list */
	struct rows list;  /* struct process */
	struct rows free;  /* uint32_t: indices to reuse */
	struct rows users; /* struct process_user: the text of each user's processes is bounded */
	size_t bytes;      /* of all text */
};

void processes_fini(struct processes *p);
void processes_clear(struct processes *p);

void processes_map(struct processes *p, const struct tracer_mapping *m);
void processes_fork(struct processes *p, uint32_t pid, uint32_t parent);
void processes_exec(struct processes *p, uint32_t pid);
void processes_exit(struct processes *p, uint32_t pid);
void processes_sample(struct processes *p, uint32_t pid);

/* Of each sampled process, "# pid N", and lines as /proc/PID/maps has them. */
void processes_put(const struct processes *p, struct buf *out);

#endif

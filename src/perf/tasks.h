/* SPDX-License-Identifier: MIT */
/*
 * tasks: processes and threads as the records describe them: parents, names, mappings.
 *
 * A thread that ends is kept for a short while, because the kernel may sample it after its exit
 * record; then its memory is reused. A new name replaces the old one. So the size follows the
 * number of live threads. Ids are those
 * of the pid namespace of the recording.
 */
#ifndef PERF_TASKS_H
#define PERF_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "perf/maps.h"
#include "perf/offcpu.h"
#include "unwind/stitch.h"

#define TASKS_COMM_BYTES 64 /* the kernel's longest, of its own threads, has 63 */

#define TASKS_NONE UINT32_MAX /* out of memory; no such task */

struct process {
	uint32_t pid;
	uint32_t threads;  /* that it has; 0: a free slot */
	struct maps *maps; /* its reference */
	uint32_t shown;    /* for the owner's use: 0 in a new one, and after an exec */
};

struct thread {
	uint32_t pid, tid;
	uint32_t process;            /* index */
	char comm[TASKS_COMM_BYTES]; /* name, NUL-terminated; a longer one is cut */
	uint32_t labels;             /* for the owner's use: 0 after each change of the above */
	uint32_t cpu;                /* for the owner's use */
	uint32_t serial;             /* separates the users of one slot */
	bool is_used, is_ended;
	bool is_seen;         /* for the owner's use */
	uint32_t root;        /* for the owner's use: 0 in a new one, and after an exec */
	struct stitch stitch; /* what is known of its stack; forgotten by exec */
	struct offcpu offcpu; /* for the owner's use */
};

struct tasks;

struct tasks *tasks_new(void) MUST_CHECK; /* NULL: out of memory */
void tasks_free(struct tasks *t);

/*
 * The index of a thread, valid until it ends; one that is unknown is made (with an
 * unnamed process of no mappings, then *ret_is_new_process is set). TASKS_NONE: out of
 * memory.
 */
uint32_t tasks_get(struct tasks *t, uint32_t pid, uint32_t tid, bool *ret_is_new_process);

/* The index of a known thread; TASKS_NONE. */
uint32_t tasks_find(const struct tasks *t, uint32_t tid);

/* Borrowed until the next call that can make a task. */
struct thread *tasks_thread(struct tasks *t, uint32_t index);
struct process *tasks_process(struct tasks *t, uint32_t index);

/* The records. 0 or -ENOMEM. */
int tasks_fork(struct tasks *t, uint32_t pid, uint32_t tid, uint32_t ppid,
	       uint32_t ptid) MUST_CHECK;
int tasks_name(struct tasks *t, uint32_t pid, uint32_t tid, const char *name,
	       size_t len) MUST_CHECK;
int tasks_exec(struct tasks *t, uint32_t pid, uint32_t tid) MUST_CHECK; /* drops its mappings */
int tasks_map(struct tasks *t, uint32_t pid, uint32_t tid, const struct vma *v) MUST_CHECK;
void tasks_exit(struct tasks *t, uint32_t tid);

size_t tasks_count(const struct tasks *t); /* threads that are kept */
size_t tasks_slots(const struct tasks *t); /* their indices are below; some are not used */

#endif

/* SPDX-License-Identifier: MIT */
/* ingest_internal: what the source files of ingest share. */
#ifndef PERF_INGEST_INTERNAL_H
#define PERF_INGEST_INTERNAL_H

#include "base/rows.h"
#include "perf/callchain.h"
#include "perf/ingest.h"
#include "perf/joins.h"
#include "perf/offcpu_profile.h"
#include "perf/offcpu_sums.h"
#include "perf/pending.h"
#include "perf/regions.h"
#include "perf/stack_trie.h"
#include "perf/tasks.h"
#include "perf/unwind_tables.h"

#define INGEST_MAX_CHAIN (RECORD_MAX_BYTES / 8) /* addresses that fit in a record */
#define INGEST_MAX_FRAMES (INGEST_MAX_CHAIN + USER_STACK_MAX)
#define INGEST_PENDING_BYTES ((size_t)64 << 20) /* of samples that wait; more do not */

/* Of a sample: four of its thread, its data and address, what of a lock, and those of all. */
#define INGEST_LABELS_MAX (8 + INGEST_LABELS)

struct ingest {
	struct ingest_opts opts;
	struct profile *profile;
	struct tasks *tasks;
	struct dsos *dsos;
	struct stack_trie *trie;
	struct unwind_tables *tables;
	struct user_stacks *user;
	struct joins joins;
	struct pending pending;
	struct offcpu_profile waits;
	struct regions *regions;  /* NULL: addresses are of no interest */
	struct map lock_labels;   /* label set and enum interp_lock: label set */
	struct map data_labels;   /* labels of a thread and name of a region: label set */
	struct offcpu_sums sums;  /* of opts.waits.is_summed */
	uint64_t waits_begin_ns;  /* 0: unknown */
	bool keeps_known;         /* ingest_keep_known() */
	bool has_foreign_numbers; /* the kernel's raw data numbers threads otherwise */
	struct ingest_counts counts;
	struct {
		size_t type; /* index of the sample type */
		uint64_t period;
	} events[PROFILE_MAX_TYPES];
	size_t event_count;
	struct {
		uint32_t pid, tid, comm, cpu, data, address, lock; /* string ids of label keys */
	} keys;
	uint32_t main_pid; /* process of the program that was executed first, 0: none yet */
	bool has_main;     /* that program's file is known */
	struct user_stack_join join; /* of frames, the kernel's part is in copied */
	struct stack_frame *frames;  /* [INGEST_MAX_FRAMES]: of a sample; owned, by pages_new() */
	struct rows kinds, items, merged;        /* of ingest_interp_merge() */
	uint32_t last_node;                      /* ingest_take_node() */
	uint64_t completed, completed_truncated; /* stacks with an interpreter's outer frames; */
};

/* The index of a thread, after what is known of a process that no record described; TASKS_NONE:
 * out of memory. */
uint32_t ingest_thread(struct ingest *in, uint32_t pid, uint32_t tid);

/* Its label set, on this CPU. */
uint32_t ingest_labels(struct ingest *in, struct thread *t, uint32_t cpu);
/* labels, and the region of the sample's data address (and the address, if that is wanted). 0 when
 * memory ran out, which the profile remembers. */
uint32_t ingest_data_labels(struct ingest *in, const struct record *r, uint32_t labels);

/* The frames of a sample to in->frames. The user's part of the chain is only used when the
 * sample brings no stack to walk. false: has to wait. */
bool ingest_collect(struct ingest *in, const struct record *r, struct user_stack_owner *owner,
		    size_t *ret_count) MUST_CHECK;

/* The interpreter's frames of a sample in place of its own, in in->frames: [0..*count). The certain
 * ones only: joined ones are left out. Returns the node that they extend: 0, or what is known of
 * the outer frames of a stack that is cut. root: of the thread; NULL: not known. */
uint32_t ingest_interp_merge(struct ingest *in, const struct user_stack_owner *owner,
			     const struct interp_stack *s, uint32_t *root, size_t *count);

/* labels, and what the thread has of the interpreter's lock, when that is wanted. 0 when memory ran
 * out, which the profile remembers. */
uint32_t ingest_interp_labels(struct ingest *in, uint32_t labels, enum interp_lock lock);

/* Shows the mappings of a sample's process to the interpreter's source, when it may want them. */
void ingest_interp_show(struct ingest *in, uint32_t process);
void ingest_interp_map(struct ingest *in, uint32_t pid, const struct vma *v);

/* Samples that waited, as long as the first one does not have to any more. is_end: all. */
int ingest_retry(struct ingest *in, bool is_end) MUST_CHECK;

/* Waiting (ingest_waits.c). */

/* t is on a CPU: a sample of its time. */
void ingest_see_running(struct ingest *in, struct thread *t, const struct record *r);
/* A sample of the kinds behind INGEST_LEAVE; switches; a thread that was made, one that ends. */
int ingest_wait_sample(struct ingest *in, const struct record *r, size_t kind) MUST_CHECK;
int ingest_switch(struct ingest *in, const struct record *r) MUST_CHECK;
void ingest_wait_of_new(struct ingest *in, const struct record *r);
void ingest_wait_of_ended(struct ingest *in, const struct record *r);
/* A wait's stack, that had to wait itself, now in in->frames: [0..count). */
int ingest_commit_wait(struct ingest *in, const struct pending_sample *s, size_t count,
		       const struct user_stack_owner *owner) MUST_CHECK;

#endif

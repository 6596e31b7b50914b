/* SPDX-License-Identifier: MIT */
/*
 * sampler: perf events on the threads or CPUs that are asked for, and their records in the
 * order of time.
 *
 * Two rings a CPU: one that all sampling events of the CPU write to, and a side band of its
 * own for what tells of processes and mappings, so that samples that are lost never lose a
 * mapping. Switches between threads, when they are asked for, have a third one, and are
 * passed over while samples wait for too long: they never make samples be lost. The rings belong to
 * events of our own (anchors), and outlive every thread.
 *
 * Records stay in their rings until they are older than SAMPLER_LAG_NS, because another CPU
 * may still be writing an earlier one.
 */
#ifndef SAMPLE_SAMPLER_H
#define SAMPLE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "perf/ingest.h"
#include "sample/attr.h"
#include "sample/offcpu_perf.h"
#include "sample/rawfile.h"
#include "target/cpulist.h"

#define SAMPLER_LAG_NS INT64_C(2000000) /* far more than a CPU needs to write one record */

struct sampler_opts {
	const struct event *events; /* [event_count]; borrowed */
	size_t event_count;
	struct attr_opts attr;
	const struct cpulist *cpus; /* borrowed */
	size_t ring_bytes;          /* of each sampling ring; a power of two */
	size_t side_bytes;          /* of each side band; a power of two */

	const struct offcpu_perf
		*switches;   /* NULL: are not told; borrowed until sampler_new ends */
	size_t switch_bytes; /* of each ring of theirs; a power of two */
	/* Sees each record of processes and samples first; false: it is not handed on. NULL: all
	 * are. side: it tells of processes. */
	bool (*tap)(void *context, const struct record *r, bool is_side);
	void *tap_context;
	struct rawfile *raw; /* gets all records, too; NULL: none; borrowed */
};

struct sampler;

/*
 * Finds what can be had of the events (*ret_no_kernel: only user code), and makes the rings,
 * smaller ones when the memory that may be locked does not suffice, and then smaller copies
 * of stacks (said by log_msg).
 * -ENOENT: an event that this machine has not; else the reason and the remedy.
 */
int sampler_new(const struct sampler_opts *o, struct sampler **ret, bool *ret_no_kernel,
		struct err *e) MUST_CHECK;
void sampler_free(struct sampler *s);

/* Attaches to a thread, or to all of each CPU (-1). -ESRCH: it is gone. */
int sampler_attach(struct sampler *s, pid_t tid, struct err *e) MUST_CHECK;

/* The side band first, so that all that changes from then on is told. */
void sampler_enable_side(struct sampler *s);
void sampler_enable(struct sampler *s);

/*
 * What is sampled at a rate is sampled of all that runs on each CPU from now on, in place of
 * the threads it was attached to; and back. -EACCES: that takes privileges; then nothing has
 * changed.
 */
int sampler_use_per_cpu(struct sampler *s, struct err *e) MUST_CHECK;
void sampler_use_per_thread(struct sampler *s);

void sampler_disable(struct sampler *s);

/* The sampling events of one CPU, by its index in opts.cpus, or of all at another period. */
void sampler_enable_cpu(struct sampler *s, size_t cpu, bool is_on);
int sampler_set_period(struct sampler *s, uint64_t period, struct err *e) MUST_CHECK;

/* Descriptors that become readable when a ring fills up: [sampler_fd_count]. */
size_t sampler_fd_count(const struct sampler *s);
int sampler_fd(const struct sampler *s, size_t i);

/* Hands on all records that are old enough; with is_end all that there are, and counts what
 * was lost without a record. -ENOMEM or the failure of the profile. */
int sampler_drain(struct sampler *s, struct ingest *in, bool is_end) MUST_CHECK;

/* What the events of the raw file were, and its end. */
int sampler_finish_raw(struct sampler *s, char *const *argv, struct err *e) MUST_CHECK;
size_t sampler_id_bytes(const struct sampler *s); /* of the id that ends its records */

/* Did processes come, go or change their code in what was handed on last? */
bool sampler_saw_churn(const struct sampler *s);

uint32_t sampler_stack_bytes(const struct sampler *s); /* copied with each sample */

#endif

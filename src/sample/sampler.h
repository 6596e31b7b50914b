/* SPDX-License-Identifier: MIT */
/*
 * sampler: opens perf events on threads or CPUs and delivers their records in time order.
 *
 * Two rings a CPU: one for all sampling events, and one for side-band events (processes, mappings),
 * so that lost samples never lose a mapping. Context switches have a third ring, whose records are
 * dropped while the sample ring is nearly full: they never cause lost samples. Dummy events own the
 * rings, which outlive every thread.
 *
 * Records stay in their rings until they are older than SAMPLER_LAG_NS, because another CPU may
 * still write an earlier one.
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
#include "sample/python/python.h"
#include "sample/rawfile.h"
#include "target/cpulist.h"

#define SAMPLER_LAG_NS INT64_C(2000000) /* far more than a CPU needs to write one record */

struct sampler_opts {
	const struct event *events; /* [event_count]; borrowed */
	size_t event_count;
	struct attr_opts attr;
	const struct cpulist *cpus; /* borrowed */
	bool has_duplicates; /* of threads created while it attaches; needs attr.has_identifier */
	size_t ring_bytes;   /* of each sampling ring; a power of two */
	size_t side_bytes;   /* of each side-band ring; a power of two */
	uint64_t rings_max;  /* bytes of all sampling rings, which shrink to it; 0: no limit */

	const struct offcpu_perf
		*switches; /* context switches; NULL: none; borrowed until sampler_new() returns */
	size_t switch_bytes; /* of each ring of switches; a power of two */
	/* Sees each record before ingest; false: the record is dropped. NULL: none is. is_side: a
	 * side-band record. */
	bool (*tap)(void *context, const struct record *r, bool is_side);
	void *tap_context;
	struct python *python; /* gets each sample's Python frames; NULL: none; borrowed */
	struct rawfile *raw;   /* also gets all records; NULL: none; borrowed */
};

struct sampler;

/*
 * Probes the events (*ret_no_kernel: only user code can be sampled) and maps the rings. When the
 * limit of locked memory is too low, rings and then stack copies are smaller (log_msg reports it).
 * -ENOENT: this machine lacks an event; else the reason and the remedy.
 */
int sampler_new(const struct sampler_opts *o, struct sampler **ret, bool *ret_no_kernel,
		struct err *e) MUST_CHECK;
void sampler_free(struct sampler *s);

/* Attaches to a thread, or to all threads of each CPU (-1). -ESRCH: the thread has ended. */
int sampler_attach(struct sampler *s, pid_t tid, struct err *e) MUST_CHECK;

/* Enable the side band first, so that all later changes are recorded. */
void sampler_enable_side(struct sampler *s);
void sampler_enable(struct sampler *s);

/*
 * Replaces the inherited per-thread events that sample at a rate by events of whole CPUs; and back.
 * -EACCES: per-CPU events need privileges; then nothing has changed.
 */
int sampler_use_per_cpu(struct sampler *s, struct err *e) MUST_CHECK;
void sampler_use_per_thread(struct sampler *s);

void sampler_disable(struct sampler *s);

/* Switches the sampling events of one CPU, by its index in opts.cpus; sets the period of all. */
void sampler_enable_cpu(struct sampler *s, size_t cpu, bool is_on);
int sampler_set_period(struct sampler *s, uint64_t period, struct err *e) MUST_CHECK;

/* Descriptors that become readable when a ring fills up: [sampler_fd_count]. */
size_t sampler_fd_count(const struct sampler *s);
int sampler_fd(const struct sampler *s, size_t i);

/* Delivers all records before *ret_end_ns, which are old enough; with is_end all records, and adds
 * losses without a record. -ENOMEM or the failure of the profile. */
int sampler_drain(struct sampler *s, struct ingest *in, bool is_end,
		  uint64_t *ret_end_ns) MUST_CHECK;

/* Completes the raw file with the list of events. */
int sampler_finish_raw(struct sampler *s, char *const *argv, struct err *e) MUST_CHECK;
size_t sampler_id_bytes(const struct sampler *s); /* of the id at the end of its records */

/* Did the last drain deliver side-band records: forks, exits, execs or mappings? */
bool sampler_saw_churn(const struct sampler *s);

uint32_t sampler_stack_bytes(const struct sampler *s); /* copied with each sample */

#endif

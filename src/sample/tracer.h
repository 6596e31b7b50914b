/* SPDX-License-Identifier: MIT */
/*
 * tracer: samples the whole machine, with a timer that can be switched for each core.
 *
 * Every sample goes to a listener, which decides whether the profile gets it, too. Without a timer
 * that is on, no event fires and the tracer makes no system calls. The events end with the tracer
 * or its process.
 */
#ifndef SAMPLE_TRACER_H
#define SAMPLE_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"
#include "target/cpulist.h"

#define TRACER_MAX_FRAMES 255

struct tracer_sample {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint32_t core, pid;
	const uint64_t *pcs; /* [count]: the interrupted address, then return addresses */
	size_t count;        /* at most TRACER_MAX_FRAMES */
	size_t kernel_count; /* of the first ones, in the kernel */
};

/* A file that a process maps executable. */
struct tracer_mapping {
	uint32_t pid;
	uint64_t start, end, offset;
	const char *path; /* [0..path_len); borrowed */
	size_t path_len;
};

struct tracer_listener {
	void *context;
	bool (*sampled)(void *context, const struct tracer_sample *s); /* true: for the profile */
	void (*lost)(void *context, uint32_t core, uint64_t count);
	void (*throttled)(void *context, uint32_t core); /* the kernel paused the timer */
	void (*mapped)(void *context, const struct tracer_mapping *m);
	void (*forked)(void *context, uint32_t pid, uint32_t parent);
	void (*execed)(void *context, uint32_t pid); /* its mappings are removed */
	void (*exited)(void *context, uint32_t pid);
};

enum tracer_event { TRACER_CLOCK, TRACER_CYCLES };

struct tracer;

/* cpus: borrowed. -EACCES, -EPERM: e names the missing capability; -ENOENT: the machine lacks the
 * counter. */
int tracer_new(enum tracer_event event, const struct cpulist *cpus, uint64_t period_ns,
	       const struct tracer_listener *listener, struct tracer **ret,
	       struct err *e) MUST_CHECK;
void tracer_free(struct tracer *t);

/* core: index in cpus. */
int tracer_set_timer(struct tracer *t, size_t core, bool is_on, struct err *e) MUST_CHECK;
int tracer_set_period(struct tracer *t, uint64_t period_ns, struct err *e) MUST_CHECK;
bool tracer_is_armed(const struct tracer *t); /* a timer is on */

/* Delivers records that are old enough. 0 or -ENOMEM. */
int tracer_drain(struct tracer *t) MUST_CHECK;
/* Delivers all records from before the call; takes some milliseconds. */
int tracer_drain_all(struct tracer *t) MUST_CHECK;

/* Descriptors that become readable when there is much to drain. */
size_t tracer_fd_count(const struct tracer *t);
int tracer_fd(const struct tracer *t, size_t i);

/* All samples since tracer_clear(), not symbolized; borrowed until the next call. files: the file
 * to open for each mapping; NULL: unknown. */
const struct profile *tracer_profile(struct tracer *t, const char *const **ret_files);
bool tracer_is_full(const struct tracer *t);  /* the profile has reached its limit */
size_t tracer_stacks(const struct tracer *t); /* distinct ones in the profile */
int tracer_clear(struct tracer *t, struct err *e) MUST_CHECK;

#endif

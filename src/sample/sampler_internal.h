/* SPDX-License-Identifier: MIT */
/* sampler_internal: what the parts of the sampler share. */
#ifndef SAMPLE_SAMPLER_INTERNAL_H
#define SAMPLE_SAMPLER_INTERNAL_H

#include "base/map.h"
#include "perf/order.h"
#include "sample/ring.h"
#include "sample/sampler.h"

/* A ring and the event of ours that holds it. */
struct sampler_ring {
	struct ring ring;
	int fd;
	uint64_t released; /* ring.tail when it was given back last */
};

/* The rings of a CPU. Those that tell of processes come first at equal times. */
enum ring_kind { RING_SIDE_BAND, RING_SAMPLES, RING_SWITCHES, RING_KINDS };

struct sampler {
	struct sampler_opts opts;
	struct perf_event_attr *attrs; /* [event_count]; owned */
	struct perf_event_attr side;
	struct record_shape shape, side_shape;
	struct offcpu_perf switches;
	struct record_shape switch_shapes[ATTR_SWITCHES]; /* of switches.attrs */
	struct sampler_ring *rings; /* [lanes * cpus]: by lane, then CPU; owned */
	size_t cpu_count, ring_count;
	struct order order;
	struct map by_id; /* event number of PERF_SAMPLE_IDENTIFIER */
	int *fds;         /* [fd_count] attached events: sampling ones */
	int *side_fds;    /* [side_count] */
	int *switch_fds;  /* [switch_count] */
	int *per_cpu_fds; /* [per_cpu_count] sampling events of CPUs: sampler_use_per_cpu() */
	size_t per_cpu_count, per_cpu_cap;
	size_t fd_count, fd_cap, side_count, side_cap, switch_count, switch_cap;
	uint64_t lost;  /* samples, told by records */
	bool saw_churn; /* sampler_saw_churn() */
	bool is_behind; /* samples wait for too long: switches are passed over */
};

int sampler_keep_fd(int **fds, size_t *count, size_t *cap, int fd) MUST_CHECK;

/* An event of a thread (-1: of all) on one CPU, that writes to the ring of source. */
int sampler_open_event(struct perf_event_attr *attr, const char *name, pid_t tid, uint32_t cpu,
		       const struct sampler_ring *source, struct err *e) MUST_CHECK;

/* Samples of an event that is not alone in its ring are told apart by its id. */
int sampler_remember_id(struct sampler *s, int fd, size_t number, const char *name,
			struct err *e) MUST_CHECK;

#endif

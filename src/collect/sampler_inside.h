/* SPDX-License-Identifier: MIT */
/* sampler_inside: what the parts of the sampler share. */
#ifndef COLLECT_SAMPLER_INSIDE_H
#define COLLECT_SAMPLER_INSIDE_H

#include "base/map.h"
#include "collect/ring.h"
#include "collect/sampler.h"
#include "perf/order.h"

/* A ring and the event of ours that holds it. */
struct source {
	struct ring ring;
	int fd;
	uint64_t released; /* ring.tail when it was given back last */
};

/* The rings of a CPU. Those that tell of processes come first at equal times. */
enum lane { LANE_SIDE, LANE_SAMPLES, LANE_SWITCHES, LANES };

struct sampler {
	struct sampler_opts opts;
	struct perf_event_attr *attrs; /* [event_count]; owned */
	struct perf_event_attr side;
	struct record_shape shape, side_shape;
	struct switches switches;
	struct record_shape switch_shapes[ATTR_SWITCHES]; /* of switches.attrs */
	struct source *sources; /* [lanes * cpus]: by lane, then CPU; owned */
	size_t cpu_count, source_count;
	struct order order;
	struct map by_id; /* event number of PERF_SAMPLE_IDENTIFIER */
	int *fds;         /* [fd_count] attached events: sampling ones */
	int *side_fds;    /* [side_count] */
	int *switch_fds;  /* [switch_count] */
	size_t fd_count, fd_cap, side_count, side_cap, switch_count, switch_cap;
	uint64_t lost;  /* samples, told by records */
	bool is_lively; /* sampler_is_lively() */
	bool is_behind; /* samples wait for too long: switches are passed over */
};

#endif

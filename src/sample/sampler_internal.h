/* SPDX-License-Identifier: MIT */
/* sampler_internal: the state that the sampler's files share. */
#ifndef SAMPLE_SAMPLER_INTERNAL_H
#define SAMPLE_SAMPLER_INTERNAL_H

#include "base/map.h"
#include "perf/order.h"
#include "sample/duplicates.h"
#include "sample/ring.h"
#include "sample/sampler.h"

/* A ring and the dummy event that owns it. */
struct sampler_ring {
	struct ring ring;
	int fd;
	uint64_t released; /* ring.tail at the last release */
	uint64_t scanned;  /* up to here, samples' Python frames were read */
};

/* The rings of a CPU. Side-band records come first at equal times. */
enum ring_kind { RING_SIDE_BAND, RING_SAMPLES, RING_SWITCHES, RING_KINDS };

struct sampler {
	struct sampler_opts opts;
	struct perf_event_attr *attrs; /* [event_count]; owned */
	struct perf_event_attr side;
	struct record_shape shape, side_shape;
	struct offcpu_perf switches;
	struct record_shape switch_shapes[ATTR_SWITCHES]; /* of switches.attrs */
	struct sampler_ring *rings; /* [ring kinds * cpus]: by kind, then CPU; owned */
	size_t cpu_count, ring_count;
	struct order order;
	struct map by_id; /* event number of PERF_SAMPLE_IDENTIFIER */
	struct duplicates duplicates;
	int *fds;         /* [fd_count] attached sampling events */
	int *side_fds;    /* [side_count] */
	int *switch_fds;  /* [switch_count] */
	int *per_cpu_fds; /* [per_cpu_count] see sampler_use_per_cpu() */
	size_t per_cpu_count, per_cpu_cap;
	size_t fd_count, fd_cap, side_count, side_cap, switch_count, switch_cap;
	uint64_t lost;  /* samples, by PERF_RECORD_LOST */
	bool saw_churn; /* sampler_saw_churn() */
	bool is_behind; /* a sample ring is nearly full: switches are dropped */
};

int sampler_keep_fd(int **fds, size_t *count, size_t *cap, int fd) MUST_CHECK;

/* Opens an event of a thread (-1: of all) on one CPU, which writes to the ring of source. */
int sampler_open_event(struct perf_event_attr *attr, const char *name, pid_t tid, uint32_t cpu,
		       const struct sampler_ring *source, struct err *e) MUST_CHECK;

/* A sampling event walks Python frames; tracepoints, whose programs are others, do not. */
void sampler_walk_python(const struct sampler *s, int fd);

/* Reads what is known of the Python frames of the samples that are in the rings. -ENOMEM. */
int sampler_poll_python(struct sampler *s) MUST_CHECK;

/* A record of the ring with this index; false: it is bad. */
bool sampler_decode(const struct sampler *s, uint32_t source, const unsigned char *bytes,
		    size_t len, struct record *ret, size_t *ret_event);

/* Stores the id of an event that shares its ring with others. */
int sampler_remember_id(struct sampler *s, int fd, size_t number, const char *name,
			struct err *e) MUST_CHECK;

#endif

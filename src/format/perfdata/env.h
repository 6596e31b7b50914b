/* SPDX-License-Identifier: MIT */
/*
 * perfdata_env: the events, machine, command line and build ids of a perf.data file.
 *
 * They come from the header and the feature sections of a file, or from records of a pipe. Broken
 * parts are skipped, because the samples are worth more than the rest.
 *
 * Source: linux/perf_event.h (struct perf_event_attr),
 * tools/perf/Documentation/perf.data-file-format.txt.
 */
#ifndef FORMAT_PERFDATA_ENV_H
#define FORMAT_PERFDATA_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "perf/record.h"

/* Bits of adds_features, and feat_id of PERF_RECORD_HEADER_FEATURE. */
enum perfdata_feature {
	PERFDATA_TRACING_DATA = 1,
	PERFDATA_BUILD_ID = 2,
	PERFDATA_HOSTNAME = 3,
	PERFDATA_OSRELEASE = 4,
	PERFDATA_VERSION = 5,
	PERFDATA_ARCH = 6,
	PERFDATA_NRCPUS = 7,
	PERFDATA_CMDLINE = 11,
	PERFDATA_EVENT_DESC = 12,
	PERFDATA_SAMPLE_TIME = 21,
	PERFDATA_COMPRESSED = 27,
	PERFDATA_CLOCK_DATA = 29,
	PERFDATA_FEATURES = 256, /* bits there are */
};

struct perfdata_event {
	struct record_shape shape;
	uint32_t type; /* PERF_TYPE_ */
	uint64_t config;
	uint64_t rate; /* samples a second, or events a sample */
	bool is_freq;  /* rate is the former */
	bool is_lbr;   /* the user's call chain is in the branch stack */
	uint32_t name; /* string id in texts, 0: unknown */
};

struct perfdata_build_id {
	unsigned char bytes[RECORD_BUILD_ID_MAX];
	size_t len;
};

struct perfdata_env {
	struct strtab *texts;  /* names of events, paths of build ids; 0 is "" */
	struct rows events;    /* struct perfdata_event */
	struct map by_id;      /* sample id to event */
	struct rows build_ids; /* struct perfdata_build_id */
	struct map by_path;    /* text to build id */
	struct perfdata_build_id kernel;
	struct buf host, release, version, arch, command; /* texts; empty: unknown */
	uint32_t cpus;                                    /* online; 0: unknown */
	uint64_t first_ns, last_ns; /* of the recording's clock; equal: unknown */
	int64_t wall_ns, clock_ns;  /* the same moment of both clocks; wall_ns 0: unknown */
};

int perfdata_env_init(struct perfdata_env *env) MUST_CHECK; /* 0 or -ENOMEM */
void perfdata_env_fini(struct perfdata_env *env);

/* An attr (all of the cursor) is the next event. 0 or -ENOMEM. */
int perfdata_env_add_event(struct perfdata_env *env, struct cursor attr) MUST_CHECK;
/* Samples with these ids (all of the cursor, u64 each) are of the event. */
int perfdata_env_add_ids(struct perfdata_env *env, struct cursor ids, uint32_t event) MUST_CHECK;
int perfdata_env_set_name(struct perfdata_env *env, uint32_t event, const char *name,
			  size_t len) MUST_CHECK;
/* The body of a feature. Unknown ones are ignored. */
int perfdata_env_add_feature(struct perfdata_env *env, unsigned feature,
			     struct cursor body) MUST_CHECK;
/* misc, and the body behind the header, of a build id. */
int perfdata_env_add_build_id(struct perfdata_env *env, uint16_t misc,
			      struct cursor body) MUST_CHECK;

/* It carries records of processes, and has no samples. */
bool perfdata_event_is_dummy(const struct perfdata_event *event);

size_t perfdata_env_event_count(const struct perfdata_env *env);
const struct perfdata_event *perfdata_env_event(const struct perfdata_env *env, uint32_t i);
/* The name that perf gave the event, or one made of type and config; appended to out. */
void perfdata_env_put_name(const struct perfdata_env *env, uint32_t event, struct buf *out);
/* NULL: none is known. */
const struct perfdata_build_id *perfdata_env_build_id(const struct perfdata_env *env,
						      const char *path, size_t len);
/* The event of a sample id, or MAP_NONE. */
uint32_t perfdata_env_event_of(const struct perfdata_env *env, uint64_t id);

#endif

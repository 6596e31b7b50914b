/* SPDX-License-Identifier: MIT */
/*
 * perfdata_sample: the parts of a sample that auger's own recordings lack: LBR call chains and the
 * counters of a group.
 *
 * LBR (perf record --call-graph lbr): the processor records the active calls as branches, latest
 * first. Groups (-e '{a,b}:S'): only the first event is sampled, and each sample holds the counts
 * of all events of the group.
 *
 * Source: perf_event_open(2), PERF_SAMPLE_BRANCH_CALL_STACK, PERF_SAMPLE_READ.
 */
#ifndef FORMAT_PERFDATA_SAMPLE_H
#define FORMAT_PERFDATA_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/rows.h"
#include "perf/record.h"

/* A chain whose user's part is LBR's. All zero is valid. */
struct perfdata_chain {
	uint64_t words[RECORD_MAX_BYTES / 8 + 2];
};

/* Puts such a chain into s, borrowed from c, if s has branches. */
void perfdata_chain_from_lbr(struct perfdata_chain *c, struct record_sample *s, uint16_t misc);

/* What the counters of groups showed last. All zero is valid. */
struct perfdata_counters {
	struct map rows;    /* sample id to row */
	struct rows values; /* uint64_t */
};

void perfdata_counters_fini(struct perfdata_counters *c);

/* Does the sample hold a group of several counters? Their number, else 0. */
size_t perfdata_counters_in(const struct record_sample *s, const struct record_shape *shape);

/* The id of counter i of the sample, and what it counted since it was seen last. 0 or -ENOMEM. */
int perfdata_counters_take(struct perfdata_counters *c, const struct record_sample *s,
			   const struct record_shape *shape, size_t i, uint64_t *ret_id,
			   uint64_t *ret_count) MUST_CHECK;

#endif

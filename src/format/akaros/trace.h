/* SPDX-License-Identifier: MIT */
/* akaros_trace: iterates over the samples of a trace. Source: as for akaros.h. */
#ifndef FORMAT_AKAROS_TRACE_H
#define FORMAT_AKAROS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AKAROS_KERNEL "[kernel]"
#define AKAROS_KERNEL_START (UINT64_C(1) << 63)
#define AKAROS_MAX_FRAMES 255
#define AKAROS_NO_CORE UINT32_MAX
#define AKAROS_NO_PID UINT32_MAX
#define AKAROS_PERIOD_NS INT64_C(1000000) /* the kernel's own, for traces without one */

struct akaros_sample {
	uint64_t ns;              /* since the machine's start; 0: unknown */
	uint32_t core;            /* or AKAROS_NO_CORE */
	uint32_t pid;             /* or AKAROS_NO_PID */
	size_t count;             /* of pcs */
	const unsigned char *pcs; /* [8 * count] little-endian, the interrupted one first */
};

/* A trace of samples and where its reader stands. All zero but data and len: its start. */
struct akaros_trace {
	const unsigned char *data; /* [0..len); borrowed */
	size_t len, at;
	uint64_t skipped;  /* bytes that are of no sample */
	uint64_t holes;    /* places where some were skipped */
	size_t first_hole; /* the first of them, byte */
	bool is_cut;       /* the last sample ends behind the data */
	uint64_t unknown;  /* samples of another version than 1 */
};

/* The next whole sample; false: there are no more. */
bool akaros_next(struct akaros_trace *t, struct akaros_sample *ret);

#endif

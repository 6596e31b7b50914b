/* SPDX-License-Identifier: MIT */
/*
 * legacy_values: headers of pprof's legacy profiles as text, and the numbers of a stack's line.
 */
#ifndef FORMAT_STACKTEXT_LEGACY_VALUES_H
#define FORMAT_STACKTEXT_LEGACY_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/str.h"

#define LEGACY_MAX_VALUES 4

enum legacy_kind {
	LEGACY_HEAP,
	LEGACY_COUNT,
	LEGACY_CONTENTION,
	LEGACY_THREADS,
	LEGACY_JAVA_HEAP,
};

struct legacy_header {
	enum legacy_kind kind;
	bool has_alloc;  /* heap: the values of all allocations differ from those in use */
	bool is_sampled; /* heap: values are scaled from the sampled allocations to all */
	bool is_java;    /* "format = java" */
	int64_t period;  /* heap: mean bytes between two samples; contention: events of a sample */
	int64_t hz;      /* contention: cycles a second of the delays; 0: nanoseconds */
	struct str name; /* count: "goroutine" */
	struct str unit; /* Java: of the second value; empty: none was named */
	int64_t duration_ns;  /* 0: unknown */
	int64_t lost_samples; /* that the program discarded */
};

/* The first line. False: it is none. */
bool legacy_header_parse(struct str line, struct legacy_header *ret);

/* "cycles/second = 2400000000" and the like. False: it is no attribute. */
bool legacy_header_attribute(struct legacy_header *h, struct str line);

/* How many values a stack has. */
size_t legacy_value_count(const struct legacy_header *h);

/* The values of a line in the order of the sample types, and the bytes of one allocation or 0; line
 * moves behind them, to the addresses. False: it is no line of a stack. */
bool legacy_values_parse(const struct legacy_header *h, struct str *line,
			 int64_t ret[LEGACY_MAX_VALUES], int64_t *ret_block);

/* count objects of bytes in all, of a sampling with this mean distance in bytes, become the
 * estimate of all: divided by the probability 1 - exp(-bytes / count / rate). */
void legacy_unsample(int64_t rate, int64_t *count, int64_t *bytes);

#endif

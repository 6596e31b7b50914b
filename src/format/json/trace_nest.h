/* SPDX-License-Identifier: MIT */
/*
 * trace_nest: makes stacks of events that begin and end: what is open at a time is the stack.
 *
 * Each event counts one, and each stack the time during which it is all that is open. An event that
 * outlasts the one it began in is cut there; that, ends without a beginning and beginnings without
 * an end are counted. Sums stay the time in which something was open.
 */
#ifndef FORMAT_JSON_TRACE_NEST_H
#define FORMAT_JSON_TRACE_NEST_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/rows.h"
#include "model/profile.h"

enum trace_kind { TRACE_BEGIN, TRACE_END, TRACE_COMPLETE };

struct trace_event {
	int64_t at_ns;
	int64_t length_ns; /* of a complete one */
	uint32_t thread;   /* index */
	uint32_t location; /* 0: an end without a name */
	uint32_t index;    /* of the events in the file */
	enum trace_kind kind;
};

struct trace_nest {
	struct profile *p;
	size_t count_type, time_type; /* sample types of p */
	const uint32_t *labels;       /* label sets by thread; borrowed */
	size_t cut, unopened, unclosed;

	/* The rest is for trace_nest.c. */
	struct rows stack; /* struct open_event */
	int64_t last_ns;   /* up to then, time is counted */
	uint32_t thread;
};

void trace_nest_fini(struct trace_nest *n);

/* Sorts the events (struct trace_event) and adds all stacks to p. -EINVAL: a stack is too deep. */
int trace_nest_add(struct trace_nest *n, struct rows *events, struct err *e) MUST_CHECK;

#endif

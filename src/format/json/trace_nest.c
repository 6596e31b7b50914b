/* SPDX-License-Identifier: MIT */
#include "format/json/trace_nest.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "format/format.h"

#define NO_END INT64_MAX
#define ROUNDING_NS 1000 /* writers round times; less is no fault of the program */
#define MAX_LOOK 1024    /* frames in which the beginning of an end is looked for */

struct open_event {
	int64_t end_ns; /* at the latest; NO_END: nothing outside ends before */
	uint32_t location;
	uint32_t node;
	bool is_begun; /* an end is to come */
};

void trace_nest_fini(struct trace_nest *n)
{
	rows_fini(&n->stack);
}

static struct open_event *top_of(struct trace_nest *n)
{
	return n->stack.count ? (struct open_event *)n->stack.data + n->stack.count - 1 : NULL;
}

static void add_value(struct trace_nest *n, uint32_t node, size_t type, int64_t value)
{
	int64_t values[PROFILE_MAX_TYPES] = { 0 };

	values[type] = value;
	profile_add(n->p, node, n->labels[n->thread], values);
}

/* What was open since last_ns. */
static void count_time(struct trace_nest *n, int64_t at_ns)
{
	const struct open_event *top = top_of(n);
	int64_t length_ns;

	if (at_ns <= n->last_ns)
		return;
	if (__builtin_sub_overflow(at_ns, n->last_ns, &length_ns))
		length_ns = INT64_MAX;
	if (top)
		add_value(n, top->node, n->time_type, length_ns);
	n->last_ns = at_ns;
}

/* Ends what is over by then. */
static void end_until(struct trace_nest *n, int64_t at_ns)
{
	const struct open_event *top;

	while ((top = top_of(n)) && top->end_ns <= at_ns && top->end_ns != NO_END) {
		count_time(n, top->end_ns);
		n->cut += top->is_begun;
		n->stack.count--;
	}
	count_time(n, at_ns);
}

static int begin(struct trace_nest *n, const struct trace_event *event, struct err *e)
{
	const struct open_event *top = top_of(n);
	int64_t end_ns = NO_END, limit_ns = top ? top->end_ns : NO_END;
	uint32_t node = profile_push(n->p, top ? top->node : 0, event->location);
	struct open_event *open;

	if (event->kind == TRACE_COMPLETE &&
	    __builtin_add_overflow(event->at_ns, event->length_ns, &end_ns))
		end_ns = NO_END;
	n->cut += event->kind == TRACE_COMPLETE && end_ns > limit_ns &&
		  end_ns - limit_ns > ROUNDING_NS;
	if (n->stack.count == FORMAT_MAX_DEPTH)
		return err_set(e, -EINVAL, "stack of more than %d events", FORMAT_MAX_DEPTH);
	open = rows_add(&n->stack, sizeof *open);
	if (!open)
		return err_nomem(e);
	*open = (struct open_event){ .end_ns = end_ns < limit_ns ? end_ns : limit_ns,
				     .location = event->location,
				     .node = node,
				     .is_begun = event->kind == TRACE_BEGIN };
	add_value(n, node, n->count_type, 1);
	return 0;
}

/* Ends the innermost beginning, of the same name if the end has one, and all that is within. */
static void end(struct trace_nest *n, const struct trace_event *event)
{
	const struct open_event *open = n->stack.data;
	size_t count = n->stack.count, lowest = count > MAX_LOOK ? count - MAX_LOOK : 0;

	for (size_t i = count; i-- > lowest;) {
		if (!open[i].is_begun || (event->location && open[i].location != event->location))
			continue;
		for (size_t inner = i + 1; inner < count; inner++) {
			n->unclosed += open[inner].is_begun;
			n->cut += !open[inner].is_begun &&
				  (open[inner].end_ns == NO_END ||
				   open[inner].end_ns - event->at_ns > ROUNDING_NS);
		}
		n->stack.count = i;
		return;
	}
	n->unopened++;
}

/* The thread is over: what is open ends with the last event that ends by itself. */
static void end_thread(struct trace_nest *n)
{
	const struct open_event *top;

	while ((top = top_of(n))) {
		if (top->end_ns != NO_END)
			count_time(n, top->end_ns);
		n->unclosed += top->is_begun;
		n->stack.count--;
	}
}

/* At one time, what is written as a pair keeps its order, and of complete events the longer one is
 * outside. */
static int compare(const void *left, const void *right)
{
	const struct trace_event *a = left, *b = right;
	bool is_complete = a->kind == TRACE_COMPLETE;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	if (is_complete != (b->kind == TRACE_COMPLETE))
		return is_complete ? 1 : -1;
	if (is_complete && a->length_ns != b->length_ns)
		return a->length_ns > b->length_ns ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

int trace_nest_add(struct trace_nest *n, struct rows *events, struct err *e)
{
	const struct trace_event *event = events->data;
	int rc = 0;

	if (events->count)
		qsort(events->data, events->count, sizeof *event, compare);
	for (size_t i = 0; i < events->count && rc == 0; i++, event++) {
		if (!i || event->thread != n->thread) {
			end_thread(n);
			n->thread = event->thread;
			n->last_ns = event->at_ns;
		}
		end_until(n, event->at_ns);
		if (event->kind == TRACE_END)
			end(n, event);
		else
			rc = begin(n, event, e);
		if (rc == 0)
			rc = profile_check(n->p, e);
	}
	if (rc == 0)
		end_thread(n);
	return rc;
}

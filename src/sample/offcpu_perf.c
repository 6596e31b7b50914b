/* SPDX-License-Identifier: MIT */
#include "sample/offcpu_perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "sample/tracefs.h"

#define FORMAT_MAX 65536 /* bytes of a tracepoint's format */

const char *const offcpu_perf_sleeps[] = { "io_schedule", "io_schedule_timeout", "mutex_lock_io",
					   NULL };

/* A tracepoint and its format file. */
struct tracepoint {
	uint64_t number; /* 0: not permitted */
	char *format;    /* owned */
};

static void close_tracepoint(struct tracepoint *t)
{
	free(t->format);
}

static void open_tracepoint(struct tracepoint *t, const char *name, const struct event_roots *roots)
{
	const char *root = roots->tracing ? roots->tracing : tracefs_path();
	const char *colon = strchr(name, ':');
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct buf text = { 0 };
	struct event event;
	struct err e;

	if (event_parse(name, roots, &event, &e) < 0)
		return;
	buf_printf(&path, "%s/events/%.*s/%s/format", root, (int)(colon - name), name, colon + 1);
	if (buf_error(&path) == 0 && file_read_small(path.data, FORMAT_MAX, &text, &e) == 0 &&
	    text.data) {
		t->number = event.config;
		t->format = text.data;
		return;
	}
	buf_fini(&text);
}

/* "field:TYPE NAME;\toffset:N;\tsize:M;" false: no field of this size. */
static bool find_field(const struct tracepoint *t, const char *name, size_t size, size_t *ret)
{
	char wanted[64];
	const char *at;

	snprintf(wanted, sizeof wanted, " %s;\toffset:", name);
	at = t->format ? strstr(t->format, wanted) : NULL;
	if (!at)
		return false;
	*ret = strtoul(at + strlen(wanted), NULL, 10);
	snprintf(wanted, sizeof wanted, ";\tsize:%zu;", size);
	at = strchr(at + 1, '\t');
	at = at ? strchr(at, ';') : NULL;
	return at && strncmp(at, wanted, strlen(wanted)) == 0;
}

static bool is_allowed(struct perf_event_attr *attr)
{
	int fd = attr_open(attr, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void add(struct offcpu_perf *s, const struct perf_event_attr *attr, size_t kind)
{
	s->kinds[s->count] = kind;
	s->attrs[s->count++] = *attr;
}

/* A sample of each switch, by the tracepoint or a software event. */
static bool find_each(struct offcpu_perf *s, const struct attr_opts *o,
		      const struct event_roots *roots, struct ingest_offcpu *fields,
		      uint64_t *ret_tracepoint)
{
	CLEANUP(close_tracepoint) struct tracepoint t = { 0 };
	struct perf_event_attr attr;

	open_tracepoint(&t, "sched:sched_switch", roots);
	fields->has_switch_fields = find_field(&t, "prev_state", 8, &fields->state_at) &&
				    find_field(&t, "prev_pid", 4, &fields->pid_at);
	attr = attr_switch(ATTR_SWITCH_EACH, o, fields->has_switch_fields ? t.number : 0);
	if (fields->has_switch_fields && !is_allowed(&attr)) {
		fields->has_switch_fields = false;
		attr = attr_switch(ATTR_SWITCH_EACH, o, 0);
	}
	*ret_tracepoint = fields->has_switch_fields ? t.number : 0;
	s->has_no_states = !fields->has_switch_fields;
	if (!is_allowed(&attr))
		return false;
	add(s, &attr, INGEST_LEAVE);
	return true;
}

static void find_wake(struct offcpu_perf *s, const struct attr_opts *o,
		      const struct event_roots *roots, struct ingest_offcpu *fields)
{
	CLEANUP(close_tracepoint) struct tracepoint t = { 0 };
	struct perf_event_attr attr;

	open_tracepoint(&t, "sched:sched_wakeup", roots);
	if (!find_field(&t, "pid", 4, &fields->woken_at))
		return;
	attr = attr_switch(ATTR_SWITCH_WAKE, o, t.number);
	fields->has_wake_fields = is_allowed(&attr);
	if (fields->has_wake_fields)
		add(s, &attr, INGEST_WAKE);
}

int offcpu_perf_find(struct offcpu_perf *s, const struct attr_opts *o,
		     const struct event_roots *roots, struct ingest_offcpu *ret_fields,
		     struct err *e)
{
	struct attr_opts small = *o;
	struct perf_event_attr attr;
	uint64_t tracepoint;
	int fd;

	if (small.stack_bytes > OFFCPU_PERF_STACK_BYTES)
		small.stack_bytes = OFFCPU_PERF_STACK_BYTES;
	*s = (struct offcpu_perf){ 0 };
	if (find_each(s, &small, roots, ret_fields, &tracepoint)) {
		attr = attr_switch(ATTR_SWITCH_DEEP, o, tracepoint);
		if (o->stack == STACK_DWARF && !o->is_kernel_only)
			add(s, &attr, INGEST_LEAVE_DEEP);
		find_wake(s, o, roots, ret_fields);
		return 0;
	}
	/* Times without stacks: that needs no permission to sample the kernel. */
	s->has_no_stacks = true;
	attr = attr_switch(ATTR_SWITCH_EACH, o, 0);
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_type =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	fd = attr_open(&attr, 0, -1);
	if (fd < 0)
		return attr_explain(fd, "context switches", 0, e);
	close(fd);
	add(s, &attr, INGEST_LEAVE);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "format/json/trace_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "base/rows.h"
#include "base/str.h"
#include "format/json/trace_nest.h"
#include "format/json/trace_samples.h"
#include "format/json/trace_threads.h"
#include "format/json_frames.h"
#include "format/text_cache.h"

struct reader {
	struct profile *p;
	struct trace_threads threads;
	struct trace_samples samples;
	struct text_cache names; /* locations by the text of a name */
	struct rows events;      /* struct trace_event */
	struct buf scratch;
	bool has_events; /* the array was there */
	bool is_cut;     /* the text ends early */
	size_t left_out; /* events of other kinds */
};

/* An event as written. */
struct item {
	struct json_text phase, name, pid, tid, frame;
	struct json args;
	struct json_number at, length;
	bool has_args;
	bool has_time;
};

static void reader_fini(struct reader *r)
{
	trace_threads_fini(&r->threads);
	trace_samples_fini(&r->samples);
	text_cache_fini(&r->names);
	rows_fini(&r->events);
	buf_fini(&r->scratch);
}

/* "/srv/model.py(17): forward" */
static void split_name(struct json_text text, struct json_frame *frame)
{
	struct str s = { text.ptr, text.len }, digits;
	size_t at = str_find(s, ".py("), close;
	uint64_t line;

	frame->name = text;
	if (at == s.len)
		return;
	digits = str_part(s, at + strlen(".py("), s.len);
	close = str_find(digits, "): ");
	if (!close || close == digits.len || number_parse(digits.ptr, close, &line) != close ||
	    line > INT32_MAX)
		return;
	frame->file = text;
	frame->file.len = at + strlen(".py");
	frame->line = (int64_t)line;
	frame->name.ptr = digits.ptr + close + strlen("): ");
	frame->name.len = digits.len - close - strlen("): ");
}

/* 0: out of memory. */
static uint32_t find_location(struct reader *r, struct json_text name)
{
	uint32_t *location =
		text_cache_at(&r->names, text_cache_hash(name.len ? name.ptr : "", name.len));
	struct json_frame frame = { 0 };

	if (!location)
		return 0;
	if (*location == TEXT_CACHE_NEW) {
		split_name(name, &frame);
		*location = json_frames_location(r->p, &frame, &r->scratch);
	}
	return *location;
}

/* A number or a string as text. */
static struct json_text take_text(struct json *j)
{
	char first = json_peek(j);

	if (first == '{' || first == '[' || first == 'n') {
		json_skip(j);
		return (struct json_text){ 0 };
	}
	return json_skip(j);
}

static void read_member(struct json *j, const struct json_text *key, struct item *ret)
{
	if (json_equals(key, "ph")) {
		ret->phase = take_text(j);
	} else if (json_equals(key, "name")) {
		ret->name = take_text(j);
	} else if (json_equals(key, "pid")) {
		ret->pid = take_text(j);
	} else if (json_equals(key, "tid")) {
		ret->tid = take_text(j);
	} else if (json_equals(key, "ts")) {
		ret->at = json_number_or_skip(j);
		ret->has_time = !ret->at.is_none;
	} else if (json_equals(key, "dur")) {
		ret->length = json_number_or_skip(j);
	} else if (json_equals(key, "sf")) {
		ret->frame = take_text(j);
	} else if (json_equals(key, "args") && json_peek(j) == '{') {
		ret->args = *j;
		ret->has_args = true;
		json_skip(j);
	} else {
		json_skip(j);
	}
}

/* The member "name" of an event's arguments, as a string of the profile, or 0. */
static uint32_t argument_name(struct reader *r, const struct item *item)
{
	struct json j = item->args;
	struct json_list o;
	struct json_text key, name = { 0 };

	if (!item->has_args)
		return 0;
	o = json_object(&j);
	while (json_member(&j, &o, &key)) {
		if (json_equals(&key, "name") && json_peek(&j) == '"')
			name = json_string(&j);
		else
			json_skip(&j);
	}
	return json_frames_str(r->p, name, &r->scratch);
}

static int add_names(struct reader *r, const struct item *item)
{
	if (json_equals(&item->name, "process_name"))
		return trace_threads_set_process(&r->threads, item->pid, argument_name(r, item));
	if (json_equals(&item->name, "thread_name"))
		return trace_threads_set_name(&r->threads, item->pid, item->tid,
					      argument_name(r, item));
	return 0;
}

static int add_event(struct reader *r, const struct item *item, enum trace_kind kind)
{
	struct trace_event event = { .kind = kind, .index = (uint32_t)r->events.count };
	struct trace_event *row;

	if (!json_scale(item->at, 3, &event.at_ns)) {
		r->left_out++;
		return 0;
	}
	if (kind == TRACE_COMPLETE &&
	    (!json_scale(item->length, 3, &event.length_ns) || event.length_ns < 0))
		event.length_ns = 0;
	event.thread = trace_threads_find(&r->threads, item->pid, item->tid);
	if (kind != TRACE_END || item->name.len) {
		event.location = find_location(r, item->name);
		if (!event.location)
			return -ENOMEM;
	}
	row = rows_add(&r->events, sizeof *row);
	if (!row || event.thread == UINT32_MAX)
		return -ENOMEM;
	*row = event;
	return 0;
}

static int add_item(struct reader *r, const struct item *item)
{
	uint32_t thread;

	switch (item->phase.len == 1 ? *item->phase.ptr : '\0') {
	case 'B':
		return add_event(r, item, TRACE_BEGIN);
	case 'E':
		return add_event(r, item, TRACE_END);
	case 'X':
		return add_event(r, item, TRACE_COMPLETE);
	case 'M':
		return add_names(r, item);
	case 'P':
		if (!item->frame.len)
			break;
		thread = trace_threads_find(&r->threads, item->pid, item->tid);
		return thread == UINT32_MAX
			       ? -ENOMEM
			       : trace_samples_put(&r->samples, thread, item->frame, 1);
	default:
		break;
	}
	r->left_out++;
	return 0;
}

static bool is_at_end(const struct json *j)
{
	return j->wrong && j->at >= j->end;
}

static int read_event(struct reader *r, struct json *j)
{
	struct item item = { .at.is_none = true };
	struct json_list o = json_object(j);
	struct json_text key;

	while (json_member(j, &o, &key))
		read_member(j, &key, &item);
	return j->wrong ? 0 : add_item(r, &item);
}

/* A comma may stand behind the last event. */
static int read_events(struct reader *r, struct json *j, struct err *e)
{
	struct json_list a = json_array(j);

	r->has_events = true;
	while (json_item(j, &a)) {
		char first = json_peek(j);

		if (first == ']') {
			j->at++;
			return 0;
		}
		if (first != '{')
			json_skip(j);
		else if (read_event(r, j) < 0)
			return err_nomem(e);
	}
	return 0;
}

static int read_object(struct reader *r, struct json *j, struct err *e)
{
	struct json_list o = json_object(j);
	struct json_text key;
	int rc = 0;

	while (rc == 0 && json_member(j, &o, &key)) {
		if (json_equals(&key, "traceEvents") && json_peek(j) == '[')
			rc = read_events(r, j, e);
		else if (json_equals(&key, "stackFrames") && json_peek(j) == '{')
			rc = trace_samples_read_frames(&r->samples, r->p, j, e);
		else if (json_equals(&key, "samples") && json_peek(j) == '[')
			rc = trace_samples_read(&r->samples, &r->threads, j, e);
		else
			json_skip(j);
	}
	return rc;
}

static void report(const struct reader *r, const struct trace_nest *n)
{
	if (r->is_cut)
		log_msg(LOG_WARN, "trace", "the text ends early; what is there is read");
	if (n->cut)
		log_msg(LOG_WARN, "trace",
			"events that outlast the one they began in and are cut: %zu", n->cut);
	if (n->unopened)
		log_msg(LOG_WARN, "trace", "ends without a beginning: %zu", n->unopened);
	if (n->unclosed)
		log_msg(LOG_WARN, "trace", "beginnings without an end: %zu", n->unclosed);
	if (r->left_out)
		log_msg(LOG_INFO, "trace", "counters, instants and others that are left out: %zu",
			r->left_out);
}

static int add_all(struct reader *r, struct err *e)
{
	CLEANUP(trace_nest_fini) struct trace_nest n = { .p = r->p };
	size_t sample_type = 0;
	uint32_t *labels;
	int rc;

	n.count_type = profile_add_type(r->p, "events", "count");
	if (r->samples.rows.count)
		sample_type = profile_add_type(r->p, "samples", "count");
	n.time_type = profile_add_type(r->p, "time", "nanoseconds");
	if (r->samples.rows.count && !r->events.count)
		profile_info(r->p)->default_type = profile_str(r->p, "samples");
	n.labels = labels = trace_threads_labels(&r->threads, r->p);
	rc = labels ? profile_check(r->p, e) : err_nomem(e);
	if (rc == 0)
		rc = trace_nest_add(&n, &r->events, e);
	if (rc == 0)
		rc = trace_samples_add(&r->samples, r->p, sample_type, labels, e);
	free(labels);
	if (rc == 0)
		report(r, &n);
	return rc;
}

static int trace_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	CLEANUP(buf_fini) struct buf copy = { 0 };
	CLEANUP(reader_fini) struct reader r = { .p = p };
	struct json j;
	int rc = json_frames_begin(data, len, &copy, &j, e);

	if (rc < 0)
		return rc;
	rc = json_peek(&j) == '[' ? read_events(&r, &j, e) : read_object(&r, &j, e);
	if (rc < 0)
		return rc;
	r.is_cut = r.has_events && is_at_end(&j);
	if (!r.is_cut && !json_end(&j))
		return json_frames_error(&j, e);
	if (!r.has_events)
		return err_set(e, -EINVAL, "there are no trace events");
	rc = add_all(&r, e);
	return rc < 0 ? rc : profile_check(p, e);
}

static bool trace_detect(const unsigned char *data, size_t len)
{
	struct str text = { (const char *)data, len };

	if (json_frames_is_object(data, len))
		return json_frames_has(data, len, "\"traceEvents\"");
	text = str_trim(text);
	return str_starts_with(text, "[") && json_frames_has(data, len, "\"ph\"");
}

static const char *const suffixes[] = { ".trace.json", NULL };

const struct format format_trace = {
	.name = "trace",
	.summary = "trace events of Chrome: torch.profiler, -ftime-trace",
	.mark = "\"traceEvents\", or an array with \"ph\"",
	.lost = "times, counters, instants, flows, asynchronous events",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = trace_detect,
	.read = trace_read,
};

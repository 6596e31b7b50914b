/* SPDX-License-Identifier: MIT */
#include "format/speedscope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/quote.h"
#include "base/rows.h"
#include "base/strtab.h"
#include "format/frame.h"
#include "format/json/speedscope_read.h"
#include "format/stack_sums.h"
#include "format/thread_rows.h"

struct writer {
	const struct profile *p;
	struct strtab *frames; /* JSON of each, by its number in the file */
	uint32_t *functions;   /* [function_count]: frame + 1, 0: not yet */
	uint32_t *mappings;    /* [mapping_count]: the same for code without a name */
	struct rows stack;     /* uint32_t: frames of a sample, leaf first */
	struct buf name, json; /* of a frame being made */
	struct buf profiles;   /* JSON, behind the frames in the file */
};

static void writer_fini(struct writer *w)
{
	strtab_free(w->frames);
	free(w->functions);
	free(w->mappings);
	rows_fini(&w->stack);
	buf_fini(&w->name);
	buf_fini(&w->json);
	buf_fini(&w->profiles);
}

static int writer_init(struct writer *w, struct err *e)
{
	w->frames = strtab_new();
	w->functions = calloc(profile_function_count(w->p), sizeof *w->functions);
	w->mappings = calloc(profile_mapping_count(w->p), sizeof *w->mappings);
	return w->frames && w->functions && w->mappings ? 0 : err_nomem(e);
}

static int add_frame(struct writer *w, uint32_t frame)
{
	uint32_t *row = frame == STRTAB_NONE ? NULL : rows_add(&w->stack, sizeof *row);

	if (!row)
		return -ENOMEM;
	*row = frame;
	return 0;
}

static uint32_t make_frame(struct writer *w, const struct location *l, uint32_t line)
{
	static const struct function none;
	const struct function *fn =
		line < l->line_count ? profile_get_function(w->p, l->lines[line].function) : &none;

	buf_clear(&w->name);
	buf_clear(&w->json);
	frame_put_name(w->p, l, line, &w->name);
	buf_put_str(&w->json, "{\"name\":");
	quote_json(&w->json, w->name.data, w->name.len);
	if (fn->file) {
		struct str file = profile_get_str(w->p, fn->file);

		buf_put_str(&w->json, ",\"file\":");
		quote_json(&w->json, file.ptr, file.len);
		if (fn->start_line > 0) {
			buf_put_str(&w->json, ",\"line\":");
			buf_put_int(&w->json, fn->start_line);
		}
	}
	buf_put_byte(&w->json, '}');
	if (buf_error(&w->name) < 0 || buf_error(&w->json) < 0)
		return STRTAB_NONE;
	return strtab_intern(w->frames, w->json.data, w->json.len);
}

static int add_line(struct writer *w, const struct location *l, uint32_t line)
{
	uint32_t function = line < l->line_count ? l->lines[line].function : 0;
	bool is_named = function && frame_function_name(w->p, function).len;
	uint32_t *frame = is_named ? &w->functions[function] : &w->mappings[l->mapping];

	if (!*frame)
		*frame = make_frame(w, l, line) + 1;
	return add_frame(w, *frame - 1);
}

static int add_no_stack(struct writer *w)
{
	static const char frame[] = "{\"name\":\"" FORMAT_NO_STACK "\"}";

	return add_frame(w, strtab_intern(w->frames, frame, sizeof frame - 1));
}

static int make_stack(struct writer *w, uint32_t node)
{
	int rc = 0;

	w->stack.count = 0;
	if (!node)
		return add_no_stack(w);
	while (node && rc == 0) {
		struct stack_node n = profile_get_node(w->p, node);
		struct location l = profile_get_location(w->p, n.location);

		rc = add_line(w, &l, 0);
		for (uint32_t i = 1; i < l.line_count && rc == 0; i++)
			rc = add_line(w, &l, i);
		node = n.parent;
	}
	return rc;
}

/* The stack that was made, root first, with its closing bracket. */
static void put_stack(const struct writer *w, struct buf *out)
{
	const uint32_t *frames = w->stack.data;

	for (size_t k = w->stack.count; k-- > 0;) {
		buf_put_uint(out, frames[k]);
		buf_put_str(out, k ? "," : "]");
	}
}

static int put_stacks(struct writer *w, const struct stack_sums *sums)
{
	const struct stack_sum *sum = sums->sums.data;
	bool is_first = true;

	for (size_t i = 0; i < sums->sums.count; i++) {
		if (sum[i].value <= 0)
			continue;
		if (make_stack(w, sum[i].node) < 0)
			return -ENOMEM;
		buf_put_str(&w->profiles, is_first ? "\n[" : ",\n[");
		is_first = false;
		put_stack(w, &w->profiles);
	}
	return 0;
}

/* *ret_total: of what is written; at most INT64_MAX. */
static void put_weights(struct writer *w, const struct stack_sums *sums, int64_t *ret_total)
{
	const struct stack_sum *sum = sums->sums.data;
	bool is_first = true;

	*ret_total = 0;
	for (size_t i = 0; i < sums->sums.count; i++) {
		if (sum[i].value <= 0)
			continue;
		buf_put_str(&w->profiles, is_first ? "" : ",");
		is_first = false;
		buf_put_int(&w->profiles, sum[i].value);
		number_add(ret_total, sum[i].value);
	}
}

/* The units that speedscope knows; others are plain numbers. */
static const char *unit_of(const char *unit)
{
	static const char *const known[] = { "nanoseconds", "microseconds", "milliseconds",
					     "seconds", "bytes" };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(unit, known[i]) == 0)
			return known[i];
	return "none";
}

static bool is_time(const struct profile *p, size_t type)
{
	return strcmp(profile_text(p, profile_get_type(p, type).unit), "nanoseconds") == 0;
}

static void put_head(struct writer *w, struct str name, size_t type)
{
	buf_put_str(&w->profiles, "{\"type\":\"sampled\",\"name\":");
	quote_json(&w->profiles, name.ptr, name.len);
	buf_printf(&w->profiles, ",\"unit\":\"%s\",\"samples\":[",
		   unit_of(profile_text(w->p, profile_get_type(w->p, type).unit)));
}

/* Sums of times are no longer than the recording was: viewers add up the weights. */
static int64_t end_value(const struct writer *w, size_t type, int64_t total)
{
	int64_t duration_ns = profile_get_info(w->p)->duration_ns;

	return is_time(w->p, type) && duration_ns > 0 && duration_ns < total ? duration_ns : total;
}

static int put_profile(struct writer *w, size_t type, struct err *e)
{
	CLEANUP(stack_sums_fini) struct stack_sums sums = { 0 };
	struct value_type t = profile_get_type(w->p, type);
	int rc = stack_sums_make(&sums, w->p, type, e);
	int64_t total;

	if (rc < 0)
		return rc;
	put_head(w, profile_get_str(w->p, t.type), type);
	if (put_stacks(w, &sums) < 0)
		return err_nomem(e);
	buf_put_str(&w->profiles, "],\n\"weights\":[");
	put_weights(w, &sums, &total);
	buf_put_str(&w->profiles, "],\n\"startValue\":0,\"endValue\":");
	buf_put_int(&w->profiles, end_value(w, type, total));
	buf_put_byte(&w->profiles, '}');
	return 0;
}

/* What is sampled at a time was spent before it. */
struct time_line {
	struct buf samples, weights; /* JSON of their arrays */
	uint64_t at_ns;              /* the end of what is in them */
};

static void time_line_fini(struct time_line *l)
{
	buf_fini(&l->samples);
	buf_fini(&l->weights);
}

static void put_span(struct time_line *l, uint64_t length_ns)
{
	buf_put_str(&l->samples, l->at_ns ? ",\n" : "\n");
	buf_put_str(&l->weights, l->at_ns ? "," : "");
	buf_put_uint(&l->weights, length_ns);
	l->at_ns += length_ns;
}

/* Nothing is known until a time. */
static void put_gap(struct time_line *l, uint64_t until_ns)
{
	if (until_ns <= l->at_ns)
		return;
	put_span(l, until_ns - l->at_ns);
	buf_put_str(&l->samples, "[]");
}

static int put_row(struct writer *w, struct time_line *l, const struct thread_row *row)
{
	uint64_t length_ns = (uint64_t)row->value;

	if (row->time_ns > length_ns)
		put_gap(l, row->time_ns - length_ns);
	if (length_ns > INT64_MAX - l->at_ns)
		return 0; /* no recording is that long; the sums have it */
	if (make_stack(w, row->node) < 0)
		return -ENOMEM;
	put_span(l, length_ns);
	buf_put_byte(&l->samples, '[');
	put_stack(w, &l->samples);
	return 0;
}

static int make_line(struct writer *w, struct time_line *l, const struct thread_rows *rows,
		     const struct thread *thread)
{
	int rc = 0;

	for (size_t i = 0; i < thread->count && rc == 0; i++) {
		const struct thread_row *row = thread_rows_at(rows, thread, i);

		if (row->is_timed)
			rc = put_row(w, l, row);
	}
	return rc;
}

static void name_line(struct writer *w, size_t type, const struct thread_rows *rows,
		      const struct thread *thread)
{
	struct str name = profile_get_str(w->p, profile_get_type(w->p, type).type);

	buf_clear(&w->name);
	buf_put(&w->name, name.ptr, name.len);
	buf_printf(&w->name, SPEEDSCOPE_THREAD "%s, tid %s) %s",
		   thread_rows_text(rows, thread->pid), thread_rows_text(rows, thread->tid),
		   thread_rows_text(rows, thread->comm));
}

static int put_line(struct writer *w, size_t type, const struct thread_rows *rows,
		    const struct thread *thread)
{
	CLEANUP(time_line_fini) struct time_line line = { 0 };

	if (make_line(w, &line, rows, thread) < 0)
		return -ENOMEM;
	if (!line.at_ns)
		return 0;
	put_gap(&line, thread_rows_length(rows, w->p));
	name_line(w, type, rows, thread);
	if (buf_error(&w->name) < 0 || buf_error(&line.samples) < 0 || buf_error(&line.weights) < 0)
		return -ENOMEM;
	buf_put_str(&w->profiles, ",\n");
	put_head(w, (struct str){ w->name.data, w->name.len }, type);
	buf_put(&w->profiles, line.samples.data, line.samples.len);
	buf_put_str(&w->profiles, "],\n\"weights\":[");
	buf_put(&w->profiles, line.weights.data, line.weights.len);
	buf_put_str(&w->profiles, "],\n\"startValue\":0,\"endValue\":");
	buf_put_uint(&w->profiles, line.at_ns);
	buf_put_byte(&w->profiles, '}');
	return 0;
}

/* A profile for each thread with times, of a type that is time. */
static int put_lines(struct writer *w, size_t type, struct err *e)
{
	CLEANUP(thread_rows_fini) struct thread_rows rows = { 0 };
	int rc = thread_rows_make(&rows, w->p, type, e);

	if (rc < 0 || !rows.end_ns)
		return rc;
	for (size_t i = 0; i < rows.threads.count; i++)
		if (put_line(w, type, &rows, thread_rows_thread(&rows, i)) < 0)
			return err_nomem(e);
	return 0;
}

static void put_frames(const struct writer *w, struct buf *out)
{
	for (uint32_t i = 0; i < strtab_count(w->frames); i++) {
		struct str frame = strtab_get(w->frames, i);

		buf_put_str(out, i ? ",\n" : "\n");
		buf_put(out, frame.ptr, frame.len);
	}
}

int speedscope_write(const struct profile *p, struct buf *out, struct err *e)
{
	CLEANUP(writer_fini) struct writer w = { .p = p };
	int rc = writer_init(&w, e);

	if (rc == 0 && !profile_type_count(p))
		return err_set(e, -EINVAL, "there is no sample type");
	for (size_t i = 0; i < profile_type_count(p) && rc == 0; i++) {
		buf_put_str(&w.profiles, i ? ",\n" : "\n");
		rc = put_profile(&w, i, e);
	}
	for (size_t i = 0; i < profile_type_count(p) && rc == 0; i++)
		if (is_time(p, i) && profile_get_times(p)->entries.count)
			rc = put_lines(&w, i, e);
	if (rc < 0)
		return rc;
	buf_put_str(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
			 "\"exporter\":\"auger " AUGER_VERSION "\",\n"
			 "\"activeProfileIndex\":");
	buf_put_uint(out, profile_default_type(p));
	buf_put_str(out, ",\n\"shared\":{\"frames\":[");
	put_frames(&w, out);
	buf_put_str(out, "]},\n\"profiles\":[");
	buf_put(out, w.profiles.data, w.profiles.len);
	buf_put_str(out, "]}\n");
	return buf_error(&w.profiles) < 0 ? err_nomem(e) : 0;
}

static const char *const suffixes[] = { ".speedscope.json", ".speedscope", NULL };

const struct format format_speedscope = {
	.name = "speedscope",
	.summary = "JSON of speedscope.app; py-spy and rbspy write it, too",
	.mark = "speedscope.app/file-format-schema",
	.lost = "times of samples",
	.suffixes = suffixes,
	.is_text = true,
	.detect = speedscope_detect,
	.read = speedscope_read,
	.write = speedscope_write,
};

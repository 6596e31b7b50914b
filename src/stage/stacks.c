/* SPDX-License-Identifier: MIT */
#include "stage/stacks.h"

#include <string.h>

#include "stage/gzip.h"
#include "stage/names.h"

/* Fields of profile.proto, by message. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,
	LINE_FUNCTION_ID = 1,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
};

#define VALUES_MAX 7

struct writer {
	const struct auger_profiler *p;
	const struct snapshot *s;
	struct text *out;
	struct text strings; /* the fields of the string table */
	uint32_t string_count;
	struct text message, inner; /* scratch */
	uint32_t *ids;              /* [NAMES_MAX]: name to its location, function; 0: none yet */
	uint32_t id_count;
};

static void put_varint(struct text *t, uint64_t value)
{
	unsigned char bytes[10];
	size_t len = 0;

	do {
		bytes[len++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	text_put(t, bytes, len);
}

static void put_number(struct text *t, unsigned field, uint64_t value)
{
	put_varint(t, field << 3);
	put_varint(t, value);
}

static void put_bytes(struct text *t, unsigned field, const char *data, size_t len)
{
	put_varint(t, field << 3 | 2);
	put_varint(t, len);
	text_put(t, data, len);
}

/* Appends w->message as a field. */
static void put_message(struct writer *w, unsigned field)
{
	w->out->failed |= w->message.failed;
	put_bytes(w->out, field, w->message.data, w->message.len);
	w->message.len = 0;
}

static uint32_t put_string(struct writer *w, const char *str, size_t len)
{
	CLEANUP(text_fini) struct text clean = { 0 };

	text_put_visible(&clean, str, len);
	put_bytes(&w->strings, PROFILE_STRING_TABLE, clean.data, clean.len);
	w->strings.failed |= clean.failed;
	return w->string_count++;
}

static void put_type(struct writer *w, const char *type, const char *unit)
{
	put_number(&w->message, VALUE_TYPE_TYPE, put_string(w, type, strlen(type)));
	put_number(&w->message, VALUE_TYPE_UNIT, put_string(w, unit, strlen(unit)));
	put_message(w, PROFILE_SAMPLE_TYPE);
}

/* In the order of values_of(). Entry 3 of the string table is "wall". */
static void put_types(struct writer *w)
{
	uint32_t groups = w->p->groups;

	put_string(w, "", 0);
	put_type(w, "calls", "count");
	put_type(w, "wall", "nanoseconds");
	put_number(w->out, PROFILE_DEFAULT_SAMPLE_TYPE, 3);
	if (groups & GROUP_THREAD)
		put_type(w, "cpu", "nanoseconds");
	if (groups & GROUP_HEAP) {
		put_type(w, "alloc_space", "bytes");
		put_type(w, "heap_growth", "bytes");
	}
	if (groups & GROUP_SOURCE)
		put_type(w, w->p->source_name, "bytes");
	if (profiler_has_rss(w->p))
		put_type(w, "rss_growth", "bytes");
}

static size_t values_of(const struct writer *w, const struct row *row, int64_t *values)
{
	uint32_t groups = w->p->groups;
	int64_t own[COST_COUNT];
	size_t n = 0;

	for (int i = 0; i < COST_COUNT; i++)
		own[i] = row->total[i] - row->inner[i];
	values[n++] = (int64_t)row->calls;
	values[n++] = snapshot_ns(w->s, own[COST_WALL]);
	if (groups & GROUP_THREAD)
		values[n++] = snapshot_cpu_ns(w->s, own);
	if (groups & GROUP_HEAP) {
		values[n++] = own[COST_ALLOC_BYTES];
		values[n++] = own[COST_HEAP];
	}
	if (groups & GROUP_SOURCE)
		values[n++] = own[COST_SOURCE];
	if (profiler_has_rss(w->p))
		values[n++] = own[COST_RSS_KB] * 1024;
	return n;
}

/* The location and function of a name; written at its first use. */
static uint32_t location_of(struct writer *w, uint32_t name)
{
	struct name text = names_get(name);
	uint32_t id = w->ids[name];
	uint32_t string;

	if (id)
		return id;
	id = ++w->id_count;
	w->ids[name] = id;
	string = text.len ? put_string(w, text.text, text.len) : put_string(w, "(empty)", 7);
	w->inner.len = 0;
	put_number(&w->inner, LINE_FUNCTION_ID, id);
	put_number(&w->message, LOCATION_ID, id);
	put_bytes(&w->message, LOCATION_LINE, w->inner.data, w->inner.len);
	put_message(w, PROFILE_LOCATION);
	put_number(&w->message, FUNCTION_ID, id);
	put_number(&w->message, FUNCTION_NAME, string);
	put_number(&w->message, FUNCTION_SYSTEM_NAME, string);
	put_message(w, PROFILE_FUNCTION);
	return id;
}

static void put_sample(struct writer *w, uint32_t path, const struct row *row)
{
	int64_t values[VALUES_MAX];
	size_t count = values_of(w, row, values);

	for (uint32_t at = path; at != PATH_TOP; at = w->s->paths[at].parent)
		location_of(w, w->s->paths[at].name);
	for (uint32_t at = path; at != PATH_TOP; at = w->s->paths[at].parent)
		put_number(&w->message, SAMPLE_LOCATION_ID, w->ids[w->s->paths[at].name]);
	for (size_t i = 0; i < count; i++)
		put_number(&w->message, SAMPLE_VALUE, (uint64_t)values[i]);
	put_message(w, PROFILE_SAMPLE);
}

static void put_profile(struct writer *w)
{
	const struct snapshot *s = w->s;

	put_types(w);
	for (uint32_t i = 0; i < s->row_count; i++)
		put_sample(w, s->order[i], s->rows[s->order[i]]);
	put_number(w->out, PROFILE_TIME_NANOS, w->p->start_ns);
	put_number(w->out, PROFILE_DURATION_NANOS,
		   (uint64_t)snapshot_ns(s, s->now.at[COST_WALL] - s->reset.at[COST_WALL]));
	text_put(w->out, w->strings.data, w->strings.len);
	w->out->failed |= w->strings.failed || w->inner.failed;
}

uint32_t stacks_write(struct auger_profiler *p, struct text *out)
{
	CLEANUP(text_fini) struct text message = { 0 };
	struct writer w = { .p = p, .out = &message };
	struct snapshot s;
	uint32_t rows;

	pthread_mutex_lock(&p->lock);
	w.s = &s;
	if (snapshot_take(&s, p) == 0)
		w.ids = arena_alloc(&s.arena, NAMES_MAX * sizeof w.ids[0]);
	if (w.ids)
		put_profile(&w);
	else
		out->failed = true;
	rows = s.row_count;
	snapshot_fini(&s);
	pthread_mutex_unlock(&p->lock);
	out->failed |= message.failed;
	gzip_store(out, message.data, message.len);
	text_fini(&w.strings);
	text_fini(&w.message);
	text_fini(&w.inner);
	return rows;
}

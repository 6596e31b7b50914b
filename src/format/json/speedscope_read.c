/* SPDX-License-Identifier: MIT */
#include "format/json/speedscope_read.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "base/rows.h"
#include "format/format.h"
#include "format/json_frames.h"

/* What a unit of the file becomes; scale: a power of ten. */
static const struct unit {
	const char *name, *type, *unit;
	int scale;
} units[] = {
	{ "none", "samples", "count", 0 },
	{ "bytes", "space", "bytes", 0 },
	{ "nanoseconds", "time", "nanoseconds", 0 },
	{ "microseconds", "time", "nanoseconds", 3 },
	{ "milliseconds", "time", "nanoseconds", 6 },
	{ "seconds", "time", "nanoseconds", 9 },
};

struct open_frame {
	uint32_t frame;
	uint32_t node; /* of the profile, with this frame on top */
};

struct reader {
	struct profile *p;
	struct json frames, profiles; /* where their arrays begin */
	bool has_frames, has_profiles;
	bool is_ours;          /* auger wrote it: a profile has the name of its sample type */
	uint32_t active;       /* index of the profile to show first */
	uint32_t index;        /* of the profile being read */
	struct rows locations; /* uint32_t, by number of the frame */
	struct rows stack;     /* struct open_frame */
	struct buf scratch;
	size_t profile_count, unordered;
};

/* One profile of the file: its members may come in any order. */
struct part {
	struct json_text name, kind;
	const struct unit *unit;
	struct json samples, weights, events;
	bool has_samples, has_weights, has_events;
	int64_t start, end; /* scaled */
	struct json_number raw_start, raw_end;
	size_t type; /* of the profile */
	uint32_t labels;
};

static void reader_fini(struct reader *r)
{
	rows_fini(&r->locations);
	rows_fini(&r->stack);
	buf_fini(&r->scratch);
}

static int read_frame(struct reader *r, struct json *j)
{
	struct json_list o = json_object(j);
	struct json_frame frame = { 0 };
	struct json_text key;
	uint32_t *location;

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "name") && json_peek(j) == '"')
			frame.name = json_string(j);
		else if (json_equals(&key, "file") && json_peek(j) == '"')
			frame.file = json_string(j);
		else if (json_equals(&key, "line"))
			(void)json_scale(json_number(j), 0, &frame.line);
		else
			json_skip(j);
	}
	location = rows_add(&r->locations, sizeof *location);
	if (!location)
		return -ENOMEM;
	*location = json_frames_location(r->p, &frame, &r->scratch);
	return *location ? 0 : -ENOMEM;
}

static int read_frames(struct reader *r, struct err *e)
{
	struct json j = r->frames;
	struct json_list a = json_array(&j);

	while (json_item(&j, &a))
		if (read_frame(r, &j) < 0)
			return err_nomem(e);
	return 0;
}

static const struct unit *find_unit(const struct json_text *name)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (json_equals(name, units[i].name))
			return &units[i];
	return &units[0];
}

static void note_array(struct json *j, struct json *at, bool *has)
{
	*at = *j;
	*has = json_peek(j) == '[';
	json_skip(j);
}

static void find_members(struct json *j, struct part *part)
{
	struct json_list o = json_object(j);
	struct json_text key;

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "name") && json_peek(j) == '"')
			part->name = json_string(j);
		else if (json_equals(&key, "type") && json_peek(j) == '"')
			part->kind = json_string(j);
		else if (json_equals(&key, "unit") && json_peek(j) == '"') {
			struct json_text unit = json_string(j);

			part->unit = find_unit(&unit);
		} else if (json_equals(&key, "startValue"))
			part->raw_start = json_number(j);
		else if (json_equals(&key, "endValue"))
			part->raw_end = json_number(j);
		else if (json_equals(&key, "samples"))
			note_array(j, &part->samples, &part->has_samples);
		else if (json_equals(&key, "weights"))
			note_array(j, &part->weights, &part->has_weights);
		else if (json_equals(&key, "events"))
			note_array(j, &part->events, &part->has_events);
		else
			json_skip(j);
	}
}

static size_t add_type(struct reader *r, const struct part *part)
{
	buf_clear(&r->scratch);
	if (r->is_ours && part->name.len)
		json_unescape(part->name, &r->scratch);
	else
		buf_put_str(&r->scratch, part->unit->type);
	buf_put_byte(&r->scratch, '\0');
	if (buf_error(&r->scratch) < 0) {
		profile_fail_nomem(r->p);
		return 0;
	}
	return profile_add_type(r->p, r->scratch.data, part->unit->unit);
}

static uint32_t add_label(struct reader *r, const struct part *part)
{
	struct label label = { .key = profile_str(r->p, "profile") };

	if (r->is_ours || r->profile_count < 2 || !part->name.len)
		return 0;
	label.str = json_frames_str(r->p, part->name, &r->scratch);
	return profile_add_labels(r->p, &label, 1);
}

static void add_value(struct reader *r, const struct part *part, uint32_t node, int64_t value)
{
	int64_t values[PROFILE_MAX_TYPES] = { 0 };

	values[part->type] = value;
	profile_add(r->p, node, part->labels, values);
}

/* Of a frame's number; 0 and e: it is not there. */
static uint32_t find_location(struct reader *r, uint32_t frame, struct err *e)
{
	if (frame < r->locations.count)
		return ((uint32_t *)r->locations.data)[frame];
	(void)err_set(e, -EINVAL, "frame %u of %zu is used", frame, r->locations.count);
	return 0;
}

static int read_stack(struct reader *r, struct json *j, uint32_t *ret, struct err *e)
{
	struct json_list a = json_array(j);
	size_t depth = 0;

	*ret = 0;
	while (json_item(j, &a)) {
		uint32_t location = find_location(r, json_frames_index(j), e);

		if (!location)
			return -EINVAL;
		if (++depth > FORMAT_MAX_DEPTH)
			return err_set(e, -EINVAL, "stack of more than %d frames",
				       FORMAT_MAX_DEPTH);
		*ret = profile_push(r->p, *ret, location);
	}
	return 0;
}

/* Samples without a weight count one each. */
static int read_sampled(struct reader *r, const struct part *part, struct err *e)
{
	struct json samples = part->samples, weights = part->weights;
	struct json_list a = json_array(&samples), w = { 0 };

	if (part->has_weights)
		w = json_array(&weights);
	while (json_item(&samples, &a)) {
		int64_t value = 1;
		uint32_t node;
		int rc = read_stack(r, &samples, &node, e);

		if (rc < 0)
			return rc;
		if (part->has_weights && !json_item(&weights, &w))
			return err_set(e, -EINVAL, "there are fewer weights than samples");
		if (part->has_weights &&
		    !json_scale(json_number(&weights), part->unit->scale, &value))
			return err_set(e, -EINVAL, "a weight is no number");
		add_value(r, part, node, value);
	}
	return 0;
}

static int open_frame(struct reader *r, uint32_t frame, struct err *e)
{
	struct open_frame *open = r->stack.data;
	uint32_t node = r->stack.count ? open[r->stack.count - 1].node : 0;
	uint32_t location = find_location(r, frame, e);

	if (!location)
		return -EINVAL;
	if (r->stack.count == FORMAT_MAX_DEPTH)
		return err_set(e, -EINVAL, "stack of more than %d frames", FORMAT_MAX_DEPTH);
	open = rows_add(&r->stack, sizeof *open);
	if (!open)
		return err_nomem(e);
	*open = (struct open_frame){ frame, profile_push(r->p, node, location) };
	return 0;
}

static void close_frame(struct reader *r, uint32_t frame)
{
	const struct open_frame *open = r->stack.data;
	size_t i = r->stack.count;

	while (i && open[i - 1].frame != frame)
		i--;
	r->unordered += i != r->stack.count;
	if (i)
		r->stack.count = i - 1;
}

struct event {
	struct json_text kind;
	uint32_t frame;
	int64_t at;
};

static bool read_event(struct json *j, const struct unit *unit, struct event *ret)
{
	struct json_list o = json_object(j);
	bool has_time = false;
	struct json_text key;

	*ret = (struct event){ .frame = UINT32_MAX };
	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "type") && json_peek(j) == '"')
			ret->kind = json_string(j);
		else if (json_equals(&key, "frame"))
			ret->frame = json_frames_index(j);
		else if (json_equals(&key, "at"))
			has_time = json_scale(json_number(j), unit->scale, &ret->at);
		else
			json_skip(j);
	}
	return has_time;
}

/* What was open since *last. */
static void add_open(struct reader *r, const struct part *part, int64_t *last, int64_t at)
{
	const struct open_frame *open = r->stack.data;
	int64_t value;

	if (at <= *last)
		return;
	if (__builtin_sub_overflow(at, *last, &value))
		value = INT64_MAX;
	*last = at;
	if (r->stack.count)
		add_value(r, part, open[r->stack.count - 1].node, value);
}

static int read_evented(struct reader *r, const struct part *part, struct err *e)
{
	struct json j = part->events;
	struct json_list a = json_array(&j);
	int64_t last = part->start;
	int rc = 0;

	r->stack.count = 0;
	while (rc == 0 && json_item(&j, &a)) {
		struct event event;

		if (!read_event(&j, part->unit, &event))
			return err_set(e, -EINVAL, "an event has no time");
		add_open(r, part, &last, event.at);
		if (json_equals(&event.kind, "O"))
			rc = open_frame(r, event.frame, e);
		else
			close_frame(r, event.frame);
	}
	add_open(r, part, &last, part->end);
	r->unordered += r->stack.count;
	return rc;
}

static void note_length(struct reader *r, const struct part *part)
{
	int64_t length;

	if (strcmp(part->unit->unit, "nanoseconds") == 0 &&
	    !__builtin_sub_overflow(part->end, part->start, &length) &&
	    length > profile_info(r->p)->duration_ns)
		profile_info(r->p)->duration_ns = length;
}

/* The time line of a thread, which our own sums have, too: they come before it. */
static bool is_repeated(struct reader *r, const struct part *part)
{
	char *mark;

	if (!r->is_ours || !part->name.len)
		return false;
	buf_clear(&r->scratch);
	json_unescape(part->name, &r->scratch);
	buf_put_byte(&r->scratch, '\0');
	if (buf_error(&r->scratch) < 0) {
		profile_fail_nomem(r->p);
		return false;
	}
	mark = strstr(r->scratch.data, SPEEDSCOPE_THREAD);
	if (!mark)
		return false;
	*mark = '\0';
	return profile_find_type(r->p, r->scratch.data) >= 0;
}

static int read_part(struct reader *r, struct json *j, struct err *e)
{
	struct part part = { .unit = &units[0] };
	int rc = profile_check(r->p, e);
	bool is_line;

	find_members(j, &part);
	if (rc < 0 || j->wrong)
		return rc; /* json_frames_error() has the reason at the end */
	if (!json_scale(part.raw_start, part.unit->scale, &part.start))
		part.start = 0;
	if (!json_scale(part.raw_end, part.unit->scale, &part.end))
		part.end = 0;
	is_line = is_repeated(r, &part);
	if (is_line || !r->is_ours)
		note_length(r, &part);
	if (is_line)
		return 0;
	part.type = add_type(r, &part);
	part.labels = add_label(r, &part);
	rc = profile_check(r->p, e);
	if (rc < 0)
		return rc;
	if (r->is_ours && r->index == r->active)
		profile_info(r->p)->default_type = profile_get_type(r->p, part.type).type;
	if (part.has_events)
		return read_evented(r, &part, e);
	return part.has_samples ? read_sampled(r, &part, e) : 0;
}

static int read_parts(struct reader *r, struct err *e)
{
	struct json j = r->profiles, count = r->profiles;
	struct json_list a = json_array(&count);
	int rc = 0;

	while (json_item(&count, &a)) {
		json_skip(&count);
		r->profile_count++;
	}
	a = json_array(&j);
	for (; rc == 0 && json_item(&j, &a); r->index++)
		rc = read_part(r, &j, e);
	return rc;
}

static void find_shared(struct reader *r, struct json *j)
{
	struct json_list o = json_object(j);
	struct json_text key;

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "frames"))
			note_array(j, &r->frames, &r->has_frames);
		else
			json_skip(j);
	}
}

static void find_parts(struct reader *r, struct json *j)
{
	static const char ours[] = "auger ";
	struct json_list o = json_object(j);
	struct json_text key;

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "shared")) {
			find_shared(r, j);
		} else if (json_equals(&key, "profiles")) {
			note_array(j, &r->profiles, &r->has_profiles);
		} else if (json_equals(&key, "activeProfileIndex") && json_peek(j) >= '0' &&
			   json_peek(j) <= '9') {
			r->active = json_frames_index(j);
		} else if (json_equals(&key, "exporter") && json_peek(j) == '"') {
			struct json_text by = json_string(j);

			r->is_ours =
				by.len > sizeof ours && memcmp(by.ptr, ours, sizeof ours - 1) == 0;
		} else {
			json_skip(j);
		}
	}
}

int speedscope_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	CLEANUP(buf_fini) struct buf copy = { 0 };
	CLEANUP(reader_fini) struct reader r = { .p = p };
	struct json j;
	int rc = json_frames_begin(data, len, &copy, &j, e);

	if (rc < 0)
		return rc;
	find_parts(&r, &j);
	if (!json_end(&j))
		return json_frames_error(&j, e);
	if (!r.has_frames || !r.has_profiles)
		return err_set(e, -EINVAL, "there are no %s", r.has_frames ? "profiles" : "frames");
	rc = read_frames(&r, e);
	if (rc == 0)
		rc = read_parts(&r, e);
	if (rc < 0)
		return rc;
	if (r.unordered)
		log_msg(LOG_WARN, "speedscope", "frames that do not close in order: %zu",
			r.unordered);
	return profile_check(p, e);
}

bool speedscope_detect(const unsigned char *data, size_t len)
{
	size_t tail = len < 65536 ? len : 65536;

	return json_frames_is_object(data, len) &&
	       (json_frames_has(data, len, "speedscope") ||
		json_frames_has(data + len - tail, tail, "speedscope.app/file-format-schema"));
}

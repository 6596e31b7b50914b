/* SPDX-License-Identifier: MIT */
#include "format/json/dhat.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/number.h"
#include "base/rows.h"
#include "base/str.h"
#include "format/allocators.h"
#include "format/json_frames.h"

/* A number of a program point as a sample type. */
struct column {
	const char *key, *type, *unit;
	enum { ALWAYS, WITH_LIFETIMES, WITH_ACCESSES } when;
};

static const struct column heap_columns[] = {
	{ "tbk", "alloc_objects", "count", ALWAYS },
	{ "tb", "alloc_space", "bytes", ALWAYS },
	{ "ebk", "inuse_objects", "count", WITH_LIFETIMES },
	{ "eb", "inuse_space", "bytes", WITH_LIFETIMES },
	{ "gbk", "peak_objects", "count", WITH_LIFETIMES },
	{ "gb", "peak_space", "bytes", WITH_LIFETIMES },
	{ "rb", "read", "bytes", WITH_ACCESSES },
	{ "wb", "written", "bytes", WITH_ACCESSES },
	{ 0 },
};

static const struct column copy_columns[] = {
	{ "tbk", "copied_objects", "count", ALWAYS },
	{ "tb", "copied_space", "bytes", ALWAYS },
	{ 0 },
};

static const struct column ad_hoc_columns[] = {
	{ "tbk", "events", "count", ALWAYS },
	{ "tb", "units", "count", ALWAYS },
	{ 0 },
};

struct reader {
	struct profile *p;
	struct json points, frames; /* where their arrays begin */
	bool has_points, has_frames;
	struct json_text mode, command;
	int64_t version;
	bool has_lifetimes, has_accesses;
	const struct column *columns;
	size_t types[ARRAY_LEN(heap_columns)]; /* of the profile; SIZE_MAX: none */
	struct rows locations;                 /* uint32_t, by number of the frame */
	struct rows stack;                     /* uint32_t: numbers of frames, leaf first */
	struct buf scratch;
};

static void reader_fini(struct reader *r)
{
	rows_fini(&r->locations);
	rows_fini(&r->stack);
	buf_fini(&r->scratch);
}

static bool take_bool(struct json *j)
{
	char first = json_peek(j);

	if (first == 't' || first == 'f')
		return json_bool(j);
	json_skip(j);
	return false;
}

static struct json_text take_string(struct json *j)
{
	if (json_peek(j) == '"')
		return json_string(j);
	json_skip(j);
	return (struct json_text){ 0 };
}

static bool note_array(struct json *j, struct json *at)
{
	bool is_array = json_peek(j) == '[';

	*at = *j;
	json_skip(j);
	return is_array;
}

static void find_parts(struct reader *r, struct json *j)
{
	struct json_list o = json_object(j);
	struct json_text key;

	while (json_member(j, &o, &key)) {
		if (json_equals(&key, "dhatFileVersion")) {
			if (!json_scale(json_number_or_skip(j), 0, &r->version))
				r->version = 0;
		} else if (json_equals(&key, "mode")) {
			r->mode = take_string(j);
		} else if (json_equals(&key, "cmd")) {
			r->command = take_string(j);
		} else if (json_equals(&key, "bklt")) {
			r->has_lifetimes = take_bool(j);
		} else if (json_equals(&key, "bkacc")) {
			r->has_accesses = take_bool(j);
		} else if (json_equals(&key, "pps")) {
			r->has_points = note_array(j, &r->points);
		} else if (json_equals(&key, "ftbl")) {
			r->has_frames = note_array(j, &r->frames);
		} else {
			json_skip(j);
		}
	}
}

static void add_types(struct reader *r)
{
	r->columns = json_equals(&r->mode, "copy")     ? copy_columns
		     : json_equals(&r->mode, "ad-hoc") ? ad_hoc_columns
						       : heap_columns;
	for (size_t i = 0; r->columns[i].key; i++) {
		const struct column *c = &r->columns[i];
		bool is_there = c->when == ALWAYS ||
				(c->when == WITH_LIFETIMES ? r->has_lifetimes : r->has_accesses);

		r->types[i] = is_there ? profile_add_type(r->p, c->type, c->unit) : SIZE_MAX;
	}
	if (r->columns != heap_columns)
		return;
	profile_info(r->p)->default_type =
		profile_str(r->p, r->has_lifetimes ? "peak_space" : "alloc_space");
	profile_info(r->p)->drop_frames = profile_str(r->p, DROP_ALLOCATORS);
}

static uint32_t add_mapping(struct profile *p, struct str path)
{
	struct mapping m = { .limit = UINT64_MAX, .has_functions = true };

	m.path = profile_str_n(p, path.ptr, path.len);
	return m.path ? profile_add_mapping(p, &m) : 0;
}

/* "0x48417B4: malloc (in /usr/lib/x.so)", "0x109170: make (a.c:4)", or another text. The address
 * is cut off. */
static struct str skip_address(struct str text)
{
	const char *colon = text.len > 2 && memcmp(text.ptr, "0x", 2) == 0
				    ? memmem(text.ptr, text.len, ": ", 2)
				    : NULL;

	if (!colon)
		return text;
	return (struct str){ colon + 2, (size_t)(text.ptr + text.len - colon) - 2 };
}

/* The place in the brackets at its end, which are cut off; empty: there is none. */
static struct str cut_place(struct str *text)
{
	size_t open = text->len;
	struct str place = { text->ptr, 0 };

	if (!text->len || text->ptr[text->len - 1] != ')')
		return place;
	while (open && (text->ptr[open - 1] != '(' || open < 2 || text->ptr[open - 2] != ' '))
		open--;
	if (open < 3)
		return place;
	place = (struct str){ text->ptr + open, text->len - open - 1 };
	text->len = open - 2;
	return place;
}

/* "FILE:LINE" or, of the crate, "FILE:LINE:COLUMN": of at most two numbers, the first. */
static int64_t cut_line(struct str *file)
{
	int64_t line = 0;

	for (int i = 0; i < 2; i++) {
		size_t len = file->len;
		uint64_t number;

		while (len && file->ptr[len - 1] >= '0' && file->ptr[len - 1] <= '9')
			len--;
		if (len < 2 || len == file->len || file->ptr[len - 1] != ':' ||
		    number_parse(file->ptr + len, file->len - len, &number) != file->len - len ||
		    number > INT32_MAX)
			break;
		line = (int64_t)number;
		file->len = len - 1;
	}
	return line;
}

static uint32_t make_location(struct reader *r, struct str text)
{
	struct str name = skip_address(text), place = cut_place(&name);
	struct function f = { 0 };
	struct line line = { 0 };
	struct location l = { .lines = &line, .line_count = 1 };

	if (str_starts_with(place, "in ")) {
		l.mapping = add_mapping(r->p, (struct str){ place.ptr + 3, place.len - 3 });
	} else if (place.len) {
		line.line = cut_line(&place);
		f.file = profile_str_n(r->p, place.ptr, place.len);
	}
	if (!name.len || str_equals(name, "???"))
		name = (struct str){ "[unknown]", strlen("[unknown]") };
	f.name = f.system_name = profile_str_n(r->p, name.ptr, name.len);
	line.function = profile_add_function(r->p, &f);
	return profile_add_location(r->p, &l);
}

static int read_frames(struct reader *r, struct err *e)
{
	struct json j = r->frames;
	struct json_list a = json_array(&j);

	while (json_item(&j, &a)) {
		uint32_t *location = rows_add(&r->locations, sizeof *location);
		struct json_text text = take_string(&j);

		buf_clear(&r->scratch);
		if (text.len)
			json_unescape(text, &r->scratch);
		if (!location || buf_error(&r->scratch) < 0)
			return err_nomem(e);
		*location = make_location(r, (struct str){ r->scratch.data, r->scratch.len });
	}
	return profile_check(r->p, e);
}

static int read_stack(struct reader *r, struct json *j, struct err *e)
{
	struct json_list a = json_array(j);

	r->stack.count = 0;
	while (json_item(j, &a)) {
		uint32_t *frame;

		if (r->stack.count == FORMAT_MAX_DEPTH)
			return err_set(e, -EINVAL, "stack of more than %d frames",
				       FORMAT_MAX_DEPTH);
		frame = rows_add(&r->stack, sizeof *frame);
		if (!frame)
			return err_nomem(e);
		*frame = json_frames_index(j);
		if (*frame >= r->locations.count)
			return err_set(e, -EINVAL, "frame %u of %zu is used", *frame,
				       r->locations.count);
	}
	return 0;
}

static void take_value(struct reader *r, const struct json_text *key, struct json *j,
		       int64_t *values)
{
	int64_t value;

	for (size_t i = 0; r->columns[i].key; i++) {
		if (r->types[i] == SIZE_MAX || !json_equals(key, r->columns[i].key))
			continue;
		if (json_scale(json_number_or_skip(j), 0, &value))
			values[r->types[i]] = value;
		return;
	}
	json_skip(j);
}

/* Number 0, "[root]", stands for no frame. */
static uint32_t push_stack(struct reader *r)
{
	const uint32_t *frames = r->stack.data, *locations = r->locations.data;
	uint32_t node = 0;

	for (size_t i = r->stack.count; i-- > 0;)
		if (frames[i])
			node = profile_push(r->p, node, locations[frames[i]]);
	return node;
}

static int read_point(struct reader *r, struct json *j, struct err *e)
{
	struct json_list o = json_object(j);
	int64_t values[PROFILE_MAX_TYPES] = { 0 };
	struct json_text key;
	int rc = 0;

	r->stack.count = 0;
	while (rc == 0 && json_member(j, &o, &key)) {
		if (json_equals(&key, "fs") && json_peek(j) == '[')
			rc = read_stack(r, j, e);
		else
			take_value(r, &key, j, values);
	}
	if (rc < 0 || j->wrong)
		return rc;
	profile_add(r->p, push_stack(r), 0, values);
	return profile_check(r->p, e);
}

static int read_points(struct reader *r, struct err *e)
{
	struct json j = r->points;
	struct json_list a = json_array(&j);
	int rc = 0;

	while (rc == 0 && json_item(&j, &a))
		rc = read_point(r, &j, e);
	return rc < 0 || !j.wrong ? rc : json_frames_error(&j, e);
}

static void add_command(struct reader *r)
{
	if (!r->command.len)
		return;
	buf_clear(&r->scratch);
	buf_put_str(&r->scratch, "command: ");
	json_unescape(r->command, &r->scratch);
	buf_put_byte(&r->scratch, '\0');
	if (buf_error(&r->scratch) < 0)
		profile_fail_nomem(r->p);
	else
		profile_add_comment(r->p, r->scratch.data);
}

static int dhat_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
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
	if (r.version != 2)
		return err_set(e, -EINVAL, "version %lld of DHAT's files, not 2",
			       (long long)r.version);
	if (!r.has_points || !r.has_frames)
		return err_set(e, -EINVAL, "there are no %s", r.has_points ? "frames" : "points");
	add_types(&r);
	add_command(&r);
	rc = read_frames(&r, e);
	return rc < 0 ? rc : read_points(&r, e);
}

static bool dhat_detect(const unsigned char *data, size_t len)
{
	return json_frames_is_object(data, len) &&
	       json_frames_has(data, len, "\"dhatFileVersion\"");
}

static const char *const suffixes[] = { ".dhat.json", NULL };

const struct format format_dhat = {
	.name = "dhat",
	.summary = "heap profiles of valgrind's DHAT, and of the crate dhat",
	.mark = "\"dhatFileVersion\"",
	.lost = "lifetimes, accesses by offset",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = dhat_detect,
	.read = dhat_read,
};

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/log.h"
#include "base/map.h"
#include "base/number.h"
#include "base/str.h"
#include "format/callgrind/callgrind.h"
#include "format/callgrind/graph.h"

struct reader {
	struct profile *p;
	struct callgrind_graph graph;
	struct cursor text;
	size_t line_number;
	struct map files, functions;  /* string ids, by the numbers of compressed names */
	struct rows units;            /* struct unit */
	size_t position_count;        /* numbers in front of the costs of a line */
	uint32_t file;                /* string id: of the lines that follow */
	uint32_t function_file;       /* of the function that follows */
	uint32_t function;            /* index in graph */
	uint32_t callee, callee_file; /* string ids, 0: none was named */
	bool has_callee;
	bool has_call, has_jump; /* the next line is that of a call, of a jump */
	size_t skipped, first_skipped;
};

/* A line "event: NAME : TEXT in UNIT". */
struct unit {
	struct str name, unit; /* borrowed */
};

static void reader_fini(struct reader *r)
{
	callgrind_graph_fini(&r->graph);
	map_fini(&r->files);
	map_fini(&r->functions);
	rows_fini(&r->units);
}

static void skip(struct reader *r)
{
	if (!r->skipped++)
		r->first_skipped = r->line_number;
}

/* "(7) name" names and numbers, "(7)" repeats, "name" only names. */
static int take_name(struct reader *r, struct map *names, struct str text, uint32_t *ret)
{
	size_t close = str_find(text, ")");
	uint64_t number;

	text = str_trim(text);
	if (!str_starts_with(text, "(") || close >= text.len ||
	    number_parse(text.ptr + 1, close - 1, &number) != close - 1 || close == 1) {
		*ret = profile_str_n(r->p, text.ptr, text.len);
		return profile_error(r->p);
	}
	text = str_trim(str_part(text, close + 1, text.len));
	if (!text.len) {
		*ret = map_get(names, number);
		if (*ret == MAP_NONE)
			*ret = 0;
		return 0;
	}
	*ret = profile_str_n(r->p, text.ptr, text.len);
	return map_put(names, number, *ret);
}

static uint32_t find_function(struct reader *r, uint32_t name, uint32_t file)
{
	if (str_equals(profile_get_str(r->p, file), "???"))
		file = 0;
	return callgrind_graph_function(&r->graph, name ? name : profile_str(r->p, "???"), file);
}

static int begin_function(struct reader *r, struct str value)
{
	uint32_t name;

	if (take_name(r, &r->functions, value, &name) < 0)
		return -ENOMEM;
	r->file = r->function_file;
	r->function = find_function(r, name, r->file);
	return r->function == CALLGRIND_NO_FUNCTION ? -ENOMEM : 0;
}

static int take_callee(struct reader *r, struct str value)
{
	r->has_callee = true;
	return take_name(r, &r->functions, value, &r->callee);
}

/* "fn=", "calls=" and the like. 1: it is none. */
static int read_mark(struct reader *r, struct str line)
{
	size_t at = str_find(line, "=");
	struct str key = str_part(line, 0, at), value;
	int rc;

	if (at == line.len)
		return 1;
	value = str_part(line, at + 1, line.len);
	if (str_equals(key, "fn"))
		return r->graph.event_count ? begin_function(r, value) : 1;
	if (str_equals(key, "cfn"))
		return take_callee(r, value);
	if (str_equals(key, "cfi") || str_equals(key, "cfl"))
		return take_name(r, &r->files, value, &r->callee_file);
	if (str_equals(key, "fl") || str_equals(key, "fi") || str_equals(key, "fe")) {
		rc = take_name(r, &r->files, value, &r->file);
		if (key.ptr[1] == 'l')
			r->function_file = r->file;
		return rc;
	}
	r->has_call |= str_equals(key, "calls");
	r->has_jump |= str_equals(key, "jump") || str_equals(key, "jcnd");
	return str_equals(key, "calls") || str_equals(key, "ob") || str_equals(key, "cob") ||
			       str_equals(key, "jump") || str_equals(key, "jcnd") ||
			       str_equals(key, "rcalls")
		       ? 0
		       : 1;
}

/* The unit at the end of an event's description. */
static struct str find_unit(const struct reader *r, struct str event)
{
	const struct unit *units = r->units.data;

	for (size_t i = 0; i < r->units.count; i++)
		if (units[i].name.len == event.len &&
		    memcmp(units[i].name.ptr, event.ptr, event.len) == 0)
			return units[i].unit;
	return (struct str){ "count", strlen("count") };
}

static int add_event(struct reader *r, struct str name)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct str unit = find_unit(r, name);
	size_t at;

	buf_put(&text, name.ptr, name.len);
	buf_put_byte(&text, '\0');
	at = text.len;
	buf_put(&text, unit.ptr, unit.len);
	buf_put_byte(&text, '\0');
	if (buf_error(&text) < 0)
		return -ENOMEM;
	profile_add_type(r->p, text.data, text.data + at);
	return profile_error(r->p);
}

/* "events: Ir Dr". Those of a further part must be the same. */
static int read_events(struct reader *r, struct str names)
{
	struct str name;
	int rc = 0;

	if (r->graph.event_count)
		return 0;
	while (rc == 0 && (name = str_take_word(&names)).len)
		rc = add_event(r, name);
	if (rc < 0)
		return rc;
	r->graph.event_count = profile_type_count(r->p);
	if (r->graph.event_count)
		profile_info(r->p)->default_type = profile_get_type(r->p, 0).type;
	return 0;
}

/* "event: Ir : instructions in count" */
static int read_event(struct reader *r, struct str text)
{
	struct str name = str_take_word(&text);
	const char *in = text.len ? memmem(text.ptr, text.len, " in ", 4) : NULL;
	struct unit *unit;

	if (!in)
		return 0;
	unit = rows_add(&r->units, sizeof *unit);
	if (!unit)
		return -ENOMEM;
	unit->name = name;
	unit->unit = str_trim(str_part(text, (size_t)(in - text.ptr) + 4, text.len));
	return 0;
}

/* "events: Ir", "cmd: ./program". */
static int read_header(struct reader *r, struct str line)
{
	size_t at = str_find(line, ":");
	struct str key = str_part(line, 0, at), value;

	if (at == line.len) {
		skip(r);
		return 0;
	}
	value = str_part(line, at + 1, line.len);
	if (str_equals(key, "events"))
		return read_events(r, value);
	if (str_equals(key, "event"))
		return r->units.count < PROFILE_MAX_TYPES ? read_event(r, value) : 0;
	if (str_equals(key, "positions")) {
		r->position_count = 0;
		while (str_take_word(&value).len)
			r->position_count++;
	}
	return 0;
}

/* The costs of a line; those that are not there are 0. False: they are no numbers. */
static bool parse_costs(const struct reader *r, struct str line, int64_t *ret)
{
	struct str word;

	for (size_t i = 0; i < r->position_count; i++)
		str_take_word(&line);
	for (size_t i = 0; i < r->graph.event_count; i++) {
		uint64_t value = 0;

		word = str_take_word(&line);
		if (word.len &&
		    (number_parse(word.ptr, word.len, &value) != word.len || value > INT64_MAX))
			return false;
		ret[i] = (int64_t)value;
	}
	return true;
}

static int read_costs(struct reader *r, struct str line)
{
	int64_t costs[PROFILE_MAX_TYPES];
	bool is_call = r->has_call, is_jump = r->has_jump, has_callee = r->has_callee;
	uint32_t callee;

	r->has_call = r->has_jump = false;
	if (is_jump)
		return 0;
	if (is_call)
		r->has_callee = false;
	if (r->function == CALLGRIND_NO_FUNCTION || !parse_costs(r, line, costs) ||
	    (is_call && !has_callee)) {
		skip(r);
		return 0;
	}
	if (!is_call) {
		callgrind_graph_add_cost(&r->graph, r->function, costs);
		return 0;
	}
	callee = find_function(r, r->callee, r->callee_file ? r->callee_file : r->file);
	r->callee = r->callee_file = 0;
	if (callee == CALLGRIND_NO_FUNCTION)
		return -ENOMEM;
	return callgrind_graph_add_call(&r->graph, r->function, callee, costs);
}

static int read_line(struct reader *r, struct str line)
{
	int rc;

	line = str_trim(line);
	if (!line.len || *line.ptr == '#')
		return 0;
	if (number_is_digit(*line.ptr) || strchr("+-*", *line.ptr))
		return read_costs(r, line);
	rc = read_mark(r, line);
	return rc > 0 ? read_header(r, line) : rc;
}

int callgrind_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	CLEANUP(reader_fini)
	struct reader r = { .p = p,
			    .graph.p = p,
			    .text = cursor_make(data, len),
			    .position_count = 1,
			    .function = CALLGRIND_NO_FUNCTION };
	struct str line;

	while (cursor_line(&r.text, &line.ptr, &line.len)) {
		r.line_number++;
		if (read_line(&r, line) < 0)
			return profile_check(p, e) < 0 ? e->code : err_nomem(e);
	}
	if (!r.graph.event_count)
		return err_set(e, -EINVAL, "there are no events");
	if (r.skipped)
		log_msg(LOG_WARN, "callgrind",
			"lines that are no part of the format and are skipped: %zu, the first is "
			"line %zu",
			r.skipped, r.first_skipped);
	profile_info(p)->skipped_lines = r.skipped;
	return callgrind_graph_stacks(&r.graph, e);
}

/* The lines at the start have "events:" and a function. */
bool callgrind_detect(const unsigned char *data, size_t len)
{
	enum { LOOK_BYTES = 65536 };
	struct str start = { (const char *)data, len < LOOK_BYTES ? len : LOOK_BYTES };

	if (!start.len || memchr(start.ptr, 0, start.len))
		return false;
	if (str_starts_with(start, "# callgrind format"))
		return true;
	if (!str_starts_with(start, "events:") && str_find(start, "\nevents:") == start.len)
		return false;
	return str_find(start, "\nfn=") < start.len || str_find(start, "\nfl=") < start.len;
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "cli/cmd.h"
#include "cli/profile_opts.h"
#include "cli/screen.h"
#include "model/suggest.h"
#include "source/inputs.h"
#include "source/listing.h"
#include "source/load.h"
#include "source/source_lines.h"
#include "view/annotate.h"
#include "view/report.h"

#define MAX_OTHERS 5 /* further functions that match, named */

struct args {
	struct filter_args filter;
	struct binaries_args places;
	const char *value, *from, *memory;
	bool is_all;
	int format; /* enum emit_format */
	int color;  /* enum color_when */
};

static const struct opt opts[] = {
	OPT_FLAG(0, "all", struct args, is_all,
		 "Show all lines and instructions [default: the hot ones, and 3 beside]"),
	OPT_INCLUDE(struct args, filter, filter_opts),
	OPT_INCLUDE(struct args, places, places_opts),
	OPT_STR(0, "value", "TYPE", struct args, value,
		"Show this sample type [default: the one that the profile names]"),
	OPT_STR(0, "from", "FORMAT", struct args, from,
		"Read PROFILE as this format [default: by its content]"),
	OPT_STR(0, "memory", "FILE", struct args, memory,
		"Show what each line of a script allocates, too: of FILE, a profile of auger heap"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Write the rows as a table, CSV or JSON [default table]"),
	OPT_COLOR(struct args, color),
	OPT_END,
};

/* What is annotated: functions of one name, or of one file. */
struct choice {
	bool *is_chosen;          /* [function count]; owned */
	uint32_t function;        /* id of the one to show; 0: a file */
	uint32_t file;            /* string id: of its source; 0: unknown */
	struct line_values costs; /* owned */
};

static void choice_fini(struct choice *c)
{
	free(c->is_chosen);
	line_values_fini(&c->costs);
}

static const char *function_name(const struct profile *p, uint32_t id)
{
	return profile_text(p, profile_get_function(p, id)->name);
}

static size_t choose_exactly(const struct profile *p, const char *name, bool *is_chosen)
{
	size_t count = 0;

	for (uint32_t i = 1; i < profile_function_count(p); i++) {
		is_chosen[i] = strcmp(function_name(p, i), name) == 0;
		count += is_chosen[i];
	}
	return count;
}

static size_t choose_by_regex(const struct profile *p, const char *text, bool *is_chosen)
{
	size_t count = 0;
	regex_t regex;

	if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB) != 0)
		return 0;
	for (uint32_t i = 1; i < profile_function_count(p); i++) {
		is_chosen[i] = regexec(&regex, function_name(p, i), 0, NULL, 0) == 0;
		count += is_chosen[i];
	}
	regfree(&regex);
	return count;
}

/* Does path end in name, at a '/'? */
static bool is_path_end(const char *path, const char *name, size_t len)
{
	size_t path_len = strlen(path);

	return len && path_len >= len && strncmp(path + path_len - len, name, len) == 0 &&
	       (path_len == len || path[path_len - len - 1] == '/');
}

/* Marks the functions that have code of this line; 0: all. */
static void mark_line(const struct profile *p, int64_t line, bool *is_marked)
{
	memset(is_marked, line == 0, profile_function_count(p) * sizeof *is_marked);
	for (uint32_t i = 1; line && i < profile_location_count(p); i++) {
		struct location l = profile_get_location(p, i);

		for (uint32_t k = 0; k < l.line_count; k++)
			is_marked[l.lines[k].function] |= l.lines[k].line == line;
	}
}

/* FILE or FILE:LINE; *ret_file: string id of the first file that matches. */
static size_t choose_by_file(const struct profile *p, const char *text, bool *is_chosen,
			     uint32_t *ret_file)
{
	const char *colon = strrchr(text, ':');
	int64_t line = colon ? atoll(colon + 1) : 0;
	size_t len = colon ? (size_t)(colon - text) : strlen(text), count = 0;

	*ret_file = 0;
	mark_line(p, line, is_chosen);
	for (uint32_t i = 1; i < profile_function_count(p); i++) {
		uint32_t file = profile_get_function(p, i)->file;

		is_chosen[i] = is_chosen[i] && file && (!*ret_file || file == *ret_file) &&
			       is_path_end(profile_text(p, file), text, len);
		if (is_chosen[i])
			*ret_file = file;
		count += is_chosen[i];
	}
	return count;
}

/* The first chosen function of each name, by the name's string id. 0 or -ENOMEM. */
static int map_names(const struct profile *p, const bool *is_chosen, struct map *ret)
{
	int rc = 0;

	for (uint32_t i = (uint32_t)profile_function_count(p); rc == 0 && --i > 0;)
		if (is_chosen[i])
			rc = map_put(ret, profile_get_function(p, i)->name, i);
	return rc;
}

/* Of several functions the costliest is shown, and some of the others are named. */
static int keep_costliest(const struct profile *p, size_t type, struct choice *c, struct err *e)
{
	CLEANUP(buf_fini) struct buf others = { 0 };
	CLEANUP(map_fini) struct map by_name = { 0 };
	struct flat f;
	uint32_t *rows;
	size_t count, named = 0;
	int rc;

	if (map_names(p, c->is_chosen, &by_name) < 0)
		return err_nomem(e);
	rc = flat_init(&f, p, FRAME_BY_FUNCTION, type, -1, e);
	if (rc < 0)
		return rc;
	rc = flat_sorted(&f, FLAT_BY_TOTAL, &rows, &count, e);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		uint32_t name = profile_find_str(p, flat_name(&f, rows[i]));
		uint32_t k = map_get(&by_name, name);

		if (k == MAP_NONE)
			continue;
		if (!c->function)
			c->function = k;
		else if (profile_get_function(p, c->function)->name != name && named++ < MAX_OTHERS)
			buf_printf(&others, "%s%s", others.len ? ", " : "", function_name(p, k));
	}
	if (rc == 0)
		free(rows);
	flat_fini(&f);
	if (named)
		log_msg(LOG_WARN, "annotate", "%zu other functions match: %s%s", named,
			others.data ? others.data : "", named > MAX_OTHERS ? ", ..." : "");
	return rc;
}

static int none_chosen(const struct profile *p, const char *what, struct err *e)
{
	struct nearest near = nearest_start(what, strlen(what));

	suggest_functions(p, &near);
	return err_set(e, -ENOENT, "no function or source file '%s' was sampled%s", what,
		       nearest_text(&near, ""));
}

static int choose(const struct profile *p, size_t type, const char *what, struct choice *c,
		  struct err *e)
{
	int rc = 0;

	c->is_chosen = calloc(profile_function_count(p) + 1, sizeof *c->is_chosen);
	if (!c->is_chosen)
		return err_nomem(e);
	if (choose_exactly(p, what, c->is_chosen) ||
	    !choose_by_file(p, what, c->is_chosen, &c->file)) {
		if (!choose_exactly(p, what, c->is_chosen) &&
		    !choose_by_regex(p, what, c->is_chosen))
			return none_chosen(p, what, e);
		rc = keep_costliest(p, type, c, e);
	}
	if (rc == 0 && c->function) {
		c->file = profile_get_function(p, c->function)->file;
		choose_exactly(p, function_name(p, c->function), c->is_chosen);
	}
	return rc == 0 ? line_values_collect(&c->costs, p, type, c->is_chosen, e) : rc;
}

/* The binary that has the code, as far as addresses show it. */
static const char *binary_of(const struct profile *p, const struct choice *c)
{
	uint32_t mapping = c->costs.address_count ? c->costs.addresses[0].mapping : 0;

	return mapping ? profile_text(p, profile_get_mapping(p, mapping)->path) : "";
}

static int load_source(struct source_lines *s, const struct profile *p, const struct choice *c,
		       struct err *e)
{
	const char *path = profile_text(p, c->file);
	int rc = *path ? source_lines_load(s, path, binary_of(p, c), e) : 0;

	if (rc < 0 && rc != -ENOMEM)
		log_msg(LOG_WARN, "annotate", "no source: %s", e->msg);
	return rc == -ENOMEM ? rc : 0;
}

static void put_head(struct emit *out, const struct profile *p, const char *path,
		     const struct choice *c, size_t type, int64_t whole)
{
	const char *unit = report_unit(p, type);

	emit_head_str(out, "profile", path);
	if (c->function)
		emit_head_str(out, "function", function_name(p, c->function));
	if (c->file)
		emit_head_str(out, "source", profile_text(p, c->file));
	emit_head_str(out, "type", profile_text(p, profile_get_type(p, type).type));
	emit_head_value(out, "self", c->costs.self, unit);
	emit_head_value(out, "total", c->costs.total, unit);
	emit_head_value(out, "of", whole, unit);
}

/* What the lines of a script cost by what ran, and what they allocate. */
struct script {
	struct script_lines parts, memory;
	bool is_one, has_memory;
	const char *memory_unit; /* owned by heap */
	struct profile *heap;
};

static void script_fini(struct script *s)
{
	script_lines_fini(&s->parts);
	script_lines_fini(&s->memory);
	profile_free(s->heap);
}

static int load_memory(const struct args *args, const char *file, struct script *ret, struct err *e)
{
	size_t type;
	int rc = load_profile(args->memory, NULL, &args->places, &ret->heap, e);

	if (rc == 0)
		rc = choose_type(ret->heap, NULL, &type, e);
	if (rc < 0)
		return rc;
	ret->has_memory = true;
	ret->memory_unit = report_unit(ret->heap, type);
	return script_lines_collect(&ret->memory, ret->heap, type,
				    profile_find_str(ret->heap, file), e);
}

static int load_script(const struct args *args, const struct profile *p, size_t type,
		       const struct choice *c, struct script *ret, struct err *e)
{
	int rc = script_lines_collect(&ret->parts, p, type, c->file, e);

	ret->is_one = ret->parts.rows.count;
	if (rc == 0 && args->memory && !ret->is_one)
		return err_set(e, -EINVAL, "--memory is of scripts: '%s' is none",
			       profile_text(p, c->file));
	return rc == 0 && args->memory ? load_memory(args, profile_text(p, c->file), ret, e) : rc;
}

static int put(const struct args *args, const struct profile *p, const char *path, size_t type,
	       const struct choice *c, struct buf *text, struct err *e)
{
	CLEANUP(source_lines_fini) struct source_lines source = { 0 };
	CLEANUP(script_fini) struct script script = { 0 };
	const char *file = profile_text(p, c->file);
	struct screen screen = screen_get((enum color_when)args->color);
	struct listing *listing = NULL;
	struct annotation a = {
		.profile = p,
		.type = type,
		.whole = report_facts(p, type).total,
		.costs = &c->costs,
		.file = c->file,
		.start_line = c->function ? profile_get_function(p, c->function)->start_line : 0,
		.is_short = !args->is_all && args->format == EMIT_TABLE,
	};
	CLEANUP(emit_fini) struct emit out = { 0 };
	int rc = load_source(&source, p, c, e);

	if (rc == 0)
		rc = load_script(args, p, type, c, &script, e);
	if (rc == 0 && c->function)
		rc = listing_new(&listing, p, &c->costs, function_name(p, c->function), file, e);
	if (rc < 0)
		return rc;
	if (listing)
		a.insns = listing_insns(listing, &a.insn_count);
	a.parts = script.is_one ? &script.parts : NULL;
	a.memory = script.has_memory ? &script.memory : NULL;
	a.memory_unit = script.memory_unit;
	a.source = source.lines;
	a.source_count = source.count;
	emit_begin(&out,
		   &(struct emit_opts){ .format = (enum emit_format)args->format,
					.width = screen.width,
					.has_color = screen.has_color,
					.is_verbose = cmd_is_verbose() },
		   text);
	put_head(&out, p, path, c, type, a.whole);
	rc = annotate_put(&out, &a, e);
	if (rc == 0 && emit_end(&out) < 0)
		rc = err_nomem(e);
	listing_free(listing);
	return rc;
}

static int annotate(const struct args *args, const char *what, struct inputs *in,
		    struct profile **p, struct err *e)
{
	const struct inputs_opts o = { .from = args->from, .places = &args->places };
	CLEANUP(buf_fini) struct buf text = { 0 }, name = { 0 };
	CLEANUP(choice_fini) struct choice choice = { 0 };
	struct screen screen = screen_get((enum color_when)args->color);
	size_t type;
	int rc = inputs_load(in, &o, p, e);

	if (rc < 0)
		return rc;
	inputs_describe(in, &name);
	if (buf_error(&name) < 0)
		return err_nomem(e);
	rc = apply_filter(p, &args->filter, e);
	if (rc == 0)
		rc = choose_type(*p, args->value, &type, e);
	if (rc == 0)
		rc = choose(*p, type, what, &choice, e);
	if (rc == 0)
		rc = put(args, *p, name.data, type, &choice, &text, e);
	return rc == 0 ? screen_show(&screen, &text, e) : rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
	CLEANUP(inputs_close) struct inputs in = { 0 };
	struct profile *p = NULL;
	int first, rc = cmd_parse(&cmd_annotate, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (argc - first < 1)
		return err_usage(e, "what to annotate? FUNC, FILE or FILE:LINE, then the PROFILE");
	rc = inputs_open(&in, argv + first + 1, (size_t)(argc - first - 1), NULL, e);
	if (rc == 0)
		rc = annotate(&args, argv[first], &in, &p, e);
	profile_free(p);
	return rc;
}

const struct cmd cmd_annotate = {
	.name = "annotate",
	.operands = "FUNC|FILE[:LINE] [PROFILE|FOLDER...]",
	.summary = "show what each line and instruction of a function costs",
	.verbose = "Also show which code is inlined, and print what is read",
	.opts = opts,
	.run = run,
};

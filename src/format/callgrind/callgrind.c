/* SPDX-License-Identifier: MIT */
#include "format/callgrind/callgrind.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "base/strtab.h"
#include "format/callgrind/costs.h"
#include "format/frame.h"

struct writer {
	const struct profile *p;
	struct callgrind_costs costs;
	size_t types;
	size_t order[PROFILE_MAX_TYPES]; /* types as they are written */
	/* names by number, so that each stands once in full */
	struct strtab *objects, *files, *functions;
	struct buf name; /* being made */
	struct buf *out;
};

static void writer_fini(struct writer *w)
{
	callgrind_costs_fini(&w->costs);
	strtab_free(w->objects);
	strtab_free(w->files);
	strtab_free(w->functions);
	buf_fini(&w->name);
}

static int writer_init(struct writer *w, struct err *e)
{
	size_t first = profile_default_type(w->p), count = 0;

	w->types = profile_type_count(w->p);
	if (!w->types)
		return err_set(e, -EINVAL, "there is no sample type");
	w->order[count++] = first;
	for (size_t i = 0; i < w->types; i++)
		if (i != first)
			w->order[count++] = i;
	w->objects = strtab_new();
	w->files = strtab_new();
	w->functions = strtab_new();
	return w->objects && w->files && w->functions ? 0 : err_nomem(e);
}

/* A name is one line, and never empty: that would be a number without a name. */
static void clean_name(struct buf *name)
{
	for (size_t i = 0; i < name->len; i++)
		if ((unsigned char)name->data[i] < ' ')
			name->data[i] = ' ';
	if (!name->len)
		buf_put_str(name, "???");
}

/* "fn=(3) name", and "fn=(3)" from the second time on. */
static void put_name(struct writer *w, const char *key, struct strtab *names)
{
	size_t known = strtab_count(names);
	uint32_t id;

	clean_name(&w->name);
	id = buf_error(&w->name) < 0 ? STRTAB_NONE
				     : strtab_intern(names, w->name.data, w->name.len);
	if (id == STRTAB_NONE) {
		w->out->bad = true;
		return;
	}
	buf_printf(w->out, "%s=(%u)", key, id + 1);
	if (id == known) {
		buf_put_byte(w->out, ' ');
		buf_put(w->out, w->name.data, w->name.len);
	}
	buf_put_byte(w->out, '\n');
}

static const struct callgrind_function *get_function(const struct writer *w, uint32_t place)
{
	return (const struct callgrind_function *)w->costs.functions.data + place;
}

static void take_str(struct writer *w, uint32_t id)
{
	struct str text = profile_get_str(w->p, id);

	buf_clear(&w->name);
	buf_put(&w->name, text.ptr, text.len);
}

/* All zero for the samples without a stack. */
static struct function function_of(const struct writer *w, const struct callgrind_function *fn)
{
	if (fn->function == callgrind_no_stack(w->p))
		return (struct function){ 0 };
	return *profile_get_function(w->p, fn->function);
}

static void make_name(struct writer *w, const struct callgrind_function *fn)
{
	struct line line = { .function = fn->function };
	struct location l = { .mapping = fn->mapping, .lines = &line, .line_count = 1 };

	buf_clear(&w->name);
	if (fn->function == callgrind_no_stack(w->p))
		buf_put_str(&w->name, FORMAT_NO_STACK);
	else
		frame_put_name(w->p, &l, 0, &w->name);
}

/* keys: of object, file and function. */
static void put_function(struct writer *w, const char *const keys[3], uint32_t place)
{
	const struct callgrind_function *fn = get_function(w, place);

	take_str(w, fn->path);
	put_name(w, keys[0], w->objects);
	take_str(w, function_of(w, fn).file);
	put_name(w, keys[1], w->files);
	make_name(w, fn);
	put_name(w, keys[2], w->functions);
}

static void put_values(struct writer *w, int64_t line, const int64_t *values)
{
	buf_put_int(w->out, line);
	for (size_t i = 0; i < w->types; i++) {
		buf_put_byte(w->out, ' ');
		buf_put_int(w->out, values[w->order[i]]);
	}
	buf_put_byte(w->out, '\n');
}

static void put_call(struct writer *w, const struct callgrind_cost *cost)
{
	static const char *const keys[] = { "cob", "cfi", "cfn" };
	int64_t first_line = function_of(w, get_function(w, cost->callee)).start_line;

	put_function(w, keys, cost->callee);
	buf_printf(w->out, "calls=%" PRId64 " %" PRId64 "\n", cost->calls > 0 ? cost->calls : 1,
		   first_line > 0 ? first_line : 0);
	put_values(w, cost->line, cost->values);
}

static void put_costs(struct writer *w)
{
	static const char *const keys[] = { "ob", "fl", "fn" };
	uint32_t caller = NO_CALLEE;

	for (uint32_t i = 0; i < w->costs.costs.count; i++) {
		const struct callgrind_cost *cost = callgrind_costs_get(&w->costs, i);

		if (cost->caller != caller) {
			caller = cost->caller;
			buf_put_byte(w->out, '\n');
			put_function(w, keys, caller);
		}
		if (cost->callee == NO_CALLEE)
			put_values(w, cost->line, cost->values);
		else
			put_call(w, cost);
	}
}

/* An event's name is a word of letters and digits; equal ones get a number. */
static void make_event(struct writer *w, size_t type, struct strtab *events)
{
	const char *text = profile_text(w->p, profile_get_type(w->p, type).type);
	struct buf *name = &w->name;
	uint32_t known = (uint32_t)strtab_count(events);

	buf_clear(name);
	for (; *text; text++) {
		bool is_letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
		bool is_digit = number_is_digit(*text) && name->len;

		buf_put_byte(name, is_letter || is_digit ? (unsigned char)*text : '_');
	}
	if (!name->len)
		buf_put_str(name, "value");
	if (strtab_find(events, name->data, name->len) != STRTAB_NONE)
		buf_printf(name, "_%u", known + 1);
	if (buf_error(name) < 0 || strtab_intern(events, name->data, name->len) == STRTAB_NONE)
		w->out->bad = true;
}

static void put_line_of(struct buf *out, const char *key, const char *text)
{
	buf_put_str(out, key);
	for (; *text; text++)
		buf_put_byte(out, (unsigned char)*text < ' ' ? ' ' : (unsigned char)*text);
	buf_put_byte(out, '\n');
}

/* auger's own comments are "key: value" lines. */
static void put_comments(struct writer *w)
{
	static const char command[] = "command: ";

	for (size_t i = 0; i < profile_comment_count(w->p); i++) {
		const char *text = profile_get_comment(w->p, i);

		if (strncmp(text, command, sizeof command - 1) == 0)
			put_line_of(w->out, "cmd: ", text + sizeof command - 1);
		else
			put_line_of(w->out, "desc: ", text);
	}
}

static int put_events(struct writer *w)
{
	CLEANUP(buf_fini) struct buf names = { 0 };
	struct strtab *events = strtab_new();

	if (!events)
		return -ENOMEM;
	for (size_t i = 0; i < w->types; i++) {
		struct value_type t = profile_get_type(w->p, w->order[i]);

		make_event(w, w->order[i], events);
		buf_printf(&names, " %s", w->name.data ? w->name.data : "");
		buf_printf(w->out, "event: %s : ", w->name.data ? w->name.data : "");
		buf_put_str(w->out, profile_text(w->p, t.type));
		put_line_of(w->out, " in ", profile_text(w->p, t.unit));
	}
	strtab_free(events);
	put_line_of(w->out, "events:", names.data ? names.data : "");
	return buf_error(&names);
}

static void put_totals(struct writer *w, const char *key)
{
	int64_t totals[PROFILE_MAX_TYPES] = { 0 };

	for (size_t i = 0; i < w->costs.costs.count; i++) {
		const struct callgrind_cost *cost = callgrind_costs_get(&w->costs, i);

		for (size_t k = 0; k < w->types && cost->callee == NO_CALLEE; k++)
			number_add(&totals[k], cost->values[k]);
	}
	buf_put_str(w->out, key);
	for (size_t i = 0; i < w->types; i++) {
		buf_put_byte(w->out, ' ');
		buf_put_int(w->out, totals[w->order[i]]);
	}
	buf_put_byte(w->out, '\n');
}

int callgrind_write(const struct profile *p, struct buf *out, struct err *e)
{
	CLEANUP(writer_fini) struct writer w = { .p = p, .costs = { .p = p }, .out = out };
	int rc = writer_init(&w, e);

	if (rc == 0)
		rc = callgrind_costs_make(&w.costs, e);
	if (rc < 0)
		return rc;
	buf_put_str(out, "# callgrind format\nversion: 1\ncreator: auger " AUGER_VERSION "\n");
	put_comments(&w);
	buf_put_str(out, "positions: line\n");
	if (put_events(&w) < 0)
		return err_nomem(e);
	put_totals(&w, "summary:");
	put_costs(&w);
	buf_put_byte(out, '\n');
	put_totals(&w, "totals:");
	return 0;
}

static const char *const suffixes[] = { ".callgrind", NULL };

const struct format format_callgrind = {
	.name = "callgrind",
	.summary = "costs by line and call: valgrind, KCachegrind, xdebug",
	.mark = "# callgrind format, or events: and fn=",
	.lost = "lines, objects, jumps; stacks are estimated",
	.suffixes = suffixes,
	.is_text = true,
	.is_foreign = true,
	.detect = callgrind_detect,
	.read = callgrind_read,
	.write = callgrind_write,
};

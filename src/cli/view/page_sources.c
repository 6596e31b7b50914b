/* SPDX-License-Identifier: MIT */
#include "cli/view/page_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "source/listing.h"
#include "source/source_lines.h"
#include "view/flat.h"
#include "view/page/page_source.h"

#define MAX_FUNCTIONS 40
#define MAX_FAILURES 2 /* functions without instructions, then no more are looked for */

struct sources {
	const struct profile *p;
	struct buf *out;
	size_t type;
	bool *is_chosen; /* [function count]; owned */
	size_t functions, without_text, without_insns;
	struct err reason; /* of the first one without text */
};

/* The functions of this name, and their source file; *ret_start: its line. */
static uint32_t choose(struct sources *s, const char *name, int64_t *ret_start)
{
	uint32_t file = 0;

	for (uint32_t i = 1; i < profile_function_count(s->p); i++) {
		const struct function *f = profile_get_function(s->p, i);

		s->is_chosen[i] = strcmp(profile_text(s->p, f->name), name) == 0;
		if (s->is_chosen[i] && f->file && !file) {
			file = f->file;
			*ret_start = f->start_line;
		}
	}
	return file;
}

/* The binary that has the code, as far as addresses show it. */
static const char *binary_of(const struct profile *p, const struct line_values *v)
{
	uint32_t mapping = v->address_count ? v->addresses[0].mapping : 0;

	return mapping ? profile_text(p, profile_get_mapping(p, mapping)->path) : "";
}

static int load_text(struct sources *s, uint32_t file, const char *binary, struct source_lines *ret,
		     struct err *e)
{
	const char *path = profile_text(s->p, file);
	int rc = *path ? source_lines_load(ret, path, binary, e) : 0;

	if (rc == -ENOMEM)
		return rc;
	s->functions++;
	if (rc < 0 && !s->without_text++)
		s->reason = *e;
	return 0;
}

/* *ret stays NULL when there are none. */
static int load_insns(struct sources *s, const struct line_values *values, const char *function,
		      const char *file, struct listing **ret, struct err *e)
{
	const char *binary = binary_of(s->p, values);
	size_t count;
	int rc;

	if (*binary != '/' || access(binary, R_OK) < 0 || s->without_insns == MAX_FAILURES)
		return 0;
	rc = listing_new(ret, s->p, values, function, file, e);
	if (rc == 0) {
		listing_insns(*ret, &count);
		s->without_insns += count == 0;
	}
	return rc;
}

static int put_values(struct sources *s, struct page_source *source, struct err *e)
{
	CLEANUP(source_lines_fini) struct source_lines text = { 0 };
	const char *file = profile_text(s->p, source->file);
	struct listing *listing = NULL;
	int rc = load_text(s, source->file, binary_of(s->p, source->values), &text, e);

	if (rc == 0)
		rc = load_insns(s, source->values, source->function, file, &listing, e);
	if (rc < 0)
		return rc;
	source->text = text.lines;
	source->text_count = text.count;
	if (listing)
		source->insns = listing_insns(listing, &source->insn_count);
	page_source_put(s->out, s->p, source);
	listing_free(listing);
	return 0;
}

static bool has_lines(const struct line_values *v, uint32_t file)
{
	for (size_t i = 0; i < v->line_count; i++)
		if (v->lines[i].line > 0 && v->lines[i].file == file)
			return true;
	return false;
}

static int add_function(struct sources *s, const char *function, const char *module, struct err *e)
{
	struct page_source source = { .function = function, .module = module };
	struct line_values values;
	int rc;

	source.file = choose(s, function, &source.start_line);
	if (!source.file)
		return 0;
	rc = line_values_collect(&values, s->p, s->type, s->is_chosen, e);
	if (rc < 0)
		return rc;
	source.values = &values;
	if (has_lines(&values, source.file))
		rc = put_values(s, &source, e);
	line_values_fini(&values);
	return rc;
}

static int add_functions(struct sources *s, const struct flat *flat, struct err *e)
{
	uint32_t *rows;
	size_t count;
	int rc = flat_sorted(flat, FLAT_BY_SELF, &rows, &count, e);

	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < count && i < MAX_FUNCTIONS; i++)
		if (flat->rows[rows[i]].self > 0)
			rc = add_function(s, flat_name(flat, rows[i]), flat_module(flat, rows[i]),
					  e);
	free(rows);
	return rc;
}

int page_sources_collect(const struct profile *p, size_t type, struct buf *out, struct err *e)
{
	struct sources s = { .p = p, .out = out, .type = type };
	struct flat flat;
	int rc = flat_init(&flat, p, FRAME_BY_FUNCTION, type, -1, e);

	if (rc < 0)
		return rc;
	s.is_chosen = calloc(profile_function_count(p) + 1, sizeof *s.is_chosen);
	rc = s.is_chosen ? add_functions(&s, &flat, e) : err_nomem(e);
	free(s.is_chosen);
	flat_fini(&flat);
	if (rc == 0 && s.without_text)
		log_msg(LOG_WARN, "view", "no source text of %zu of %zu functions: %s",
			s.without_text, s.functions, s.reason.msg);
	if (rc == 0 && !s.functions)
		log_msg(LOG_WARN, "view", "no source: no function has lines");
	return rc;
}

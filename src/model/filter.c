/* SPDX-License-Identifier: MIT */
#include "model/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "model/merge.h"

/* What is known of a location or a stack. */
enum {
	HAS_FOCUS = 1,  /* a frame matches focus */
	HAS_IGNORE = 2, /* a frame matches ignore */
};

struct filter {
	const struct profile *src;
	struct pattern focus, ignore;
	const struct label_filter *wanted; /* [label_count] */
	struct pattern *labels;            /* [label_count] */
	size_t label_count;
	unsigned char *nodes;      /* [node_count]: HAS_ bits of the whole stack */
	unsigned char *label_sets; /* [label_set_count]: 1: wanted */
};

bool profile_filter_is_empty(const struct profile_filter *f)
{
	return !f->focus && !f->ignore && !f->label_count;
}

static unsigned match_text(struct filter *f, const char *text)
{
	return (pattern_matches(&f->focus, text) ? HAS_FOCUS : 0u) |
	       (pattern_matches(&f->ignore, text) ? HAS_IGNORE : 0u);
}

static unsigned match_location(struct filter *f, uint32_t id)
{
	struct location l = profile_get_location(f->src, id);
	const struct mapping *m = profile_get_mapping(f->src, l.mapping);
	unsigned bits = m->path ? match_text(f, profile_text(f->src, m->path)) : 0;

	for (uint32_t i = 0; i < l.line_count; i++) {
		const struct function *fn = profile_get_function(f->src, l.lines[i].function);

		bits |= match_text(f, profile_text(f->src, fn->name));
		if (fn->file)
			bits |= match_text(f, profile_text(f->src, fn->file));
	}
	return l.line_count ? bits : bits | match_text(f, "[unknown]");
}

static int mark_nodes(struct filter *f, struct err *e)
{
	size_t location_count = profile_location_count(f->src);
	size_t node_count = profile_node_count(f->src);
	unsigned char *locations = calloc(location_count, 1);

	f->nodes = calloc(node_count, 1);
	if (!locations || !f->nodes) {
		free(locations);
		return err_nomem(e);
	}
	for (uint32_t i = 1; i < location_count; i++)
		locations[i] = (unsigned char)match_location(f, i);
	for (uint32_t i = 1; i < node_count; i++) {
		struct stack_node node = profile_get_node(f->src, i);

		f->nodes[i] = f->nodes[node.parent] | locations[node.location];
	}
	free(locations);
	return 0;
}

static bool label_matches(struct filter *f, size_t wanted, const struct label *label)
{
	char number[24];

	if (strcmp(profile_text(f->src, label->key), f->wanted[wanted].key) != 0)
		return false;
	if (label->str)
		return pattern_matches(&f->labels[wanted], profile_text(f->src, label->str));
	snprintf(number, sizeof number, "%" PRId64, label->num);
	return pattern_matches(&f->labels[wanted], number);
}

/* Several filters of one key are alternatives, different keys must all be met. */
static bool is_key_met(struct filter *f, const char *key, const struct label *labels, size_t count)
{
	for (size_t w = 0; w < f->label_count; w++) {
		if (strcmp(f->wanted[w].key, key) != 0)
			continue;
		for (size_t i = 0; i < count; i++)
			if (label_matches(f, w, &labels[i]))
				return true;
	}
	return false;
}

static int mark_label_sets(struct filter *f, struct err *e)
{
	size_t set_count = profile_label_set_count(f->src);

	f->label_sets = malloc(set_count);
	if (!f->label_sets)
		return err_nomem(e);
	for (uint32_t set = 0; set < set_count; set++) {
		size_t count;
		const struct label *labels = profile_get_labels(f->src, set, &count);

		f->label_sets[set] = 1;
		for (size_t w = 0; w < f->label_count; w++)
			if (!is_key_met(f, f->wanted[w].key, labels, count))
				f->label_sets[set] = 0;
	}
	return 0;
}

static int init(struct filter *f, const struct profile_filter *want, struct err *e)
{
	int rc = 0;

	f->wanted = want->labels;
	if (want->focus)
		rc = pattern_init(&f->focus, want->focus, e);
	if (rc == 0 && want->ignore)
		rc = pattern_init(&f->ignore, want->ignore, e);
	if (rc < 0)
		return rc;
	f->labels = calloc(want->label_count + 1, sizeof *f->labels);
	if (!f->labels)
		return err_nomem(e);
	for (; f->label_count < want->label_count; f->label_count++) {
		rc = pattern_init_whole(&f->labels[f->label_count],
					want->labels[f->label_count].regex, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Out of memory while anything was matched? */
static int check_patterns(const struct filter *f, struct err *e)
{
	int rc = pattern_error(&f->focus);

	if (rc == 0)
		rc = pattern_error(&f->ignore);
	for (size_t i = 0; rc == 0 && i < f->label_count; i++)
		rc = pattern_error(&f->labels[i]);
	return rc < 0 ? err_nomem(e) : 0;
}

static int mark(struct filter *f, struct err *e)
{
	int rc = mark_nodes(f, e);

	if (rc == 0)
		rc = mark_label_sets(f, e);
	return rc < 0 ? rc : check_patterns(f, e);
}

static void fini(struct filter *f)
{
	pattern_fini(&f->focus);
	pattern_fini(&f->ignore);
	for (size_t i = 0; i < f->label_count; i++)
		pattern_fini(&f->labels[i]);
	free(f->labels);
	free(f->nodes);
	free(f->label_sets);
}

static bool is_wanted(const struct filter *f, const struct sample *s)
{
	unsigned bits = f->nodes[s->node];

	return f->label_sets[s->labels] && !(bits & HAS_IGNORE) &&
	       (!f->focus.is_set || (bits & HAS_FOCUS));
}

static int copy_wanted(const struct filter *f, struct profile *dst, struct err *e)
{
	struct profile_copier *c = profile_copier_new(dst, f->src, NULL, 0);

	if (!c)
		return err_nomem(e);
	profile_copy_head(dst, f->src);
	for (size_t i = 0; i < profile_sample_count(f->src); i++) {
		struct sample s = profile_get_sample(f->src, i);

		if (is_wanted(f, &s))
			profile_add(dst, profile_copy_node(c, s.node),
				    profile_copy_labels(c, s.labels), s.values);
	}
	profile_copy_times(c, NULL, 0);
	profile_copier_free(c);
	return profile_check(dst, e);
}

int profile_filter(const struct profile *src, const struct profile_filter *want,
		   struct profile **ret, struct err *e)
{
	CLEANUP(fini) struct filter f = { .src = src };
	struct profile *dst;
	int rc = init(&f, want, e);

	if (rc == 0)
		rc = mark(&f, e);
	if (rc < 0)
		return rc;
	dst = profile_new();
	if (!dst)
		return err_nomem(e);
	rc = copy_wanted(&f, dst, e);
	if (rc < 0) {
		profile_free(dst);
		return rc;
	}
	*ret = dst;
	return 0;
}

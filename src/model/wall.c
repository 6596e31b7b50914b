/* SPDX-License-Identifier: MIT */
#include "model/wall.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/merge.h"

#define STATE_MAX 64 /* bytes of a label that is shown */

/* A type of time that is not off; -1: there is none. */
static int find_on(const struct profile *p, int off)
{
	for (size_t i = 0; i < profile_type_count(p); i++) {
		struct value_type type = profile_get_type(p, i);

		if ((int)i != off && strcmp(profile_text(p, type.unit), "nanoseconds") == 0)
			return (int)i;
	}
	return -1;
}

static const char *state_of(const struct profile *p, uint32_t labels)
{
	const struct label *state = profile_find_label(p, labels, "state");

	return state && state->str ? profile_text(p, state->str) : "off the CPU";
}

/* Is the innermost frame of this name? */
static bool is_on_top(const struct profile *p, uint32_t node, const char *name)
{
	struct location l = profile_get_location(p, profile_get_node(p, node).location);

	return l.line_count &&
	       strcmp(profile_text(p, profile_get_function(p, l.lines[0].function)->name), name) ==
		       0;
}

/* The stack with the reason on top, once. */
static uint32_t push_state(struct profile *dst, uint32_t node, const char *state)
{
	char name[STATE_MAX + 3];
	int len = snprintf(name, sizeof name, "[%.*s]", STATE_MAX, state);

	if (is_on_top(dst, node, name))
		return node;
	return profile_push(dst, node, profile_name_location(dst, name, (size_t)len));
}

static void add_sample(struct profile *dst, struct profile_copier *c, const struct profile *src,
		       size_t i, int on, int off)
{
	size_t count = profile_type_count(src);
	struct sample s = profile_get_sample(src, i);
	uint32_t node = profile_copy_node(c, s.node), labels = profile_copy_labels(c, s.labels);
	int64_t values[PROFILE_MAX_TYPES] = { 0 };

	memcpy(values, s.values, count * sizeof *values);
	values[off] = 0;
	values[count] = s.values[on];
	profile_add(dst, node, labels, values);
	if (s.values[off] == 0)
		return;
	memset(values, 0, sizeof values);
	values[off] = s.values[off];
	values[count] = s.values[off];
	profile_add(dst, push_state(dst, node, state_of(src, s.labels)), labels, values);
}

int profile_wall(const struct profile *src, struct profile **ret, struct wall_types *ret_types,
		 struct err *e)
{
	size_t count = profile_type_count(src);
	int off = profile_find_type(src, "offcpu"), on = find_on(src, off);
	struct profile_copier *copier;
	struct profile *dst;
	int rc;

	if (off < 0 || on < 0 || count == PROFILE_MAX_TYPES)
		return err_set(
			e, -EINVAL,
			"has no times on and off the CPU: 'auger record --off-cpu' takes both");
	dst = profile_new();
	copier = dst ? profile_copier_new(dst, src, NULL, 0) : NULL;
	if (!copier) {
		profile_free(dst);
		return err_nomem(e);
	}
	profile_copy_head(dst, src);
	ret_types->off = (size_t)off;
	ret_types->wall = profile_add_type(dst, "wall", "nanoseconds");
	profile_info(dst)->default_type = profile_str(dst, "wall");
	for (size_t i = 0; i < profile_sample_count(src); i++)
		add_sample(dst, copier, src, i, on, off);
	profile_copier_free(copier);
	rc = profile_check(dst, e);
	if (rc < 0) {
		profile_free(dst);
		return rc;
	}
	*ret = dst;
	return 0;
}

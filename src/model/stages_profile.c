/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "model/stages.h"

#define NOT_MADE UINT32_MAX

struct conversion {
	const struct stages *s;
	struct profile *p;
	const char *group_key;
	enum stage_metric types[STAGE_METRICS]; /* [type_count] */
	size_t type_count;
	ptrdiff_t *parents; /* [stages_count]: index of the stage around it, or -1 */
	uint32_t *nodes;    /* [stages_count]: of the trie, or NOT_MADE */
	int64_t *own;       /* [stages_count * type_count]: without the stages within */
};

static void choose_types(struct conversion *c)
{
	for (int i = 0; i < STAGE_METRICS; i++) {
		const struct stage_metric_info *info = &stage_metrics[i];

		if (!info->value || !stages_has(c->s, (enum stage_metric)i))
			continue;
		c->types[c->type_count++] = (enum stage_metric)i;
		profile_add_type(c->p, info->value, info->unit);
	}
	profile_info(c->p)->default_type = profile_str(c->p, "wall");
}

/* Does a value count for the stage around it as well? A call is one call, and of the wall time
 * each has its own anyway. */
static bool holds_inner(enum stage_metric metric)
{
	return metric != STAGE_CALLS && metric != STAGE_WALL;
}

/* own: that of sum i; outer: that of the stage around it, or NULL. */
static void split(struct conversion *c, size_t i, int64_t *own, int64_t *outer)
{
	const struct stage_sum *sum = stages_get(c->s, i);

	for (size_t t = 0; t < c->type_count; t++) {
		enum stage_metric type = c->types[t];
		enum stage_metric metric = type == STAGE_WALL ? STAGE_SELF_WALL : type;
		int64_t value =
			sum->has >> metric & 1 ? stage_value(metric, sum->values[metric]) : 0;

		if (__builtin_add_overflow(own[t], value, &own[t]))
			own[t] = value;
		if (outer && holds_inner(type) &&
		    __builtin_sub_overflow(outer[t], value, &outer[t]))
			outer[t] = 0;
	}
}

/* The stages around it come first; their labels are shorter, so that this ends. */
static uint32_t make_node(struct conversion *c, size_t i)
{
	struct str name = stages_text(c->s, stages_get(c->s, i)->stage);
	ptrdiff_t parent = c->parents[i];
	uint32_t node = 0;

	if (c->nodes[i] != NOT_MADE)
		return c->nodes[i];
	if (parent >= 0) {
		size_t outer = stages_text(c->s, stages_get(c->s, (size_t)parent)->stage).len + 1;

		node = make_node(c, (size_t)parent);
		name.ptr += outer;
		name.len -= outer;
	}
	node = profile_push(c->p, node, profile_name_location(c->p, name.ptr, name.len));
	return c->nodes[i] = node;
}

/* Stages in threads of their own can take longer than the one around them, which then has no
 * time of its own. */
static void drop_negative_times(const struct conversion *c, int64_t *own)
{
	for (size_t t = 0; t < c->type_count; t++)
		if (own[t] < 0 && stage_metrics[c->types[t]].unit[0] == 'n')
			own[t] = 0;
}

static void add_sample(struct conversion *c, size_t i)
{
	struct str group = stages_text(c->s, stages_get(c->s, i)->group);
	int64_t *own = c->own + i * c->type_count;
	uint32_t labels = 0;

	if (c->group_key && group.len) {
		struct label label = { .key = profile_str(c->p, c->group_key),
				       .str = profile_str_n(c->p, group.ptr, group.len) };

		labels = profile_add_labels(c->p, &label, 1);
	}
	drop_negative_times(c, own);
	profile_add(c->p, make_node(c, i), labels, own);
}

void stages_to_profile(const struct stages *s, const char *group_key, struct profile *p)
{
	struct conversion c = { .s = s, .p = p, .group_key = group_key };
	const struct stages_totals *t = stages_totals(s);
	size_t count = stages_count(s);

	choose_types(&c);
	if (!c.type_count)
		return;
	profile_info(p)->time_ns = t->first_start_ns;
	profile_info(p)->duration_ns = t->wall_ns;
	c.parents = calloc(count + 1, sizeof *c.parents);
	c.nodes = calloc(count + 1, sizeof *c.nodes);
	c.own = calloc(count + 1, (c.type_count + 1) * sizeof *c.own);
	if (!c.parents || !c.nodes || !c.own)
		profile_fail_nomem(p);
	for (size_t i = 0; i < count && profile_error(p) == 0; i++) {
		c.parents[i] = stages_find_parent(s, i);
		c.nodes[i] = NOT_MADE;
	}
	for (size_t i = 0; i < count && profile_error(p) == 0; i++)
		split(&c, i, c.own + i * c.type_count,
		      c.parents[i] < 0 ? NULL : c.own + (size_t)c.parents[i] * c.type_count);
	for (size_t i = 0; i < count && profile_error(p) == 0; i++)
		add_sample(&c, i);
	free(c.parents);
	free(c.nodes);
	free(c.own);
}

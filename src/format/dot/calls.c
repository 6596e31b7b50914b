/* SPDX-License-Identifier: MIT */
#include "format/dot/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* A walk over the trie, depth first: each node before and after its children. */
struct walk {
	uint32_t node; /* 0: before the first step */
	bool is_leaving;
};

void calls_fini(struct calls *c)
{
	rows_fini(&c->functions);
	rows_fini(&c->list);
	map_fini(&c->ids);
	map_fini(&c->pairs);
	free(c->first);
	free(c->function_of);
	free(c->child);
	free(c->next);
	free(c->above);
	free(c->total);
	*c = (struct calls){ 0 };
}

static int find_function(struct calls *c, const struct location *l, uint32_t line, uint32_t *ret)
{
	const struct function *f =
		profile_get_function(c->p, line < l->line_count ? l->lines[line].function : 0);
	uint32_t module = profile_get_mapping(c->p, l->mapping)->path;
	uint32_t name = f->name ? f->name : f->system_name;
	uint32_t *index = map_at(&c->ids, map_pair(name, module));
	struct called *row;

	if (!index)
		return -ENOMEM;
	if (*index == MAP_NONE) {
		row = rows_add(&c->functions, sizeof *row);
		if (!row)
			return -ENOMEM;
		*row = (struct called){ .name = name, .module = module, .mapping = l->mapping };
		*index = (uint32_t)(c->functions.count - 1);
	}
	*ret = *index;
	return 0;
}

/* The functions of all locations; one without lines has one without a name. */
static int find_functions(struct calls *c)
{
	size_t count = profile_location_count(c->p), lines = 0;
	int rc = 0;

	c->first = calloc(count + 1, sizeof *c->first);
	if (!c->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t own = profile_get_location(c->p, i).line_count;

		c->first[i] = (uint32_t)lines;
		lines += own ? own : 1;
	}
	c->first[count] = (uint32_t)lines;
	c->function_of = calloc(lines + 1, sizeof *c->function_of);
	if (!c->function_of)
		return -ENOMEM;
	for (uint32_t i = 1; rc == 0 && i < count; i++) {
		struct location l = profile_get_location(c->p, i);

		for (uint32_t at = c->first[i]; rc == 0 && at < c->first[i + 1]; at++)
			rc = find_function(c, &l, at - c->first[i], &c->function_of[at]);
	}
	return rc;
}

static int link_nodes(struct calls *c)
{
	size_t count = profile_node_count(c->p);

	c->child = calloc(count, sizeof *c->child);
	c->next = calloc(count, sizeof *c->next);
	c->above = calloc(count, sizeof *c->above);
	c->total = calloc(count, sizeof *c->total);
	if (!c->child || !c->next || !c->above || !c->total)
		return -ENOMEM;
	for (uint32_t i = (uint32_t)count - 1; i > 0; i--) {
		uint32_t parent = profile_get_node(c->p, i).parent;

		c->next[i] = c->child[parent];
		c->child[parent] = i;
	}
	return 0;
}

static bool step(const struct calls *c, struct walk *w)
{
	if (!w->is_leaving && c->child[w->node]) {
		w->node = c->child[w->node];
	} else if (!w->is_leaving) {
		w->is_leaving = true;
	} else if (c->next[w->node]) {
		w->node = c->next[w->node];
		w->is_leaving = false;
	} else {
		w->node = profile_get_node(c->p, w->node).parent;
	}
	return w->node != 0;
}

static void add_selves(struct calls *c, size_t type)
{
	for (size_t i = 0; i < profile_sample_count(c->p); i++) {
		struct sample s = profile_get_sample(c->p, i);
		uint32_t location = profile_get_node(c->p, s.node).location;
		uint32_t function = c->function_of[c->first[location]];

		number_add(&c->total[s.node], s.values[type]);
		if (s.node)
			number_add(&calls_function(c, function)->self, s.values[type]);
	}
	for (size_t i = profile_node_count(c->p) - 1; i > 0; i--)
		number_add(&c->total[profile_get_node(c->p, (uint32_t)i).parent], c->total[i]);
	c->whole = c->total[0];
}

static void add_totals(struct calls *c)
{
	struct walk w = { 0 };

	while (step(c, &w)) {
		uint32_t location = profile_get_node(c->p, w.node).location;

		for (uint32_t at = c->first[location]; at < c->first[location + 1]; at++) {
			struct called *f = calls_function(c, c->function_of[at]);

			if (w.is_leaving)
				f->on_path--;
			else if (f->on_path++ == 0)
				number_add(&f->total, c->total[w.node]);
		}
	}
}

int calls_sum(struct calls *c, const struct profile *p, size_t type, struct err *e)
{
	int rc;

	c->p = p;
	rc = find_functions(c);
	if (rc == 0)
		rc = link_nodes(c);
	if (rc < 0)
		return err_nomem(e);
	add_selves(c, type);
	add_totals(c);
	return 0;
}

static struct call *find_call(struct calls *c, uint32_t caller, uint32_t callee)
{
	uint32_t *index = map_at(&c->pairs, map_pair(caller, callee));

	if (!index)
		return NULL;
	if (*index == MAP_NONE) {
		struct call *call = rows_add(&c->list, sizeof *call);

		if (!call)
			return NULL;
		*call = (struct call){ .caller = caller, .callee = callee };
		*index = (uint32_t)(c->list.count - 1);
	}
	return (struct call *)c->list.data + *index;
}

/* Enters or leaves the calls of chosen functions that the lines of one node make. */
static int visit(struct calls *c, const struct walk *w)
{
	struct stack_node node = profile_get_node(c->p, w->node);
	uint32_t location = profile_get_node(c->p, node.parent).location;
	uint32_t from = node.parent ? c->above[node.parent] : MAP_NONE;
	uint32_t outer = node.parent ? c->function_of[c->first[location]] : MAP_NONE;

	for (uint32_t at = c->first[node.location + 1]; at-- > c->first[node.location];) {
		uint32_t function = c->function_of[at];
		bool is_chosen = calls_function(c, function)->is_chosen;

		if (is_chosen && from != MAP_NONE && from != function) {
			struct call *call = find_call(c, from, function);

			if (!call)
				return -ENOMEM;
			if (w->is_leaving)
				call->on_path--;
			else if (call->on_path++ == 0)
				number_add(&call->value, c->total[w->node]);
			call->is_direct |= outer == from;
		}
		from = is_chosen ? function : from;
		outer = function;
	}
	c->above[w->node] = from;
	return 0;
}

static int compare(const void *left, const void *right, void *context)
{
	const struct calls *c = context;
	const struct called *a = calls_function(c, *(const uint32_t *)left);
	const struct called *b = calls_function(c, *(const uint32_t *)right);
	int order = (a->total < b->total) - (a->total > b->total);

	if (!order)
		order = strcmp(profile_text(c->p, a->name), profile_text(c->p, b->name));
	return order ? order : strcmp(profile_text(c->p, a->module), profile_text(c->p, b->module));
}

int calls_choose(struct calls *c, size_t limit, int64_t least, uint32_t **ret, size_t *ret_count,
		 struct err *e)
{
	uint32_t *order = calloc(c->functions.count + 1, sizeof *order);
	struct walk w = { 0 };
	size_t count = 0;
	int rc = 0;

	if (!order)
		return err_nomem(e);
	for (uint32_t i = 0; i < c->functions.count; i++)
		if (calls_function(c, i)->total > 0 && calls_function(c, i)->total >= least)
			order[count++] = i;
	qsort_r(order, count, sizeof *order, compare, c);
	if (count > limit)
		count = limit;
	for (size_t i = 0; i < count; i++)
		calls_function(c, order[i])->is_chosen = true;
	while (rc == 0 && step(c, &w))
		rc = visit(c, &w);
	if (rc < 0) {
		free(order);
		return err_nomem(e);
	}
	*ret = order;
	*ret_count = count;
	return 0;
}

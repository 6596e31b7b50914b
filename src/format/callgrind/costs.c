/* SPDX-License-Identifier: MIT */
#include "format/callgrind/costs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* A frame of a stack; inlined functions have their own. */
struct frame {
	uint32_t function; /* place in functions */
	int64_t line;
};

void callgrind_costs_fini(struct callgrind_costs *c)
{
	rows_fini(&c->functions);
	map_fini(&c->function_keys);
	rows_fini(&c->costs);
	strtab_free(c->cost_keys);
	rows_fini(&c->frames);
}

uint32_t callgrind_no_stack(const struct profile *p)
{
	return (uint32_t)profile_function_count(p);
}

static int find_function(struct callgrind_costs *c, uint32_t mapping, uint32_t function,
			 uint32_t *ret)
{
	uint32_t path = profile_get_mapping(c->p, mapping)->path;
	uint32_t *place = map_at(&c->function_keys, map_pair(path, function));
	struct callgrind_function *row;

	if (!place)
		return -ENOMEM;
	if (*place == MAP_NONE) {
		row = rows_add(&c->functions, sizeof *row);
		if (!row)
			return -ENOMEM;
		*row = (struct callgrind_function){ path, function, mapping };
		*place = (uint32_t)c->functions.count - 1;
	}
	*ret = *place;
	return 0;
}

static int add_frame(struct callgrind_costs *c, uint32_t mapping, struct line line)
{
	struct frame *frame = rows_add(&c->frames, sizeof *frame);

	if (!frame)
		return -ENOMEM;
	frame->line = line.line > 0 ? line.line : 0;
	return find_function(c, mapping, line.function, &frame->function);
}

static int add_location(struct callgrind_costs *c, uint32_t id)
{
	struct location l = profile_get_location(c->p, id);
	int rc = l.line_count ? 0 : add_frame(c, l.mapping, (struct line){ 0 });

	for (uint32_t i = 0; i < l.line_count && rc == 0; i++)
		rc = add_frame(c, l.mapping, l.lines[i]);
	return rc;
}

static int make_frames(struct callgrind_costs *c, uint32_t node)
{
	int rc = 0;

	c->frames.count = 0;
	if (!node)
		return add_frame(c, 0, (struct line){ .function = callgrind_no_stack(c->p) });
	while (node && rc == 0) {
		struct stack_node n = profile_get_node(c->p, node);

		rc = add_location(c, n.location);
		node = n.parent;
	}
	return rc;
}

struct callgrind_cost *callgrind_costs_get(const struct callgrind_costs *c, size_t place)
{
	return (struct callgrind_cost *)(void *)((char *)c->costs.data + place * c->cost_bytes);
}

static struct callgrind_cost *find_cost(struct callgrind_costs *c, uint32_t caller, int64_t line,
					uint32_t callee)
{
	const uint64_t key[] = { map_pair(caller, callee), (uint64_t)line };
	uint32_t place = strtab_intern(c->cost_keys, key, sizeof key);
	struct callgrind_cost *cost;

	if (place == STRTAB_NONE)
		return NULL;
	if (place < c->costs.count)
		return callgrind_costs_get(c, place);
	cost = rows_add(&c->costs, c->cost_bytes);
	if (cost) {
		cost->caller = caller;
		cost->callee = callee;
		cost->line = line;
	}
	return cost;
}

static int add_cost(struct callgrind_costs *c, struct callgrind_cost *cost, const struct sample *s,
		    uint64_t number, struct err *e)
{
	size_t types = profile_type_count(c->p);

	if (!cost)
		return err_nomem(e);
	if (cost->last == number)
		return 0; /* recursion */
	cost->last = number;
	for (size_t i = 0; i < types; i++)
		number_add(&cost->values[i], s->values[i]);
	number_add(&cost->calls, c->samples < types ? s->values[c->samples] : 1);
	return 0;
}

static int add_sample(struct callgrind_costs *c, const struct sample *s, uint64_t number,
		      struct err *e)
{
	const struct frame *frames;
	int rc;

	if (make_frames(c, s->node) < 0)
		return err_nomem(e);
	frames = c->frames.data;
	rc = add_cost(c, find_cost(c, frames[0].function, frames[0].line, NO_CALLEE), s, number, e);
	for (size_t i = 1; i < c->frames.count && rc == 0; i++)
		rc = add_cost(
			c, find_cost(c, frames[i].function, frames[i].line, frames[i - 1].function),
			s, number, e);
	return rc;
}

static int compare_costs(const void *left, const void *right)
{
	const struct callgrind_cost *a = left, *b = right;

	if (a->caller != b->caller)
		return a->caller > b->caller ? 1 : -1;
	if (a->line != b->line)
		return a->line > b->line ? 1 : -1;
	/* NO_CALLEE first */
	return (a->callee + 1 > b->callee + 1) - (a->callee + 1 < b->callee + 1);
}

static int check_values(const struct callgrind_costs *c, const struct sample *s, struct err *e)
{
	for (size_t i = 0; i < profile_type_count(c->p); i++)
		if (s->values[i] < 0)
			return err_set(e, -EINVAL, "negative values cannot be written");
	return 0;
}

static bool is_zero(const struct callgrind_costs *c, const struct sample *s)
{
	for (size_t i = 0; i < profile_type_count(c->p); i++)
		if (s->values[i])
			return false;
	return true;
}

int callgrind_costs_make(struct callgrind_costs *c, struct err *e)
{
	size_t types = profile_type_count(c->p);
	int samples = profile_find_type(c->p, "samples"), rc = 0;

	c->samples = samples < 0 ? types : (size_t)samples;
	c->cost_bytes = sizeof(struct callgrind_cost) + types * sizeof(int64_t);
	c->cost_keys = strtab_new();
	if (!c->cost_keys)
		return err_nomem(e);
	for (size_t i = 0; i < profile_sample_count(c->p) && rc == 0; i++) {
		struct sample s = profile_get_sample(c->p, i);

		rc = check_values(c, &s, e);
		if (rc == 0 && !is_zero(c, &s))
			rc = add_sample(c, &s, i + 1, e);
	}
	if (rc == 0 && c->costs.count)
		qsort(c->costs.data, c->costs.count, c->cost_bytes, compare_costs);
	return rc;
}

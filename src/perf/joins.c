/* SPDX-License-Identifier: MIT */
#include "perf/joins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "perf/stack_trie.h"

struct joined {
	uint32_t node, labels;
	uint32_t last;      /* node of the last copied frame */
	uint32_t truncated; /* node of the truncated stack, 0: not made yet */
	uint32_t count;     /* of samples, at most UINT32_MAX */
	bool is_trusted;    /* the values are those of node, else of truncated */
};

void joins_fini(struct joins *j)
{
	rows_fini(&j->samples);
	rows_fini(&j->values);
	map_fini(&j->by_sample);
	map_fini(&j->readings);
	map_fini(&j->doubts);
	*j = (struct joins){ 0 };
}

static struct joined *joined_at(const struct joins *j, size_t i)
{
	return (struct joined *)j->samples.data + i;
}

static int64_t *values_at(const struct joins *j, size_t i)
{
	return (int64_t *)j->values.data + i * profile_type_count(j->profile);
}

static uint32_t last_copied(const struct joins *j, uint32_t node, size_t copied)
{
	for (size_t i = 1; i < copied && node; i++)
		node = profile_get_node(j->profile, node).parent;
	return node;
}

static bool has_readings(const struct joins *j, uint32_t last)
{
	uint32_t times = map_get(&j->readings, profile_get_node(j->profile, last).location);

	return !j->read_min || (times != MAP_NONE && times >= j->read_min);
}

static bool is_trusted(const struct joins *j, uint32_t last)
{
	if (!has_readings(j, last))
		return false;
	for (uint32_t node = last; node && j->doubts.count;) {
		struct stack_node n = profile_get_node(j->profile, node);

		if (map_get(&j->doubts, n.location) != MAP_NONE)
			return false;
		node = n.parent;
	}
	return true;
}

bool joins_trusts(const struct joins *j, uint32_t node, size_t copied)
{
	return is_trusted(j, last_copied(j, node, copied));
}

/* The copied frames of a stack below the mark of truncated ones. */
static uint32_t truncate_stack(struct joins *j, const struct joined *s)
{
	const char *name = stack_trie_space_name(FRAME_SPACE_TRUNCATED);
	uint32_t made =
		profile_push(j->profile, 0, profile_name_location(j->profile, name, strlen(name)));
	size_t depth = 1;
	uint32_t *path;

	for (uint32_t n = s->node; n != s->last; n = profile_get_node(j->profile, n).parent)
		depth++;
	path = reallocarray(NULL, depth, sizeof *path);
	if (!path) {
		profile_fail_nomem(j->profile);
		return 0;
	}
	for (uint32_t i = 0, n = s->node; i < depth; n = profile_get_node(j->profile, n).parent)
		path[i++] = profile_get_node(j->profile, n).location;
	while (depth)
		made = profile_push(j->profile, made, path[--depth]);
	free(path);
	return made;
}

static uint32_t counted_node(struct joins *j, struct joined *s)
{
	if (s->is_trusted)
		return s->node;
	if (!s->truncated)
		s->truncated = truncate_stack(j, s);
	return s->truncated;
}

/* A distinct sample; NULL: out of memory. */
static struct joined *new_sample(struct joins *j, uint32_t node, size_t copied, uint32_t labels)
{
	struct joined *s = rows_add(&j->samples, sizeof *s);

	if (!s || !rows_add(&j->values, profile_type_count(j->profile) * sizeof(int64_t)))
		return NULL;
	*s = (struct joined){ .node = node, .labels = labels };
	s->last = last_copied(j, node, copied);
	s->is_trusted = is_trusted(j, s->last);
	return s;
}

static int count_reading(struct joins *j, uint32_t last)
{
	uint32_t *times = map_at(&j->readings, profile_get_node(j->profile, last).location);

	if (!times)
		return -ENOMEM;
	if (*times == MAP_NONE)
		*times = 0;
	if (*times < j->read_min && ++*times == j->read_min)
		j->is_changed = true;
	return 0;
}

int joins_add(struct joins *j, uint32_t node, size_t copied, uint32_t labels, const int64_t *values,
	      bool is_read)
{
	uint32_t *index = map_at(&j->by_sample, map_pair(node, labels));
	struct joined *s;
	int64_t *sums;

	if (!index)
		return -ENOMEM;
	if (*index == MAP_NONE) {
		if (!new_sample(j, node, copied, labels))
			return -ENOMEM;
		*index = (uint32_t)(j->samples.count - 1);
	}
	s = joined_at(j, *index);
	if (is_read && count_reading(j, s->last) < 0)
		return -ENOMEM;
	sums = values_at(j, *index);
	for (size_t i = 0; i < profile_type_count(j->profile); i++)
		number_add(&sums[i], values[i]);
	s->count += s->count < UINT32_MAX;
	*(s->is_trusted ? &j->joined : &j->truncated) += 1;
	profile_add(j->profile, counted_node(j, s), labels, values);
	return profile_error(j->profile);
}

uint32_t joins_node(struct joins *j, uint32_t node, uint32_t labels)
{
	uint32_t index = map_get(&j->by_sample, map_pair(node, labels));

	return index == MAP_NONE ? node : counted_node(j, joined_at(j, index));
}

int joins_doubt(struct joins *j, uint32_t location)
{
	uint32_t *doubt = map_at(&j->doubts, location);

	if (!doubt)
		return -ENOMEM;
	j->is_changed |= *doubt == MAP_NONE;
	*doubt = 1;
	return 0;
}

static void move(struct joins *j, size_t i)
{
	struct joined *s = joined_at(j, i);
	const int64_t *sums = values_at(j, i);
	int64_t less[PROFILE_MAX_TYPES];

	for (size_t k = 0; k < profile_type_count(j->profile); k++)
		less[k] = -sums[k];
	profile_add(j->profile, counted_node(j, s), s->labels, less);
	s->is_trusted = !s->is_trusted;
	profile_add(j->profile, counted_node(j, s), s->labels, sums);
	*(s->is_trusted ? &j->joined : &j->truncated) += s->count;
	*(s->is_trusted ? &j->truncated : &j->joined) -= s->count;
}

/* Of each node: does a stack that ends there have a frame with two callers? Parents come first. */
static bool *find_doubtful(const struct joins *j)
{
	size_t count = profile_node_count(j->profile);
	bool *is_doubtful = calloc(count, sizeof *is_doubtful);

	for (uint32_t i = 1; is_doubtful && i < count; i++) {
		struct stack_node n = profile_get_node(j->profile, i);

		is_doubtful[i] =
			is_doubtful[n.parent] || map_get(&j->doubts, n.location) != MAP_NONE;
	}
	return is_doubtful;
}

int joins_settle(struct joins *j)
{
	bool *is_doubtful;

	if (!j->is_changed || !j->samples.count)
		return 0;
	is_doubtful = find_doubtful(j);
	if (!is_doubtful)
		return -ENOMEM;
	j->is_changed = false;
	for (size_t i = 0; i < j->samples.count; i++) {
		const struct joined *s = joined_at(j, i);

		if (s->is_trusted != (has_readings(j, s->last) && !is_doubtful[s->last]))
			move(j, i);
	}
	free(is_doubtful);
	return profile_error(j->profile);
}

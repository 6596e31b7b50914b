/* SPDX-License-Identifier: MIT */
#include "view/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

#define NO_NODE UINT32_MAX /* out of memory */
#define ALL_TYPES SIZE_MAX /* in place of a sample type: stacks without values, too */

static uint32_t add_node(struct tree *t, uint32_t parent, uint32_t frame)
{
	if (t->node_count == t->node_cap) {
		size_t cap = t->node_cap ? 2 * t->node_cap : 256;
		struct tree_node *nodes = reallocarray(t->nodes, cap, sizeof *nodes);

		if (!nodes)
			return NO_NODE;
		t->nodes = nodes;
		t->node_cap = cap;
	}
	t->nodes[t->node_count] = (struct tree_node){ .parent = parent, .frame = frame };
	return (uint32_t)t->node_count++;
}

/* The child of parent with this frame, made when there is none. */
static uint32_t child_of(struct tree *t, uint32_t parent, uint32_t frame)
{
	uint32_t *slot;

	if (t->frames.by == FRAME_BY_MODULE && parent && t->nodes[parent].frame == frame)
		return parent;
	slot = map_at(&t->children, map_pair(parent, frame));
	if (!slot)
		return NO_NODE;
	if (*slot == MAP_NONE) {
		uint32_t id = add_node(t, parent, frame);

		if (id == NO_NODE)
			return NO_NODE;
		*slot = id;
		t->nodes[id].depth = t->nodes[parent].depth + 1;
		if (t->nodes[id].depth > t->max_depth)
			t->max_depth = t->nodes[id].depth;
	}
	return *slot;
}

/* On top of node: the frames of one location, outermost first. */
static uint32_t push_location(struct tree *t, uint32_t node, uint32_t location)
{
	size_t count;
	const uint32_t *ids = frames_of(&t->frames, location, &count);

	while (count-- && node != NO_NODE)
		node = child_of(t, node, ids[count]);
	return node;
}

static int64_t add_saturated(int64_t a, int64_t b)
{
	number_add(&a, b);
	return a;
}

/* ret_to[node of the profile]: node of the tree, for the stacks that have a value. */
static int map_stacks(struct tree *t, size_t type, uint32_t *ret_to)
{
	const struct profile *p = t->frames.profile;
	size_t count = profile_node_count(p);

	memset(ret_to, 0, count * sizeof *ret_to);
	for (size_t i = 0; i < profile_sample_count(p); i++)
		if (type == ALL_TYPES || profile_get_sample(p, i).values[type])
			ret_to[profile_get_sample(p, i).node] = 1;
	for (uint32_t i = (uint32_t)count; --i > 0;)
		if (ret_to[i])
			ret_to[profile_get_node(p, i).parent] = 1;
	ret_to[0] = 0;
	for (uint32_t i = 1; i < count; i++) {
		struct stack_node node = profile_get_node(p, i);

		if (!ret_to[i])
			continue;
		ret_to[i] = push_location(t, ret_to[node.parent], node.location);
		if (ret_to[i] == NO_NODE)
			return -1;
	}
	return 0;
}

static int add_stacks(struct tree *t, size_t type)
{
	const struct profile *p = t->frames.profile;
	uint32_t *to = reallocarray(NULL, profile_node_count(p), sizeof *to);
	int rc = to ? map_stacks(t, type, to) : -1;

	for (size_t i = 0; rc == 0 && i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		struct tree_node *node = &t->nodes[to[s.node]];

		if (s.values[type])
			node->self = add_saturated(node->self, s.values[type]);
	}
	free(to);
	return rc;
}

/* A stack from its leaf to its root, inlined frames first. */
static uint32_t push_reversed(struct tree *t, uint32_t stack)
{
	uint32_t node = 0;

	while (stack && node != NO_NODE) {
		struct stack_node at = profile_get_node(t->frames.profile, stack);
		size_t count;
		const uint32_t *ids = frames_of(&t->frames, at.location, &count);

		for (size_t i = 0; i < count && node != NO_NODE; i++)
			node = child_of(t, node, ids[i]);
		stack = at.parent;
	}
	return node;
}

static int add_reversed_stacks(struct tree *t, size_t type)
{
	const struct profile *p = t->frames.profile;

	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		uint32_t node;

		if (!s.values[type])
			continue;
		node = push_reversed(t, s.node);
		if (node == NO_NODE)
			return -1;
		t->nodes[node].self = add_saturated(t->nodes[node].self, s.values[type]);
	}
	return 0;
}

static void sum_totals(struct tree *t)
{
	for (size_t i = t->node_count; i-- > 0;) {
		struct tree_node *node = &t->nodes[i];

		node->total = add_saturated(node->total, node->self);
		if (i)
			t->nodes[node->parent].total =
				add_saturated(t->nodes[node->parent].total, node->total);
	}
}

static int compare_frames(const void *left, const void *right, void *frames)
{
	const struct frames *f = frames;
	const uint32_t *a = left, *b = right;
	const struct frame *fa = &f->list[*a], *fb = &f->list[*b];
	int order = strcmp(frames_text(f, fa->name), frames_text(f, fb->name));

	if (!order)
		order = strcmp(frames_text(f, fa->module), frames_text(f, fb->module));
	return order ? order : (*a > *b) - (*a < *b);
}

/* ret_rank: [count]: the place of each frame in order of names. spare: [count]. */
static void rank_frames(struct frames *f, uint32_t *ret_rank, uint32_t *spare)
{
	for (uint32_t i = 0; i < f->count; i++)
		spare[i] = i;
	qsort_r(spare, f->count, sizeof *spare, compare_frames, f);
	for (uint32_t i = 0; i < f->count; i++)
		ret_rank[spare[i]] = i;
}

/* ret_order: [node_count]: the nodes in order of their frames' ranks. There are few frames
 * and many nodes, so they are counted, not compared. ends: [frame count + 1], all 0. */
static void order_nodes(const struct tree *t, const uint32_t *rank, uint32_t *ends,
			uint32_t *ret_order)
{
	for (size_t i = 0; i < t->node_count; i++)
		ends[rank[t->nodes[i].frame] + 1]++;
	for (size_t i = 0; i < t->frames.count; i++)
		ends[i + 1] += ends[i];
	for (size_t i = 0; i < t->node_count; i++)
		ret_order[ends[rank[t->nodes[i].frame]]++] = (uint32_t)i;
}

static int link_children(struct tree *t)
{
	size_t frame_count = t->frames.count;
	uint32_t *order = reallocarray(NULL, t->node_count, sizeof *order);
	uint32_t *rank = reallocarray(NULL, frame_count, sizeof *rank);
	uint32_t *ends = reallocarray(NULL, frame_count + 1, sizeof *ends);
	bool is_done = order && rank && ends;

	if (is_done) {
		rank_frames(&t->frames, rank, ends);
		memset(ends, 0, (frame_count + 1) * sizeof *ends);
		order_nodes(t, rank, ends, order);
		/* Last name first: each child is put before those already there. */
		for (size_t i = t->node_count; i-- > 0;) {
			struct tree_node *node = &t->nodes[order[i]];

			if (!order[i])
				continue; /* the root */
			node->next_sibling = t->nodes[node->parent].first_child;
			t->nodes[node->parent].first_child = order[i];
		}
	}
	free(order);
	free(rank);
	free(ends);
	return is_done ? 0 : -1;
}

int tree_build(struct tree *ret, const struct profile *p, const struct tree_opts *o, struct err *e)
{
	int rc;

	*ret = (struct tree){ 0 };
	rc = frames_init(&ret->frames, p, o->by, e);
	if (rc < 0)
		return rc;
	if (add_node(ret, 0, 0) == NO_NODE ||
	    (o->is_reversed ? add_reversed_stacks(ret, o->type) : add_stacks(ret, o->type)) < 0)
		goto fail;
	sum_totals(ret);
	if (link_children(ret) < 0)
		goto fail;
	return 0;

fail:
	tree_fini(ret);
	return err_nomem(e);
}

/* The node of samples without a stack; 0: there are none. */
static uint32_t push_unknown(struct tree *t)
{
	const struct profile *p = t->frames.profile;

	for (size_t i = 0; i < profile_sample_count(p); i++)
		if (profile_get_sample(p, i).node == 0)
			return push_location(t, 0, 0);
	return 0;
}

int tree_build_whole(struct tree *ret, const struct profile *p, enum frame_by by,
		     uint32_t **ret_of_stacks, struct err *e)
{
	uint32_t *to = reallocarray(NULL, profile_node_count(p), sizeof *to);
	int rc;

	*ret = (struct tree){ 0 };
	if (!to)
		return err_nomem(e);
	rc = frames_init(&ret->frames, p, by, e);
	if (rc < 0) {
		free(to);
		return rc;
	}
	if (add_node(ret, 0, 0) == NO_NODE || map_stacks(ret, ALL_TYPES, to) < 0)
		goto fail;
	to[0] = push_unknown(ret);
	if (to[0] == NO_NODE)
		goto fail;
	*ret_of_stacks = to;
	return 0;

fail:
	free(to);
	tree_fini(ret);
	return err_nomem(e);
}

void tree_fini(struct tree *t)
{
	frames_fini(&t->frames);
	map_fini(&t->children);
	free(t->nodes);
	*t = (struct tree){ 0 };
}

const struct frame *tree_frame(const struct tree *t, uint32_t node)
{
	return &t->frames.list[t->nodes[node].frame];
}

const char *tree_name(const struct tree *t, uint32_t node)
{
	return frames_text(&t->frames, tree_frame(t, node)->name);
}

/* Of each frame of f, the same one of other, or STRTAB_NONE. NULL: out of memory. */
static uint32_t *match_frames(const struct frames *f, const struct frames *other)
{
	uint32_t *ids = reallocarray(NULL, f->count, sizeof *ids);

	for (uint32_t i = 0; ids && i < f->count; i++)
		ids[i] = frames_find(other, f, i);
	return ids;
}

int tree_match(const struct tree *t, const struct tree *other, uint32_t **ret, struct err *e)
{
	uint32_t *frames = match_frames(&t->frames, &other->frames);
	uint32_t *nodes = frames ? reallocarray(NULL, t->node_count, sizeof *nodes) : NULL;

	if (!nodes) {
		free(frames);
		return err_nomem(e);
	}
	nodes[0] = 0;
	for (uint32_t i = 1; i < t->node_count; i++) {
		uint32_t parent = nodes[t->nodes[i].parent], frame = frames[t->nodes[i].frame];

		nodes[i] = parent == MAP_NONE || frame == STRTAB_NONE
				   ? MAP_NONE
				   : map_get(&other->children, map_pair(parent, frame));
	}
	free(frames);
	*ret = nodes;
	return 0;
}

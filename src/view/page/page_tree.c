/* SPDX-License-Identifier: MIT */
#include "view/page/page_tree.h"

#include <stdlib.h>

#include "base/number.h"

/* Self and total of each node. */
static void sum_nodes(struct page_tree *t, const struct profile *p, const uint32_t *of, size_t type)
{
	struct tree_node *nodes = t->tree.nodes;

	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);

		number_add(&nodes[of[s.node]].self, s.values[type]);
	}
	for (size_t i = t->tree.node_count; i-- > 0;) {
		number_add(&nodes[i].total, nodes[i].self);
		if (i)
			number_add(&nodes[nodes[i].parent].total, nodes[i].total);
	}
}

static int compare_totals(const void *left, const void *right, void *nodes)
{
	const struct tree_node *list = nodes;
	const uint32_t *a = left, *b = right;
	int order = (list[*a].total > list[*b].total) - (list[*a].total < list[*b].total);

	return order ? order : (*a < *b) - (*a > *b);
}

/* Each callee is put before those already there: the largest total comes last. */
static int link_callees(struct page_tree *t)
{
	struct tree_node *nodes = t->tree.nodes;
	size_t count = t->tree.node_count;
	uint32_t *sorted = reallocarray(NULL, count, sizeof *sorted);

	if (!sorted)
		return -1;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = i;
	qsort_r(sorted, count, sizeof *sorted, compare_totals, nodes);
	for (size_t i = 0; i < count; i++) {
		struct tree_node *node = &nodes[sorted[i]];

		if (!sorted[i])
			continue; /* the root */
		node->next_sibling = nodes[node->parent].first_child;
		nodes[node->parent].first_child = sorted[i];
	}
	free(sorted);
	return 0;
}

/* The node behind one in pre-order; 0: it is the last. */
static uint32_t next_node(const struct tree_node *nodes, uint32_t node)
{
	if (nodes[node].first_child)
		return nodes[node].first_child;
	while (node && !nodes[node].next_sibling)
		node = nodes[node].parent;
	return node ? nodes[node].next_sibling : 0;
}

static int place_nodes(struct page_tree *t)
{
	uint32_t node = 0, count = 0;

	t->order = reallocarray(NULL, t->tree.node_count, sizeof *t->order);
	t->place = reallocarray(NULL, t->tree.node_count, sizeof *t->place);
	if (!t->order || !t->place)
		return -1;
	do {
		t->order[count] = node;
		t->place[node] = count++;
		node = next_node(t->tree.nodes, node);
	} while (node);
	return 0;
}

static int compare_entries(const void *left, const void *right)
{
	const struct page_entry *a = left, *b = right;
	int order = (a->place > b->place) - (a->place < b->place);

	if (!order)
		order = (a->labels > b->labels) - (a->labels < b->labels);
	return order ? order : (a->sample > b->sample) - (a->sample < b->sample);
}

static int make_entries(struct page_tree *t, const struct profile *p, const uint32_t *of)
{
	size_t count = profile_sample_count(p);

	t->entries = reallocarray(NULL, count ? count : 1, sizeof *t->entries);
	if (!t->entries)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		struct sample s = profile_get_sample(p, i);

		t->entries[i] = (struct page_entry){ t->place[of[s.node]], s.labels, i };
	}
	qsort(t->entries, count, sizeof *t->entries, compare_entries);
	t->entry_count = count;
	return 0;
}

int page_tree_make(struct page_tree *ret, const struct profile *p, size_t type, struct err *e)
{
	uint32_t *of;
	int rc;

	*ret = (struct page_tree){ 0 };
	rc = tree_build_whole(&ret->tree, p, FRAME_BY_FUNCTION, &of, e);
	if (rc < 0)
		return rc;
	sum_nodes(ret, p, of, type);
	if (link_callees(ret) < 0 || place_nodes(ret) < 0 || make_entries(ret, p, of) < 0)
		rc = err_nomem(e);
	free(of);
	if (rc < 0)
		page_tree_fini(ret);
	return rc;
}

void page_tree_fini(struct page_tree *t)
{
	tree_fini(&t->tree);
	free(t->order);
	free(t->place);
	free(t->entries);
	*t = (struct page_tree){ 0 };
}

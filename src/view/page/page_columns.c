/* SPDX-License-Identifier: MIT */
#include "view/page/page_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/number.h"
#include "base/strtab.h"
#include "view/flame/svg.h"

/* The frames that nodes have, in order of first use, and their texts. */
struct used_frames {
	const struct frames *frames;
	uint32_t *list;   /* [count]: frame ids; [0] is the root's */
	uint32_t *number; /* [frame count]: the index in list; MAP_NONE: not used */
	size_t count;
	struct strtab *strings;
	uint32_t *texts; /* [3 * count]: name, module, file of each: string ids */
	uint32_t *rank;  /* [string count]: the place of each string in order */
};

enum { TEXT_NAME, TEXT_MODULE, TEXT_FILE, TEXTS };

static void used_frames_fini(struct used_frames *u)
{
	strtab_free(u->strings);
	free(u->list);
	free(u->number);
	free(u->texts);
	free(u->rank);
}

static int find_frames(struct used_frames *u, const struct page_tree *t)
{
	size_t count = t->tree.frames.count;

	u->frames = &t->tree.frames;
	u->list = reallocarray(NULL, count, sizeof *u->list);
	u->number = reallocarray(NULL, count, sizeof *u->number);
	if (!u->list || !u->number)
		return -1;
	for (size_t i = 0; i < count; i++)
		u->number[i] = MAP_NONE;
	for (size_t i = 0; i < t->tree.node_count; i++) {
		uint32_t frame = t->tree.nodes[t->order[i]].frame;

		if (u->number[frame] != MAP_NONE)
			continue;
		u->number[frame] = (uint32_t)u->count;
		u->list[u->count++] = frame;
	}
	return 0;
}

static uint32_t intern_visible(struct used_frames *u, uint32_t string)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct str raw = strtab_get(u->frames->strings, string);

	svg_make_visible(&text, raw.ptr, raw.len, PAGE_NAME_LIMIT);
	if (buf_error(&text) < 0)
		return STRTAB_NONE;
	return strtab_intern(u->strings, text.data ? text.data : "", text.len);
}

static int intern_texts(struct used_frames *u)
{
	u->strings = strtab_new();
	u->texts = reallocarray(NULL, u->count, TEXTS * sizeof *u->texts);
	if (!u->strings || !u->texts)
		return -1;
	for (size_t i = 0; i < u->count; i++) {
		const struct frame *frame = &u->frames->list[u->list[i]];
		uint32_t *texts = u->texts + TEXTS * i;

		texts[TEXT_NAME] = intern_visible(u, frame->name);
		texts[TEXT_MODULE] = intern_visible(u, frame->module);
		texts[TEXT_FILE] = intern_visible(u, frame->file);
		for (size_t k = 0; k < TEXTS; k++)
			if (texts[k] == STRTAB_NONE)
				return -1;
	}
	return 0;
}

static int compare_strings(const void *left, const void *right, void *strings)
{
	struct str a = strtab_get(strings, *(const uint32_t *)left);
	struct str b = strtab_get(strings, *(const uint32_t *)right);
	int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static size_t common_len(struct str a, struct str b)
{
	size_t len = 0;

	while (len < a.len && len < b.len && a.ptr[len] == b.ptr[len])
		len++;
	return len;
}

static int put_strings(struct used_frames *u, struct page_block *b)
{
	size_t count = strtab_count(u->strings);
	uint32_t *sorted = reallocarray(NULL, count, sizeof *sorted);
	struct str before = { "", 0 };

	u->rank = reallocarray(NULL, count, sizeof *u->rank);
	if (!sorted || !u->rank) {
		free(sorted);
		return -1;
	}
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = i;
	qsort_r(sorted, count, sizeof *sorted, compare_strings, u->strings);
	for (uint32_t i = 0; i < count; i++) {
		struct str text = strtab_get(u->strings, sorted[i]);
		size_t common = common_len(before, text);

		u->rank[sorted[i]] = i;
		buf_put_varint(&b->columns[PAGE_PREFIX], common);
		buf_put_varint(&b->columns[PAGE_SUFFIX], text.len - common);
		buf_put(&b->columns[PAGE_TEXT], text.ptr + common, text.len - common);
		before = text;
	}
	free(sorted);
	return 0;
}

static void put_frames(const struct used_frames *u, struct page_block *b)
{
	for (size_t i = 0; i < u->count; i++) {
		const struct frame *frame = &u->frames->list[u->list[i]];
		const uint32_t *texts = u->texts + TEXTS * i;

		buf_put_varint(&b->columns[PAGE_NAME], u->rank[texts[TEXT_NAME]]);
		buf_put_varint(&b->columns[PAGE_MODULE], u->rank[texts[TEXT_MODULE]]);
		buf_put_varint(&b->columns[PAGE_FILE], u->rank[texts[TEXT_FILE]]);
		buf_put_varint(&b->columns[PAGE_FLAGS],
			       (uint64_t)frame->kind | (frame->is_inlined ? PAGE_FLAG_INLINED : 0));
		buf_put_varint(&b->columns[PAGE_LINE], frame->line > 0 ? (uint64_t)frame->line : 0);
	}
}

/* The callees of frames, in order of first use. */
struct edge_ranks {
	struct map ranks; /* (frame, frame of the callee) to its rank */
	uint32_t *counts; /* [used frames]: callees so far */
	uint32_t next;    /* frame that no node has yet */
};

static int put_edge(struct edge_ranks *r, uint32_t caller, uint32_t callee, struct page_block *b)
{
	uint32_t *rank = map_at(&r->ranks, map_pair(caller, callee));

	if (!rank)
		return -1;
	if (*rank != MAP_NONE) {
		buf_put_varint(&b->columns[PAGE_EDGE], *rank + 1);
		return 0;
	}
	*rank = r->counts[caller]++;
	buf_put_varint(&b->columns[PAGE_EDGE], 0);
	buf_put_varint(&b->columns[PAGE_NEWEDGE], callee == r->next ? 0 : callee + 1);
	r->next += callee == r->next;
	return 0;
}

static int put_nodes(const struct used_frames *u, const struct page_tree *t, struct page_block *b)
{
	const struct tree_node *nodes = t->tree.nodes;
	struct edge_ranks ranks = { .next = 1 };
	uint32_t depth = 0; /* of the node before */
	int rc = 0;

	ranks.counts = calloc(u->count, sizeof *ranks.counts);
	if (!ranks.counts)
		return -1;
	for (size_t i = 1; rc == 0 && i < t->tree.node_count; i++) {
		const struct tree_node *node = &nodes[t->order[i]];

		buf_put_varint(&b->columns[PAGE_UP], depth + 1 - node->depth);
		depth = node->depth;
		rc = put_edge(&ranks, u->number[nodes[node->parent].frame], u->number[node->frame],
			      b);
	}
	free(ranks.counts);
	map_fini(&ranks.ranks);
	return rc;
}

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static bool is_same_entry(const struct page_entry *a, const struct page_entry *b)
{
	return a->place == b->place && a->labels == b->labels;
}

/* The value of the entry that begins at index first; *ret_end: behind its last sample. */
static int64_t entry_value(const struct profile *p, const struct page_tree *t, size_t first,
			   size_t type, size_t *ret_end)
{
	int64_t value = 0;
	size_t i = first;

	for (; i < t->entry_count && is_same_entry(&t->entries[first], &t->entries[i]); i++)
		number_add(&value, profile_get_sample(p, t->entries[i].sample).values[type]);
	*ret_end = i;
	return value;
}

static void put_values(const struct profile *p, const struct page_tree *t, size_t type,
		       struct page_block *b, uint64_t *ret_scale)
{
	struct buf *column = &b->columns[PAGE_VALUES + type];
	uint64_t scale = 0;
	size_t end;

	for (size_t i = 0; i < t->entry_count && scale != 1; i = end)
		scale = common_divisor(scale, magnitude(entry_value(p, t, i, type, &end)));
	*ret_scale = scale ? scale : 1;
	for (size_t i = 0; i < t->entry_count; i = end) {
		int64_t value = entry_value(p, t, i, type, &end);
		uint64_t part = magnitude(value) / *ret_scale;

		buf_put_varint(column, value < 0 ? 2 * part - 1 : 2 * part);
	}
}

static size_t put_entries(const struct profile *p, const struct page_tree *t, struct page_block *b)
{
	bool has_sets = profile_label_set_count(p) > 1;
	size_t at = 0, count = 0;

	for (uint32_t place = 0; place < t->tree.node_count; place++) {
		size_t before = count;

		while (at < t->entry_count && t->entries[at].place == place) {
			const struct page_entry *first = &t->entries[at];

			if (has_sets)
				buf_put_varint(&b->columns[PAGE_SET], first->labels);
			while (at < t->entry_count && is_same_entry(first, &t->entries[at]))
				at++;
			count++;
		}
		buf_put_varint(&b->columns[PAGE_ENTRIES], count - before);
	}
	return count;
}

int page_columns_put(struct page_block *b, const struct profile *p, const struct page_tree *t,
		     struct page_scales *ret_scales, size_t *ret_entries, struct err *e)
{
	CLEANUP(used_frames_fini) struct used_frames used = { 0 };

	if (find_frames(&used, t) < 0 || intern_texts(&used) < 0 || put_strings(&used, b) < 0)
		return err_nomem(e);
	put_frames(&used, b);
	if (put_nodes(&used, t, b) < 0)
		return err_nomem(e);
	*ret_entries = put_entries(p, t, b);
	for (size_t type = 0; type < profile_type_count(p); type++)
		put_values(p, t, type, b, &ret_scales->of[type]);
	return 0;
}

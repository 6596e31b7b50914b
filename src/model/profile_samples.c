/* SPDX-License-Identifier: MIT */
#include "model/profile_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

uint32_t profile_push(struct profile *p, uint32_t parent, uint32_t location)
{
	uint32_t id = trie_push(&p->trie, parent, location);

	if (id != TRIE_NONE)
		return id;
	profile_fail(p, -ENOMEM);
	return 0;
}

void profile_prepare_push(const struct profile *p, uint32_t parent, uint32_t location)
{
	trie_prepare(&p->trie, parent, location);
}

size_t profile_node_count(const struct profile *p)
{
	return p->trie.count;
}

struct stack_node profile_get_node(const struct profile *p, uint32_t id)
{
	return p->trie.nodes[id];
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_labels(const void *left, const void *right, void *profile)
{
	const struct label *a = left, *b = right;
	const struct profile *p = profile;
	int order = strcmp(profile_text(p, a->key), profile_text(p, b->key));

	if (!order)
		order = strcmp(profile_text(p, a->str), profile_text(p, b->str));
	if (!order)
		order = (a->num > b->num) - (a->num < b->num);
	if (!order)
		order = strcmp(profile_text(p, a->unit), profile_text(p, b->unit));
	/* texts with a NUL inside may compare equal */
	if (!order)
		order = compare_u64(map_pair(a->key, a->str), map_pair(b->key, b->str));
	return order ? order : compare_u64(a->unit, b->unit);
}

static size_t drop_equal_neighbors(const struct profile *p, struct label *labels, size_t count)
{
	size_t kept = 0;
	union {
		const struct profile *read;
		void *write;
	} context = { .read = p };

	for (size_t i = 0; i < count; i++)
		if (!kept || compare_labels(&labels[kept - 1], &labels[i], context.write) != 0)
			labels[kept++] = labels[i];
	return kept;
}

/* A label set as words, for its key: structs have padding, which has no value. */
static void pack_labels(const struct label *labels, size_t count, uint64_t *ret_words)
{
	for (size_t i = 0; i < count; i++) {
		*ret_words++ = map_pair(labels[i].key, labels[i].str);
		*ret_words++ = (uint64_t)labels[i].num;
		*ret_words++ = labels[i].unit;
	}
}

static uint32_t add_label_set(struct profile *p, const struct label *sorted, size_t count,
			      const uint64_t *key, size_t key_bytes)
{
	void *new;
	uint32_t id = profile_intern(p, p->label_keys, &p->label_sets, sizeof(struct label_set),
				     key, key_bytes, &new);
	struct label *rows;

	if (!new)
		return id;
	rows = profile_add_rows(p, &p->labels, sizeof(struct label), count);
	if (!rows)
		return 0;
	memcpy(rows, sorted, count * sizeof *sorted);
	*(struct label_set *)new = (struct label_set){
		.first = (uint32_t)(p->labels.count - count),
		.count = (uint32_t)count,
	};
	return id;
}

uint32_t profile_add_labels(struct profile *p, const struct label *labels, size_t count)
{
	enum { KEY_WORDS = 3 };
	struct label *sorted;
	uint64_t *key;
	uint32_t id = 0;

	if (!count || p->error)
		return 0;
	sorted = reallocarray(NULL, count, sizeof *sorted);
	key = reallocarray(NULL, count, KEY_WORDS * sizeof *key);
	if (sorted && key) {
		memcpy(sorted, labels, count * sizeof *sorted);
		qsort_r(sorted, count, sizeof *sorted, compare_labels, p);
		count = drop_equal_neighbors(p, sorted, count);
		pack_labels(sorted, count, key);
		id = add_label_set(p, sorted, count, key, count * KEY_WORDS * sizeof *key);
	} else {
		profile_fail(p, -ENOMEM);
	}
	free(sorted);
	free(key);
	return id;
}

size_t profile_label_set_count(const struct profile *p)
{
	return p->label_sets.count;
}

const struct label *profile_get_labels(const struct profile *p, uint32_t id, size_t *ret_count)
{
	const struct label_set *set = (const struct label_set *)p->label_sets.data + id;

	*ret_count = set->count;
	return set->count ? (const struct label *)p->labels.data + set->first : NULL;
}

const struct label *profile_find_label(const struct profile *p, uint32_t id, const char *key)
{
	size_t count;
	const struct label *labels = profile_get_labels(p, id, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(profile_text(p, labels[i].key), key) == 0)
			return &labels[i];
	return NULL;
}

static uint32_t add_sample(struct profile *p, uint32_t node, uint32_t labels)
{
	struct sample_row *row = profile_add_rows(p, &p->samples, sizeof(struct sample_row), 1);
	int64_t *values = profile_add_rows(p, &p->values, sizeof(int64_t), p->types.count);

	if (!row || !values)
		return MAP_NONE;
	*row = (struct sample_row){ node, labels };
	memset(values, 0, p->types.count * sizeof *values);
	return (uint32_t)(p->samples.count - 1);
}

void profile_add(struct profile *p, uint32_t node, uint32_t labels, const int64_t *values)
{
	uint32_t *slot;
	int64_t *sums;

	if (p->error)
		return;
	assert(p->types.count);
	slot = map_at(&p->sample_keys, map_pair(node, labels));
	if (!slot) {
		profile_fail(p, -ENOMEM);
		return;
	}
	if (*slot == MAP_NONE)
		*slot = add_sample(p, node, labels);
	if (*slot == MAP_NONE)
		return;
	sums = (int64_t *)p->values.data + *slot * p->types.count;
	for (size_t i = 0; i < p->types.count; i++)
		number_add(&sums[i], values[i]);
}

size_t profile_sample_count(const struct profile *p)
{
	return p->samples.count;
}

struct sample profile_get_sample(const struct profile *p, size_t i)
{
	const struct sample_row *row = (const struct sample_row *)p->samples.data + i;

	return (struct sample){
		.node = row->node,
		.labels = row->labels,
		.values = (const int64_t *)p->values.data + i * p->types.count,
	};
}

uint32_t profile_find_sample(const struct profile *p, uint32_t node, uint32_t labels)
{
	return map_get(&p->sample_keys, map_pair(node, labels));
}

struct sample_times *profile_times(struct profile *p)
{
	return &p->times;
}

const struct sample_times *profile_get_times(const struct profile *p)
{
	return &p->times;
}

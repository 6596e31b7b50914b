/* SPDX-License-Identifier: MIT */
#include "model/profile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* An array that grows: rows of one size, by id. */
struct rows {
	void *data;        /* [cap] rows; owned */
	size_t count, cap; /* rows */
	size_t row_bytes;
};

/* What of a location does not move. */
struct location_row {
	uint64_t address;
	uint32_t mapping;
	uint32_t first_line; /* index into lines */
	uint32_t line_count;
	bool is_folded;
};

struct label_set {
	uint32_t first; /* index into labels */
	uint32_t count;
};

struct sample_row {
	uint32_t node, labels;
};

struct profile {
	int error; /* first failure of a builder; 0: none */
	struct profile_info info;
	struct strtab *strings;
	struct strtab *mapping_keys, *function_keys, *location_keys, *label_keys; /* key to id */
	struct trie trie;
	struct map sample_keys; /* (node, labels) to sample */
	struct rows types, comments, mappings, functions, locations, lines, label_sets, labels,
		samples, values;
};

static void fail(struct profile *p, int error)
{
	if (!p->error)
		p->error = error;
}

/* The new rows behind the last, or NULL (remembered). */
static void *rows_add(struct profile *p, struct rows *rows, size_t n)
{
	void *at;

	if (n > UINT32_MAX - 1 - rows->count) {
		fail(p, -EOVERFLOW);
		return NULL;
	}
	if (rows->count + n > rows->cap) {
		size_t cap = rows->cap ? rows->cap + rows->cap / 2 : 16;
		void *data;

		if (cap < rows->count + n)
			cap = rows->count + n;
		data = reallocarray(rows->data, cap, rows->row_bytes);
		if (!data) {
			fail(p, -ENOMEM);
			return NULL;
		}
		rows->data = data;
		rows->cap = cap;
	}
	at = (char *)rows->data + rows->count * rows->row_bytes;
	rows->count += n;
	return at;
}

static void init_rows(struct profile *p)
{
	p->types.row_bytes = sizeof(struct value_type);
	p->comments.row_bytes = sizeof(uint32_t);
	p->mappings.row_bytes = sizeof(struct mapping);
	p->functions.row_bytes = sizeof(struct function);
	p->locations.row_bytes = sizeof(struct location_row);
	p->lines.row_bytes = sizeof(struct line);
	p->label_sets.row_bytes = sizeof(struct label_set);
	p->labels.row_bytes = sizeof(struct label);
	p->samples.row_bytes = sizeof(struct sample_row);
	p->values.row_bytes = sizeof(int64_t);
}

/* Row 0 of each kind is its null object. */
static bool add_null_objects(struct profile *p)
{
	struct rows *const kinds[] = { &p->mappings, &p->functions, &p->locations, &p->label_sets };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		void *row = rows_add(p, kinds[i], 1);

		if (!row)
			return false;
		memset(row, 0, kinds[i]->row_bytes);
	}
	return strtab_intern(p->strings, "", 0) == 0;
}

struct profile *profile_new(void)
{
	struct profile *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	init_rows(p);
	p->strings = strtab_new();
	p->mapping_keys = strtab_new();
	p->function_keys = strtab_new();
	p->location_keys = strtab_new();
	p->label_keys = strtab_new();
	if (!p->strings || !p->mapping_keys || !p->function_keys || !p->location_keys ||
	    !p->label_keys || trie_init(&p->trie) < 0 || !add_null_objects(p))
		goto fail;
	return p;

fail:
	profile_free(p);
	return NULL;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	strtab_free(p->strings);
	strtab_free(p->mapping_keys);
	strtab_free(p->function_keys);
	strtab_free(p->location_keys);
	strtab_free(p->label_keys);
	trie_fini(&p->trie);
	map_fini(&p->sample_keys);
	free(p->types.data);
	free(p->comments.data);
	free(p->mappings.data);
	free(p->functions.data);
	free(p->locations.data);
	free(p->lines.data);
	free(p->label_sets.data);
	free(p->labels.data);
	free(p->samples.data);
	free(p->values.data);
	free(p);
}

int profile_error(const struct profile *p)
{
	return p->error;
}

int profile_check(const struct profile *p, struct err *e)
{
	if (p->error == -EOVERFLOW)
		return err_set(e, -EOVERFLOW, "a sum or a count leaves its range");
	return p->error ? err_nomem(e) : 0;
}

void profile_fail_nomem(struct profile *p)
{
	fail(p, -ENOMEM);
}

uint32_t profile_str_n(struct profile *p, const char *text, size_t len)
{
	uint32_t id = strtab_intern(p->strings, text, len);

	if (id != STRTAB_NONE)
		return id;
	fail(p, -ENOMEM);
	return 0;
}

uint32_t profile_str(struct profile *p, const char *text)
{
	return profile_str_n(p, text, strlen(text));
}

struct str profile_get_str(const struct profile *p, uint32_t id)
{
	return strtab_get(p->strings, id);
}

const char *profile_text(const struct profile *p, uint32_t id)
{
	return strtab_get(p->strings, id).ptr;
}

uint32_t profile_find_str(const struct profile *p, const char *text)
{
	return strtab_find(p->strings, text, strlen(text));
}

size_t profile_str_count(const struct profile *p)
{
	return strtab_count(p->strings);
}

/* One more value for each sample that is there already. */
static bool widen_samples(struct profile *p)
{
	size_t old = p->types.count, new = old + 1;
	struct rows wide = { .row_bytes = sizeof(int64_t) };
	int64_t *to = NULL;

	if (p->samples.count && p->samples.count <= UINT32_MAX / new)
		to = rows_add(p, &wide, p->samples.count * new);
	else if (p->samples.count)
		fail(p, -EOVERFLOW);
	for (size_t i = 0; to && i < p->samples.count; i++) {
		memcpy(to + i * new, (const int64_t *)p->values.data + i * old, old * sizeof *to);
		to[i * new + old] = 0;
	}
	if (to) {
		free(p->values.data);
		p->values = wide;
	}
	return to || !p->samples.count;
}

size_t profile_add_type(struct profile *p, const char *type, const char *unit)
{
	struct value_type new = { profile_str(p, type), profile_str(p, unit) };
	const struct value_type *types = p->types.data;
	struct value_type *row;

	for (size_t i = 0; i < p->types.count; i++)
		if (types[i].type == new.type && types[i].unit == new.unit)
			return i;
	if (p->types.count == PROFILE_MAX_TYPES) {
		fail(p, -EOVERFLOW);
		return 0;
	}
	if (!widen_samples(p))
		return 0;
	row = rows_add(p, &p->types, 1);
	if (!row)
		return 0;
	*row = new;
	return p->types.count - 1;
}

size_t profile_type_count(const struct profile *p)
{
	return p->types.count;
}

struct value_type profile_get_type(const struct profile *p, size_t i)
{
	return ((const struct value_type *)p->types.data)[i];
}

int profile_find_type(const struct profile *p, const char *type)
{
	uint32_t id = profile_find_str(p, type);

	for (size_t i = 0; i < p->types.count; i++)
		if (id != STRTAB_NONE && profile_get_type(p, i).type == id)
			return (int)i;
	return -1;
}

size_t profile_default_type(const struct profile *p)
{
	for (size_t i = 0; i < p->types.count; i++)
		if (p->info.default_type && profile_get_type(p, i).type == p->info.default_type)
			return i;
	return p->types.count ? p->types.count - 1 : 0;
}

struct profile_info *profile_info(struct profile *p)
{
	return &p->info;
}

const struct profile_info *profile_get_info(const struct profile *p)
{
	return &p->info;
}

void profile_add_comment(struct profile *p, const char *text)
{
	uint32_t id = profile_str(p, text);
	uint32_t *row = rows_add(p, &p->comments, 1);

	if (row)
		*row = id;
}

size_t profile_comment_count(const struct profile *p)
{
	return p->comments.count;
}

const char *profile_get_comment(const struct profile *p, size_t i)
{
	return profile_text(p, ((const uint32_t *)p->comments.data)[i]);
}

/*
 * The row of a packed key: *ret_is_new tells that the caller fills it. Key tables count from
 * 0, rows from 1. Rows and keys stay in step, so after a failure nothing more is interned.
 */
static uint32_t intern(struct profile *p, struct strtab *keys, struct rows *rows, const void *key,
		       size_t len, void **ret_new)
{
	uint32_t id;

	*ret_new = NULL;
	if (p->error)
		return 0;
	id = strtab_intern(keys, key, len);
	if (id == STRTAB_NONE) {
		fail(p, -ENOMEM);
		return 0;
	}
	if (id + 1 < rows->count)
		return id + 1;
	*ret_new = rows_add(p, rows, 1);
	return *ret_new ? id + 1 : 0;
}

uint32_t profile_add_mapping(struct profile *p, const struct mapping *m)
{
	const uint64_t key[] = { m->start, m->limit, m->offset, map_pair(m->path, m->build_id) };
	void *new;
	uint32_t id = intern(p, p->mapping_keys, &p->mappings, key, sizeof key, &new);
	struct mapping *row = (struct mapping *)p->mappings.data + id;

	if (new) {
		*row = *m;
	} else if (id) {
		row->has_functions |= m->has_functions;
		row->has_filenames |= m->has_filenames;
		row->has_line_numbers |= m->has_line_numbers;
		row->has_inline_frames |= m->has_inline_frames;
	}
	return id;
}

size_t profile_mapping_count(const struct profile *p)
{
	return p->mappings.count;
}

const struct mapping *profile_get_mapping(const struct profile *p, uint32_t id)
{
	return (const struct mapping *)p->mappings.data + id;
}

void profile_set_mapping(struct profile *p, uint32_t id, const struct mapping *m)
{
	((struct mapping *)p->mappings.data)[id] = *m;
}

uint32_t profile_add_function(struct profile *p, const struct function *f)
{
	const uint64_t key[] = { map_pair(f->name, f->system_name), f->file,
				 (uint64_t)f->start_line };
	void *new;
	uint32_t id = intern(p, p->function_keys, &p->functions, key, sizeof key, &new);

	if (new)
		*(struct function *)new = *f;
	return id;
}

size_t profile_function_count(const struct profile *p)
{
	return p->functions.count;
}

const struct function *profile_get_function(const struct profile *p, uint32_t id)
{
	return (const struct function *)p->functions.data + id;
}

static uint32_t add_lines(struct profile *p, const struct line *lines, uint32_t count)
{
	size_t first = p->lines.count;
	struct line *rows;

	if (!count)
		return 0;
	rows = rows_add(p, &p->lines, count);
	if (!rows)
		return 0;
	memcpy(rows, lines, count * sizeof *lines);
	return (uint32_t)first;
}

uint32_t profile_add_location(struct profile *p, const struct location *l)
{
	enum { HEAD_WORDS = 2, SHORT_LINES = 6 };
	uint64_t short_key[HEAD_WORDS + 2 * SHORT_LINES], *key = short_key;
	size_t words = HEAD_WORDS + 2 * (size_t)l->line_count;
	uint32_t id = 0;
	void *new;

	if (l->line_count > SHORT_LINES)
		key = reallocarray(NULL, words, sizeof *key);
	if (!key) {
		fail(p, -ENOMEM);
		return 0;
	}
	key[0] = l->address;
	key[1] = (uint64_t)l->mapping << 1 | l->is_folded;
	for (uint32_t i = 0; i < l->line_count; i++) {
		key[HEAD_WORDS + 2 * i] = l->lines[i].function;
		key[HEAD_WORDS + 2 * i + 1] = (uint64_t)l->lines[i].line;
	}
	id = intern(p, p->location_keys, &p->locations, key, words * sizeof *key, &new);
	if (new)
		*(struct location_row *)new = (struct location_row){
			.address = l->address,
			.mapping = l->mapping,
			.first_line = add_lines(p, l->lines, l->line_count),
			.line_count = l->line_count,
			.is_folded = l->is_folded,
		};
	if (key != short_key)
		free(key);
	return p->error ? 0 : id;
}

size_t profile_location_count(const struct profile *p)
{
	return p->locations.count;
}

struct location profile_get_location(const struct profile *p, uint32_t id)
{
	const struct location_row *row = (const struct location_row *)p->locations.data + id;

	return (struct location){
		.mapping = row->mapping,
		.address = row->address,
		.lines = row->line_count ? (const struct line *)p->lines.data + row->first_line
					 : NULL,
		.line_count = row->line_count,
		.is_folded = row->is_folded,
	};
}

void profile_set_lines(struct profile *p, uint32_t id, const struct line *lines, uint32_t count)
{
	uint32_t first = add_lines(p, lines, count);
	struct location_row *row = (struct location_row *)p->locations.data + id;

	if (p->error)
		return;
	row->first_line = first;
	row->line_count = count;
}

void profile_set_location_mapping(struct profile *p, uint32_t id, uint32_t mapping)
{
	((struct location_row *)p->locations.data)[id].mapping = mapping;
}

uint32_t profile_name_location(struct profile *p, const char *name, size_t len)
{
	uint32_t str = profile_str_n(p, name, len);
	struct line line = {
		.function = profile_add_function(
			p, &(struct function){ .name = str, .system_name = str }),
	};

	return profile_add_location(p, &(struct location){ .lines = &line, .line_count = 1 });
}

uint32_t profile_push(struct profile *p, uint32_t parent, uint32_t location)
{
	uint32_t id = trie_push(&p->trie, parent, location);

	if (id != TRIE_NONE)
		return id;
	fail(p, -ENOMEM);
	return 0;
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

static size_t drop_equal_neighbours(const struct profile *p, struct label *labels, size_t count)
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
	uint32_t id = intern(p, p->label_keys, &p->label_sets, key, key_bytes, &new);
	struct label *rows;

	if (!new)
		return id;
	rows = rows_add(p, &p->labels, count);
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
		count = drop_equal_neighbours(p, sorted, count);
		pack_labels(sorted, count, key);
		id = add_label_set(p, sorted, count, key, count * KEY_WORDS * sizeof *key);
	} else {
		fail(p, -ENOMEM);
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

static uint32_t add_sample(struct profile *p, uint32_t node, uint32_t labels)
{
	struct sample_row *row = rows_add(p, &p->samples, 1);
	int64_t *values = rows_add(p, &p->values, p->types.count);

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

	assert(p->types.count);
	if (p->error)
		return;
	slot = map_at(&p->sample_keys, map_pair(node, labels));
	if (!slot) {
		fail(p, -ENOMEM);
		return;
	}
	if (*slot == MAP_NONE)
		*slot = add_sample(p, node, labels);
	if (*slot == MAP_NONE)
		return;
	sums = (int64_t *)p->values.data + *slot * p->types.count;
	for (size_t i = 0; i < p->types.count; i++)
		if (__builtin_add_overflow(sums[i], values[i], &sums[i]))
			fail(p, -EOVERFLOW);
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

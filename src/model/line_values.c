/* SPDX-License-Identifier: MIT */
#include "model/line_values.h"

#include <stdlib.h>
#include <string.h>

/* Lines and addresses while they are found; seen is the last sample that counted in total. */
struct found {
	struct line_values *to;
	const struct profile *profile;
	const bool *is_chosen;
	struct strtab *line_keys, *address_keys; /* packed key to index */
	size_t *line_seen, *address_seen;        /* [cap]: sample index + 1 */
	size_t line_cap, address_cap;
};

static bool grow(void **rows, size_t **seen, size_t count, size_t *cap, size_t row_bytes)
{
	size_t wanted = *cap ? 2 * *cap : 64;
	void *more_rows;
	size_t *more_seen;

	if (count < *cap)
		return true;
	more_rows = reallocarray(*rows, wanted, row_bytes);
	if (!more_rows)
		return false;
	*rows = more_rows;
	more_seen = reallocarray(*seen, wanted, sizeof **seen);
	if (!more_seen)
		return false;
	*seen = more_seen;
	*cap = wanted;
	return true;
}

static struct line_value *line_at(struct found *f, uint32_t file, int64_t line, size_t **ret_seen)
{
	const uint64_t key[] = { file, (uint64_t)line };
	struct line_values *to = f->to;
	uint32_t i = strtab_intern(f->line_keys, key, sizeof key);
	void *rows = to->lines;

	if (i == STRTAB_NONE)
		return NULL;
	if (i == to->line_count) {
		if (!grow(&rows, &f->line_seen, i, &f->line_cap, sizeof *to->lines))
			return NULL;
		to->lines = rows;
		to->lines[i] = (struct line_value){ .file = file, .line = line };
		f->line_seen[i] = 0;
		to->line_count++;
	}
	*ret_seen = &f->line_seen[i];
	return &to->lines[i];
}

static struct address_value *address_at(struct found *f, const struct location *l,
					size_t **ret_seen)
{
	const uint64_t key[] = { l->mapping, l->address };
	struct line_values *to = f->to;
	uint32_t i = strtab_intern(f->address_keys, key, sizeof key);
	void *rows = to->addresses;

	if (i == STRTAB_NONE)
		return NULL;
	if (i == to->address_count) {
		if (!grow(&rows, &f->address_seen, i, &f->address_cap, sizeof *to->addresses))
			return NULL;
		to->addresses = rows;
		to->addresses[i] =
			(struct address_value){ .mapping = l->mapping, .address = l->address };
		f->address_seen[i] = 0;
		to->address_count++;
	}
	*ret_seen = &f->address_seen[i];
	return &to->addresses[i];
}

/* One location of sample number i (from 1). Returns whether a chosen function is in it. */
static int add_location(struct found *f, uint32_t id, size_t sample, bool is_leaf, int64_t value,
			bool *ret_is_self)
{
	struct location l = profile_get_location(f->profile, id);
	bool is_chosen = false;
	size_t *seen;

	for (uint32_t i = 0; i < l.line_count; i++) {
		const struct function *fn = profile_get_function(f->profile, l.lines[i].function);
		struct line_value *cost;

		if (!f->is_chosen[l.lines[i].function])
			continue;
		is_chosen = true;
		cost = line_at(f, fn->file, l.lines[i].line, &seen);
		if (!cost)
			return -1;
		if (is_leaf && i == 0) {
			cost->self += value;
			*ret_is_self = true;
		}
		if (*seen != sample)
			cost->total += value;
		*seen = sample;
	}
	if (is_chosen && l.address) {
		struct address_value *cost = address_at(f, &l, &seen);

		if (!cost)
			return -1;
		if (is_leaf)
			cost->self += value;
		if (*seen != sample)
			cost->total += value;
		*seen = sample;
	}
	return is_chosen;
}

static int add_sample(struct found *f, const struct sample *s, size_t sample, int64_t value)
{
	bool is_on_stack = false, is_self = false;

	for (uint32_t node = s->node; node;) {
		struct stack_node at = profile_get_node(f->profile, node);
		int rc = add_location(f, at.location, sample, node == s->node, value, &is_self);

		if (rc < 0)
			return rc;
		is_on_stack |= rc > 0;
		node = at.parent;
	}
	if (is_on_stack)
		f->to->total += value;
	if (is_self)
		f->to->self += value;
	return 0;
}

static int compare_lines(const void *left, const void *right)
{
	const struct line_value *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

static int compare_addresses(const void *left, const void *right)
{
	const struct address_value *a = left, *b = right;

	if (a->mapping != b->mapping)
		return a->mapping < b->mapping ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static int collect(struct found *f, size_t type)
{
	for (size_t i = 0; i < profile_sample_count(f->profile); i++) {
		struct sample s = profile_get_sample(f->profile, i);

		if (s.values[type] && add_sample(f, &s, i + 1, s.values[type]) < 0)
			return -1;
	}
	if (f->to->line_count)
		qsort(f->to->lines, f->to->line_count, sizeof *f->to->lines, compare_lines);
	if (f->to->address_count)
		qsort(f->to->addresses, f->to->address_count, sizeof *f->to->addresses,
		      compare_addresses);
	return 0;
}

int line_values_collect(struct line_values *ret, const struct profile *p, size_t type,
			const bool *is_chosen, struct err *e)
{
	struct found f = { .to = ret, .profile = p, .is_chosen = is_chosen };
	int rc = -1;

	*ret = (struct line_values){ 0 };
	f.line_keys = strtab_new();
	f.address_keys = strtab_new();
	if (f.line_keys && f.address_keys)
		rc = collect(&f, type);
	strtab_free(f.line_keys);
	strtab_free(f.address_keys);
	free(f.line_seen);
	free(f.address_seen);
	if (rc < 0) {
		line_values_fini(ret);
		return err_nomem(e);
	}
	return 0;
}

void line_values_fini(struct line_values *c)
{
	free(c->lines);
	free(c->addresses);
	*c = (struct line_values){ 0 };
}

const struct line_value *line_values_find(const struct line_values *c, uint32_t file, int64_t line)
{
	const struct line_value key = { .file = file, .line = line };

	return c->line_count ? bsearch(&key, c->lines, c->line_count, sizeof key, compare_lines)
			     : NULL;
}

const struct address_value *line_values_find_address(const struct line_values *c, uint32_t mapping,
						     uint64_t address)
{
	const struct address_value key = { .mapping = mapping, .address = address };

	return c->address_count ? bsearch(&key, c->addresses, c->address_count, sizeof key,
					  compare_addresses)
				: NULL;
}

/* SPDX-License-Identifier: MIT */
#include "model/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/profile_internal.h"

void profile_fail(struct profile *p, int error)
{
	if (!p->error)
		p->error = error;
}

void *profile_add_rows(struct profile *p, struct rows *rows, size_t row_bytes, size_t n)
{
	size_t wanted = rows->count + n, cap = rows->cap ? rows->cap + rows->cap / 2 : 16;
	void *at;

	if (n > UINT32_MAX - 1 - rows->count) {
		profile_fail(p, -EOVERFLOW);
		return NULL;
	}
	if (wanted > rows->cap && rows_reserve(rows, cap < wanted ? wanted : cap, row_bytes) < 0) {
		profile_fail(p, -ENOMEM);
		return NULL;
	}
	at = (char *)rows->data + rows->count * row_bytes;
	rows->count = wanted;
	return at;
}

uint32_t profile_intern(struct profile *p, struct strtab *keys, struct rows *rows, size_t row_bytes,
			const void *key, size_t len, void **ret_new)
{
	uint32_t id;

	*ret_new = NULL;
	if (p->error)
		return 0;
	id = strtab_intern(keys, key, len);
	if (id == STRTAB_NONE) {
		profile_fail(p, -ENOMEM);
		return 0;
	}
	if (id + 1 < rows->count)
		return id + 1;
	*ret_new = profile_add_rows(p, rows, row_bytes, 1);
	return *ret_new ? id + 1 : 0;
}

/* Row 0 of each kind is its null object. */
static bool add_null_objects(struct profile *p)
{
	return rows_add(&p->mappings, sizeof(struct mapping)) &&
	       rows_add(&p->functions, sizeof(struct function)) &&
	       rows_add(&p->locations, sizeof(struct location_row)) &&
	       rows_add(&p->label_sets, sizeof(struct label_set)) &&
	       strtab_intern(p->strings, "", 0) == 0;
}

struct profile *profile_new(void)
{
	struct profile *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
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
	sample_times_fini(&p->times);
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
		return err_set(e, -EOVERFLOW, "a count leaves its range");
	return p->error ? err_nomem(e) : 0;
}

void profile_fail_nomem(struct profile *p)
{
	profile_fail(p, -ENOMEM);
}

uint32_t profile_str_n(struct profile *p, const char *text, size_t len)
{
	uint32_t id = strtab_intern(p->strings, text, len);

	if (id != STRTAB_NONE)
		return id;
	profile_fail(p, -ENOMEM);
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
	struct rows wide = { 0 };
	int64_t *to = NULL;

	if (p->samples.count && p->samples.count <= UINT32_MAX / new)
		to = profile_add_rows(p, &wide, sizeof *to, p->samples.count * new);
	else if (p->samples.count)
		profile_fail(p, -EOVERFLOW);
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
		profile_fail(p, -EOVERFLOW);
		return 0;
	}
	if (!widen_samples(p))
		return 0;
	row = profile_add_rows(p, &p->types, sizeof(struct value_type), 1);
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
	uint32_t *row = profile_add_rows(p, &p->comments, sizeof(uint32_t), 1);

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

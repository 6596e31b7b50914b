/* SPDX-License-Identifier: MIT */
#include "cachejob/rank_profile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/strtab.h"
#include "cachefs/profile/profile_stacks.h"
#include "format/pprof/pprof.h"

#define COSTS PATH_CATEGORIES /* index of the rows of RANK_COSTS */

struct rank_profile {
	struct strtab *paths;
	struct rows rows[PATH_CATEGORIES + 1]; /* struct rank_row */
	struct map index;                      /* map_pair(index of rows, path): index of the row */
};

/* The sample types that are read; -1: absent. */
struct types {
	int calls, bytes, time, negative;
};

/* One sample. */
struct facts {
	const char *operation, *result, *bytes; /* NULL: no such label */
	bool is_evicted;
};

static struct facts read_labels(const struct profile *p, uint32_t labels)
{
	struct facts f = { 0 };
	size_t count;
	const struct label *all = profile_get_labels(p, labels, &count);

	for (size_t i = 0; i < count; i++) {
		const char *key = profile_text(p, all[i].key), *value = profile_text(p, all[i].str);

		if (strcmp(key, "operation") == 0)
			f.operation = value;
		else if (strcmp(key, "result") == 0)
			f.result = value;
		else if (strcmp(key, PROFILE_STACKS_BYTES) == 0)
			f.bytes = value;
		else if (strcmp(key, PROFILE_STACKS_EVICTED) == 0)
			f.is_evicted = true;
	}
	return f;
}

static int digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* false: they are no pairs of digits. */
static bool put_bytes(const char *digits, struct buf *out)
{
	for (; *digits; digits += 2) {
		int high = digit_of(digits[0]), low = high < 0 ? -1 : digit_of(digits[1]);

		if (low < 0)
			return false;
		buf_put_byte(out, (unsigned char)(high << 4 | low));
	}
	return true;
}

/* The leaf has the last component as its name, and the folder as its file. */
static int put_path(const struct profile *p, uint32_t node, const struct facts *f, struct buf *out,
		    struct err *e)
{
	struct location l = profile_get_location(p, profile_get_node(p, node).location);
	const struct function *leaf =
		l.line_count ? profile_get_function(p, l.lines[0].function) : NULL;
	const char *name = leaf ? profile_text(p, leaf->name) : "";

	buf_clear(out);
	if (f->bytes && !put_bytes(f->bytes, out))
		return err_set(e, -EINVAL, "the bytes of a path are no digits");
	if (!f->bytes && leaf && strcmp(name, "/") != 0)
		buf_put_str(out, profile_text(p, leaf->file));
	if (!f->bytes)
		buf_put_str(out, name);
	if (buf_error(out) < 0)
		return err_nomem(e);
	if (!out->len || out->data[0] != '/' || strlen(out->data) != out->len)
		return err_set(e, -EINVAL, "a stack that is no path");
	return 0;
}

/* The row of a path in a list. NULL: out of memory. */
static struct rank_row *row_of(struct rank_profile *r, uint32_t list, uint32_t path)
{
	uint32_t *index = map_at(&r->index, map_pair(list, path));
	struct str text = strtab_get(r->paths, path);
	struct rank_row *row;

	if (!index)
		return NULL;
	if (*index != MAP_NONE)
		return (struct rank_row *)r->rows[list].data + *index;
	row = rows_add(&r->rows[list], sizeof *row);
	if (!row)
		return NULL;
	*index = (uint32_t)(r->rows[list].count - 1);
	row->name = text.ptr;
	row->len = text.len;
	row->category = list == COSTS ? CATEGORY_METADATA : (enum path_category)list;
	return row;
}

static int find(const char *const *names, int count, const char *text)
{
	for (int i = 0; text && i < count; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	return -1;
}

static struct decimal us_of(int64_t ns)
{
	return (struct decimal){ ns / 1000, (int32_t)(ns % 1000 * 1000), true };
}

static int64_t value_of(const struct sample *s, int type)
{
	return type < 0 ? 0 : s->values[type];
}

static int add_event(struct rank_row *row, enum path_value value, int64_t count)
{
	const struct decimal events = { .integer = count };

	if (!row)
		return -ENOMEM;
	decimal_add(&row->values[value], events);
	decimal_add(&row->values[PATH_EVENTS], events);
	return 0;
}

static int add_request(struct rank_profile *r, uint32_t path, int class, int result,
		       const struct sample *s, const struct types *t)
{
	static const enum path_value values[PATH_RESULTS] = { PATH_HITS, PATH_MISSES,
							      PATH_NEGATIVE };
	struct rank_row *costs;

	if (add_event(row_of(r, (uint32_t) class, path), values[result], value_of(s, t->calls)) < 0)
		return -ENOMEM;
	costs = row_of(r, COSTS, path);
	if (!costs)
		return -ENOMEM;
	decimal_add(&costs->values[COST_METADATA + class], us_of(value_of(s, t->time)));
	decimal_add(&costs->values[COST_BYTES],
		    (struct decimal){ .integer = value_of(s, t->bytes) });
	return 0;
}

static int add_sample(struct rank_profile *r, const struct profile *p, const struct sample *s,
		      const struct types *t, struct buf *text, struct err *e)
{
	struct facts f = read_labels(p, s->labels);
	int class = find(profile_stacks_operations, PATH_CLASSES, f.operation);
	int result = find(profile_stacks_results, PATH_RESULTS, f.result);
	int event = f.operation && strcmp(f.operation, PROFILE_STACKS_NEGATIVE) == 0
			    ? find(profile_stacks_events, NEGATIVE_EVENTS, f.result)
			    : -1;
	uint32_t path;
	int rc;

	for (size_t i = 0; i < profile_type_count(p); i++)
		if (s->values[i] < 0 || s->values[i] > DECIMAL_MAX * 1000)
			return err_set(e, -EINVAL, "a value that no counter has");
	if (f.is_evicted || (event < 0 && (class < 0 || result < 0)))
		return 0;
	rc = put_path(p, s->node, &f, text, e);
	if (rc < 0)
		return rc;
	path = strtab_intern(r->paths, text->data, text->len);
	if (path == STRTAB_NONE)
		return err_nomem(e);
	if (event < 0)
		rc = add_request(r, path, class, result, s, t);
	else
		rc = add_event(row_of(r, CATEGORY_TTL, path),
			       (enum path_value)(PATH_STORES + event), value_of(s, t->negative));
	return rc < 0 ? err_nomem(e) : 0;
}

static int add_samples(struct rank_profile *r, const struct profile *p, struct err *e)
{
	const struct types t = { profile_find_type(p, "calls"), profile_find_type(p, "bytes"),
				 profile_find_type(p, "time"),
				 profile_find_type(p, "negative_entries") };
	CLEANUP(buf_fini) struct buf text = { 0 };
	int rc = t.calls < 0 ? err_set(e, -EINVAL, "not the profile of a cache") : 0;

	for (size_t i = 0; rc == 0 && i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);

		rc = add_sample(r, p, &s, &t, &text, e);
	}
	return rc;
}

int rank_profile_read(const void *bytes, size_t len, struct rank_profile **ret, struct err *e)
{
	struct rank_profile *r = calloc(1, sizeof *r);
	struct profile *p = profile_new();
	int rc;

	if (r)
		r->paths = strtab_new();
	rc = r && r->paths && p ? pprof_read(p, bytes, len, e) : err_nomem(e);
	if (rc == 0)
		rc = add_samples(r, p, e);
	profile_free(p);
	if (rc < 0)
		rank_profile_free(r);
	else
		*ret = r;
	return rc;
}

void rank_profile_free(struct rank_profile *r)
{
	if (!r)
		return;
	strtab_free(r->paths);
	map_fini(&r->index);
	for (size_t i = 0; i < ARRAY_LEN(r->rows); i++)
		rows_fini(&r->rows[i]);
	free(r);
}

const struct rows *rank_profile_rows(const struct rank_profile *p, enum rank_file kind)
{
	static const uint32_t lists[RANK_FILES] = { [RANK_METADATA_EVENTS] = CATEGORY_METADATA,
						    [RANK_DATA_EVENTS] = CATEGORY_DATA,
						    [RANK_TREE_EVENTS] = CATEGORY_TREE,
						    [RANK_TTL_EVENTS] = CATEGORY_TTL,
						    [RANK_COSTS] = COSTS };

	assert(kind == RANK_COSTS || (kind >= RANK_METADATA_EVENTS && kind <= RANK_TTL_EVENTS));
	return &p->rows[lists[kind]];
}

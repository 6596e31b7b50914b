/* SPDX-License-Identifier: MIT */
#include "format/pprof/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "format/pprof/fields.h"
#include "format/pprof/proto.h"

struct raw_mapping {
	uint64_t at;
	uint64_t fields[MAPPING_HAS_INLINE_FRAMES + 1];
};

struct raw_function {
	uint64_t at;
	uint64_t fields[FUNCTION_START_LINE + 1];
};

struct raw_line {
	uint64_t fields[LINE_LINE + 1];
};

struct raw_location {
	uint64_t at;
	uint64_t fields[LOCATION_IS_FOLDED + 1];
	size_t first_line;
	uint32_t line_count;
};

static void ids_fini(struct pprof_ids *ids)
{
	free(ids->dense);
	map_fini(&ids->sparse);
}

void pprof_tables_fini(struct pprof_tables *t)
{
	rows_fini(&t->strings);
	buf_fini(&t->text);
	rows_fini(&t->mappings);
	rows_fini(&t->functions);
	rows_fini(&t->lines);
	rows_fini(&t->locations);
	ids_fini(&t->mapping_ids);
	ids_fini(&t->function_ids);
	ids_fini(&t->location_ids);
	*t = (struct pprof_tables){ 0 };
}

static void ids_note(struct pprof_ids *ids, uint64_t id)
{
	if (id > ids->max)
		ids->max = id;
}

/* After all ids were noted. */
static int ids_init(struct pprof_ids *ids, size_t count)
{
	if (ids->max > 2 * (uint64_t)count + 64)
		return 0; /* the map it is */
	ids->dense = calloc((size_t)ids->max + 1, sizeof *ids->dense);
	if (!ids->dense)
		return -ENOMEM;
	ids->dense_count = (size_t)ids->max + 1;
	return 0;
}

static uint32_t ids_get(const struct pprof_ids *ids, uint64_t id)
{
	uint32_t to;

	if (ids->dense)
		return id < ids->dense_count ? ids->dense[id] : 0;
	to = map_get(&ids->sparse, id);
	return to == MAP_NONE ? 0 : to;
}

static int ids_put(struct pprof_ids *ids, const char *kind, uint64_t id, uint32_t to, struct err *e)
{
	if (id == 0)
		return err_set(e, -EINVAL, "%s without an id", kind);
	if (ids_get(ids, id))
		return err_set(e, -EINVAL, "a second %s with the id %" PRIu64, kind, id);
	if (ids->dense)
		ids->dense[id] = to;
	else if (map_put(&ids->sparse, id, to) < 0)
		return err_nomem(e);
	return 0;
}

/* Strings of protobuf are UTF-8; one that is not would be refused by other tools. */
static uint32_t add_clean(struct pprof_tables *t, struct profile *p, const char *text, size_t len)
{
	if (utf8_clean_len(text, len) == len)
		return profile_str_n(p, text, len);
	buf_clear(&t->text);
	utf8_put_clean(&t->text, text, len);
	if (buf_error(&t->text) < 0) {
		profile_fail_nomem(p);
		return 0;
	}
	return profile_str_n(p, t->text.data, t->text.len);
}

int pprof_add_string(struct pprof_tables *t, struct profile *p, struct cursor text, struct err *e)
{
	size_t len = cursor_left(&text);
	uint32_t *row;

	if (t->strings.count == 0 && len > 0)
		return err_set(e, -EINVAL, "string_table[0] is not empty");
	row = rows_add(&t->strings, sizeof *row);
	if (!row)
		return err_nomem(e);
	*row = add_clean(t, p, (const char *)text.at, len);
	return profile_check(p, e);
}

int pprof_find_string(const struct pprof_tables *t, uint64_t index, uint32_t *ret, struct err *e)
{
	if (index >= t->strings.count)
		return err_set(e, -EINVAL, "string index %" PRId64 " of %zu strings",
			       (int64_t)index, t->strings.count);
	*ret = ((const uint32_t *)t->strings.data)[index];
	return 0;
}

int pprof_add_mapping(struct pprof_tables *t, struct cursor message, uint64_t at, struct err *e)
{
	struct raw_mapping *m = rows_add(&t->mappings, sizeof *m);
	int rc;

	if (!m)
		return err_nomem(e);
	m->at = at;
	rc = proto_read_numbers(&message, "mapping", m->fields, ARRAY_LEN(m->fields), e);
	ids_note(&t->mapping_ids, m->fields[MAPPING_ID]);
	return rc;
}

int pprof_add_function(struct pprof_tables *t, struct cursor message, uint64_t at, struct err *e)
{
	struct raw_function *fn = rows_add(&t->functions, sizeof *fn);
	int rc;

	if (!fn)
		return err_nomem(e);
	fn->at = at;
	rc = proto_read_numbers(&message, "function", fn->fields, ARRAY_LEN(fn->fields), e);
	ids_note(&t->function_ids, fn->fields[FUNCTION_ID]);
	return rc;
}

static int add_line(struct pprof_tables *t, const struct proto_field *f, struct err *e)
{
	struct raw_line *line = rows_add(&t->lines, sizeof *line);
	struct cursor message;
	int rc;

	if (!line)
		return err_nomem(e);
	rc = proto_take_bytes(f, "location", &message, e);
	if (rc < 0)
		return rc;
	return proto_read_numbers(&message, "line", line->fields, ARRAY_LEN(line->fields), e);
}

int pprof_add_location(struct pprof_tables *t, struct cursor message, uint64_t at, struct err *e)
{
	struct raw_location *l = rows_add(&t->locations, sizeof *l);
	enum proto_status status;
	struct proto_field f;

	if (!l)
		return err_nomem(e);
	l->at = at;
	l->first_line = t->lines.count;
	while ((status = proto_next(&message, &f)) == PROTO_FIELD) {
		int rc = 0;

		if (f.number == LOCATION_LINE)
			rc = add_line(t, &f, e);
		else if (f.number < ARRAY_LEN(l->fields))
			rc = proto_take_number(&f, "location", &l->fields[f.number], e);
		if (rc < 0)
			return rc;
	}
	if (t->lines.count - l->first_line > UINT32_MAX)
		return err_set(e, -EINVAL, "location with more than 2^32 lines");
	l->line_count = (uint32_t)(t->lines.count - l->first_line);
	ids_note(&t->location_ids, l->fields[LOCATION_ID]);
	return proto_end(status, "location", e);
}

static int find_strings(const struct pprof_tables *t, const uint64_t *indices, uint32_t *const *ret,
			size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		int rc = pprof_find_string(t, indices[i], ret[i], e);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int resolve_mapping(struct pprof_tables *t, struct profile *p, const struct raw_mapping *raw,
			   struct err *e)
{
	const uint64_t *f = raw->fields;
	struct mapping m = {
		.start = f[MAPPING_START],
		.limit = f[MAPPING_LIMIT],
		.offset = f[MAPPING_OFFSET],
		.has_functions = f[MAPPING_HAS_FUNCTIONS],
		.has_filenames = f[MAPPING_HAS_FILENAMES],
		.has_line_numbers = f[MAPPING_HAS_LINE_NUMBERS],
		.has_inline_frames = f[MAPPING_HAS_INLINE_FRAMES],
	};
	const uint64_t indices[] = { f[MAPPING_FILENAME], f[MAPPING_BUILD_ID] };
	uint32_t *const strings[] = { &m.path, &m.build_id };
	int rc = find_strings(t, indices, strings, ARRAY_LEN(strings), e);

	if (rc < 0)
		return rc;
	return ids_put(&t->mapping_ids, "mapping", f[MAPPING_ID], profile_add_mapping(p, &m), e);
}

static int resolve_function(struct pprof_tables *t, struct profile *p,
			    const struct raw_function *raw, struct err *e)
{
	const uint64_t *f = raw->fields;
	struct function fn = { .start_line = (int64_t)f[FUNCTION_START_LINE] };
	const uint64_t indices[] = { f[FUNCTION_NAME], f[FUNCTION_SYSTEM_NAME],
				     f[FUNCTION_FILENAME] };
	uint32_t *const strings[] = { &fn.name, &fn.system_name, &fn.file };
	int rc = find_strings(t, indices, strings, ARRAY_LEN(strings), e);

	if (rc < 0)
		return rc;
	return ids_put(&t->function_ids, "function", f[FUNCTION_ID], profile_add_function(p, &fn),
		       e);
}

/* lines: room for those of one location, reused. */
static int resolve_lines(const struct pprof_tables *t, const struct raw_location *raw,
			 struct rows *lines, struct err *e)
{
	const struct raw_line *from = t->lines.data;

	lines->count = 0;
	for (uint32_t i = 0; i < raw->line_count; i++) {
		struct line *line = rows_add(lines, sizeof *line);
		uint64_t id = from[raw->first_line + i].fields[LINE_FUNCTION_ID];

		if (!line)
			return err_nomem(e);
		line->line = (int64_t)from[raw->first_line + i].fields[LINE_LINE];
		line->function = ids_get(&t->function_ids, id);
		if (id && !line->function)
			return err_set(e, -EINVAL, "unknown function id %" PRIu64, id);
	}
	return 0;
}

static int resolve_location(struct pprof_tables *t, struct profile *p,
			    const struct raw_location *raw, struct rows *lines, struct err *e)
{
	const uint64_t *f = raw->fields;
	int rc = resolve_lines(t, raw, lines, e);
	uint32_t id;

	if (rc < 0)
		return rc;
	id = profile_add_location(
		p, &(struct location){
			   .mapping = ids_get(&t->mapping_ids, f[LOCATION_MAPPING_ID]),
			   .address = f[LOCATION_ADDRESS],
			   .lines = lines->data,
			   .line_count = raw->line_count,
			   .is_folded = f[LOCATION_IS_FOLDED],
		   });
	return ids_put(&t->location_ids, "location", f[LOCATION_ID], id, e);
}

static int resolve_mappings(struct pprof_tables *t, struct profile *p, uint64_t *ret_at,
			    struct err *e)
{
	const struct raw_mapping *rows = t->mappings.data;

	if (ids_init(&t->mapping_ids, t->mappings.count) < 0)
		return err_nomem(e);
	for (size_t i = 0; i < t->mappings.count; i++) {
		int rc = resolve_mapping(t, p, &rows[i], e);

		*ret_at = rows[i].at;
		if (rc < 0)
			return rc;
	}
	return profile_check(p, e);
}

static int resolve_functions(struct pprof_tables *t, struct profile *p, uint64_t *ret_at,
			     struct err *e)
{
	const struct raw_function *rows = t->functions.data;

	if (ids_init(&t->function_ids, t->functions.count) < 0)
		return err_nomem(e);
	for (size_t i = 0; i < t->functions.count; i++) {
		int rc = resolve_function(t, p, &rows[i], e);

		*ret_at = rows[i].at;
		if (rc < 0)
			return rc;
	}
	return profile_check(p, e);
}

static int resolve_locations(struct pprof_tables *t, struct profile *p, uint64_t *ret_at,
			     struct err *e)
{
	CLEANUP(rows_fini) struct rows lines = { 0 };
	const struct raw_location *rows = t->locations.data;

	if (ids_init(&t->location_ids, t->locations.count) < 0)
		return err_nomem(e);
	for (size_t i = 0; i < t->locations.count; i++) {
		int rc = resolve_location(t, p, &rows[i], &lines, e);

		*ret_at = rows[i].at;
		if (rc < 0)
			return rc;
	}
	return profile_check(p, e);
}

int pprof_resolve(struct pprof_tables *t, struct profile *p, uint64_t *ret_at, struct err *e)
{
	int rc = resolve_mappings(t, p, ret_at, e);

	if (rc == 0)
		rc = resolve_functions(t, p, ret_at, e);
	if (rc == 0)
		rc = resolve_locations(t, p, ret_at, e);
	return rc;
}

uint32_t pprof_find_location(const struct pprof_tables *t, uint64_t id)
{
	return ids_get(&t->location_ids, id);
}

int pprof_find_label(const struct pprof_tables *t, const struct proto_field *f, struct label *ret,
		     struct err *e)
{
	uint64_t fields[LABEL_NUM_UNIT + 1] = { 0 };
	struct cursor message;
	int rc = proto_take_bytes(f, "sample", &message, e);

	if (rc == 0)
		rc = proto_read_numbers(&message, "label", fields, ARRAY_LEN(fields), e);
	if (rc == 0)
		rc = pprof_find_string(t, fields[LABEL_KEY], &ret->key, e);
	if (rc == 0)
		rc = pprof_find_string(t, fields[LABEL_STR], &ret->str, e);
	if (rc < 0 || ret->str)
		return rc;
	ret->num = (int64_t)fields[LABEL_NUM];
	return pprof_find_string(t, fields[LABEL_NUM_UNIT], &ret->unit, e);
}

/* SPDX-License-Identifier: MIT */
#include "model/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define MAX_EXTRA 16

/* Ids of src to ids of dst, of one kind. */
struct id_map {
	uint32_t *to; /* [count]; UNKNOWN: not copied yet */
	size_t count;
};

#define UNKNOWN UINT32_MAX

struct profile_copier {
	struct profile *dst;
	const struct profile *src;
	struct label extra[MAX_EXTRA]; /* [extra_count]; ids of dst */
	size_t extra_count;
	struct id_map strings, mappings, functions, locations, nodes, label_sets;
};

static bool init_map(struct id_map *map, size_t count)
{
	map->to = reallocarray(NULL, count ? count : 1, sizeof *map->to);
	if (!map->to)
		return false;
	map->count = count;
	memset(map->to, 0xff, count * sizeof *map->to);
	if (count)
		map->to[0] = 0;
	return true;
}

struct profile_copier *profile_copier_new(struct profile *dst, const struct profile *src,
					  const struct text_label *extra, size_t count)
{
	struct profile_copier *c = calloc(1, sizeof *c);

	if (!c || count > MAX_EXTRA)
		goto fail;
	c->dst = dst;
	c->src = src;
	for (size_t i = 0; i < count; i++)
		c->extra[i] = (struct label){ .key = profile_str(dst, extra[i].key),
					      .str = profile_str(dst, extra[i].value) };
	c->extra_count = count;
	if (!init_map(&c->strings, profile_str_count(src)) ||
	    !init_map(&c->mappings, profile_mapping_count(src)) ||
	    !init_map(&c->functions, profile_function_count(src)) ||
	    !init_map(&c->locations, profile_location_count(src)) ||
	    !init_map(&c->nodes, profile_node_count(src)) ||
	    !init_map(&c->label_sets, profile_label_set_count(src)))
		goto fail;
	c->label_sets.to[0] = count ? UNKNOWN : 0;
	return c;

fail:
	profile_copier_free(c);
	return NULL;
}

void profile_copier_free(struct profile_copier *c)
{
	if (!c)
		return;
	free(c->strings.to);
	free(c->mappings.to);
	free(c->functions.to);
	free(c->locations.to);
	free(c->nodes.to);
	free(c->label_sets.to);
	free(c);
}

uint32_t profile_copy_str(struct profile_copier *c, uint32_t id)
{
	uint32_t *to = &c->strings.to[id];

	if (*to == UNKNOWN) {
		struct str text = profile_get_str(c->src, id);

		*to = profile_str_n(c->dst, text.ptr, text.len);
	}
	return *to;
}

static uint32_t copy_mapping(struct profile_copier *c, uint32_t id)
{
	uint32_t *to = &c->mappings.to[id];

	if (*to == UNKNOWN) {
		struct mapping m = *profile_get_mapping(c->src, id);

		m.path = profile_copy_str(c, m.path);
		m.build_id = profile_copy_str(c, m.build_id);
		*to = profile_add_mapping(c->dst, &m);
	}
	return *to;
}

static uint32_t copy_function(struct profile_copier *c, uint32_t id)
{
	uint32_t *to = &c->functions.to[id];

	if (*to == UNKNOWN) {
		struct function f = *profile_get_function(c->src, id);

		f.name = profile_copy_str(c, f.name);
		f.system_name = profile_copy_str(c, f.system_name);
		f.file = profile_copy_str(c, f.file);
		*to = profile_add_function(c->dst, &f);
	}
	return *to;
}

static uint32_t add_location(struct profile_copier *c, struct location l)
{
	enum { SHORT_LINES = 32 };
	struct line short_lines[SHORT_LINES], *lines = short_lines;
	uint32_t id = 0;

	if (l.line_count > SHORT_LINES)
		lines = reallocarray(NULL, l.line_count, sizeof *lines);
	for (uint32_t i = 0; lines && i < l.line_count; i++)
		lines[i] = (struct line){ copy_function(c, l.lines[i].function), l.lines[i].line };
	if (lines) {
		l.mapping = copy_mapping(c, l.mapping);
		l.lines = lines;
		id = profile_add_location(c->dst, &l);
	} else {
		profile_fail_nomem(c->dst);
	}
	if (lines != short_lines)
		free(lines);
	return id;
}

uint32_t profile_copy_location(struct profile_copier *c, uint32_t id)
{
	uint32_t *to = &c->locations.to[id];

	if (*to == UNKNOWN)
		*to = add_location(c, profile_get_location(c->src, id));
	return *to;
}

/* Up to the first ancestor that is known, then back, without recursion: stacks are deep. The
 * way back is kept in the table itself, as the child to return to. */
uint32_t profile_copy_node(struct profile_copier *c, uint32_t id)
{
	uint32_t *to = c->nodes.to, known;
	uint32_t top = id, child = UNKNOWN;

	for (; to[top] == UNKNOWN; top = profile_get_node(c->src, child).parent) {
		to[top] = child;
		child = top;
	}
	known = to[top];
	while (child != UNKNOWN) {
		uint32_t next = to[child];
		uint32_t location = profile_get_node(c->src, child).location;

		known = profile_push(c->dst, known, profile_copy_location(c, location));
		to[child] = known;
		child = next;
	}
	return known;
}

static uint32_t copy_labels(struct profile_copier *c, uint32_t id)
{
	size_t count;
	const struct label *labels = profile_get_labels(c->src, id, &count);
	struct label *copy = reallocarray(NULL, count + c->extra_count + 1, sizeof *copy);
	uint32_t to;

	if (!copy) {
		profile_fail_nomem(c->dst);
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		copy[i] = (struct label){ .key = profile_copy_str(c, labels[i].key),
					  .str = profile_copy_str(c, labels[i].str),
					  .num = labels[i].num,
					  .unit = profile_copy_str(c, labels[i].unit) };
	for (size_t i = 0; i < c->extra_count; i++)
		copy[count + i] = c->extra[i];
	to = profile_add_labels(c->dst, copy, count + c->extra_count);
	free(copy);
	return to;
}

uint32_t profile_copy_labels(struct profile_copier *c, uint32_t id)
{
	uint32_t *to = &c->label_sets.to[id];

	if (*to == UNKNOWN)
		*to = copy_labels(c, id);
	return *to;
}

/* A timed value of src as one of dst; labels: of samples, or NULL. False: its sample was not
 * copied.
 */
static bool find_copied(const struct profile_copier *c, const uint32_t *labels,
			struct timed_value *v)
{
	uint32_t sample = labels ? profile_find_sample(c->src, v->node, v->labels) : MAP_NONE;

	v->node = c->nodes.to[v->node];
	v->labels = sample != MAP_NONE ? labels[sample] : c->label_sets.to[v->labels];
	return v->node != UNKNOWN && v->labels != UNKNOWN &&
	       profile_find_sample(c->dst, v->node, v->labels) != MAP_NONE;
}

static void copy_times(struct profile_copier *c, const uint32_t *targets, size_t type,
		       const uint32_t *labels)
{
	const struct sample_times *from = profile_get_times(c->src);
	struct sample_times *to = profile_times(c->dst);

	to->start_ns = from->start_ns;
	to->bucket_ns = from->bucket_ns;
	to->is_thinned = from->is_thinned;
	for (size_t i = 0; i < from->entries.count; i++) {
		struct timed_value v = *sample_times_at(from, i), *row;
		uint32_t sample = targets && v.type == type
					  ? profile_find_sample(c->src, v.node, v.labels)
					  : MAP_NONE;

		if (sample != MAP_NONE)
			v.node = targets[sample];
		if (!find_copied(c, labels, &v))
			continue;
		row = rows_add(&to->entries, sizeof *row);
		if (!row) {
			profile_fail_nomem(c->dst);
			return;
		}
		*row = v;
	}
	sample_times_settle(to);
}

void profile_copy_times(struct profile_copier *c, const uint32_t *targets, size_t type)
{
	copy_times(c, targets, type, NULL);
}

void profile_copy_relabeled_times(struct profile_copier *c, const uint32_t *labels)
{
	copy_times(c, NULL, 0, labels);
}

static uint32_t move_str(struct profile *dst, const struct profile *src, uint32_t id)
{
	struct str text = profile_get_str(src, id);

	return profile_str_n(dst, text.ptr, text.len);
}

/* Is this the first time for the text? */
static bool is_new_comment(struct profile *p, struct map *seen, const char *text)
{
	uint32_t *slot = map_at(seen, profile_str(p, text));
	bool is_new = slot && *slot == MAP_NONE;

	if (!slot)
		profile_fail_nomem(p);
	if (is_new)
		*slot = 0;
	return is_new;
}

static void add_new_comments(struct profile *dst, const struct profile *src)
{
	CLEANUP(map_fini) struct map seen = { 0 };

	for (size_t i = 0; i < profile_comment_count(dst); i++)
		is_new_comment(dst, &seen, profile_get_comment(dst, i));
	for (size_t i = 0; i < profile_comment_count(src); i++)
		if (is_new_comment(dst, &seen, profile_get_comment(src, i)))
			profile_add_comment(dst, profile_get_comment(src, i));
}

static void copy_types(struct profile *dst, const struct profile *src)
{
	for (size_t i = 0; i < profile_type_count(src); i++) {
		struct value_type type = profile_get_type(src, i);

		profile_add_type(dst, profile_text(src, type.type), profile_text(src, type.unit));
	}
}

void profile_copy_head(struct profile *dst, const struct profile *src)
{
	const struct profile_info *from = profile_get_info(src);
	struct profile_info *to = profile_info(dst);

	copy_types(dst, src);
	*to = *from;
	to->period_type.type = move_str(dst, src, from->period_type.type);
	to->period_type.unit = move_str(dst, src, from->period_type.unit);
	to->default_type = move_str(dst, src, from->default_type);
	to->drop_frames = move_str(dst, src, from->drop_frames);
	to->keep_frames = move_str(dst, src, from->keep_frames);
	to->doc_url = move_str(dst, src, from->doc_url);
	add_new_comments(dst, src);
}

static void merge_head(struct profile *dst, const struct profile *src)
{
	const struct profile_info *from = profile_get_info(src);
	struct profile_info *to = profile_info(dst);

	if (from->time_ns && (!to->time_ns || from->time_ns < to->time_ns))
		to->time_ns = from->time_ns;
	if (__builtin_add_overflow(to->duration_ns, from->duration_ns, &to->duration_ns))
		to->duration_ns = INT64_MAX;
	to->skipped_lines += from->skipped_lines;
	add_new_comments(dst, src);
}

/* ret_order[i]: the index in dst of src's type i. */
static int match_types(const struct profile *dst, const struct profile *src, size_t *ret_order,
		       struct err *e)
{
	for (size_t i = 0; i < profile_type_count(src); i++) {
		struct value_type want = profile_get_type(src, i);
		const char *type = profile_text(src, want.type);
		const char *unit = profile_text(src, want.unit);
		size_t k;

		for (k = 0; k < profile_type_count(dst); k++) {
			struct value_type have = profile_get_type(dst, k);

			if (strcmp(profile_text(dst, have.type), type) == 0 &&
			    strcmp(profile_text(dst, have.unit), unit) == 0)
				break;
		}
		if (k == profile_type_count(dst))
			return err_set(e, -EINVAL, "sample type %s/%s is not in the others", type,
				       unit);
		ret_order[i] = k;
	}
	if (profile_type_count(src) < profile_type_count(dst))
		return err_set(e, -EINVAL, "only %zu of the %zu sample types of the others",
			       profile_type_count(src), profile_type_count(dst));
	return 0;
}

int profile_merge(struct profile *dst, const struct profile *src, const struct text_label *extra,
		  size_t count, struct err *e)
{
	size_t order[PROFILE_MAX_TYPES];
	int64_t values[PROFILE_MAX_TYPES];
	struct profile_copier *c;
	int rc;

	if (profile_type_count(dst) == 0)
		profile_copy_head(dst, src);
	else
		merge_head(dst, src);
	rc = profile_check(dst, e);
	if (rc == 0)
		rc = match_types(dst, src, order, e);
	if (rc < 0)
		return rc;
	c = profile_copier_new(dst, src, extra, count);
	if (!c)
		return err_nomem(e);
	for (size_t i = 0; i < profile_sample_count(src); i++) {
		struct sample s = profile_get_sample(src, i);

		for (size_t k = 0; k < profile_type_count(src); k++)
			values[order[k]] = s.values[k];
		profile_add(dst, profile_copy_node(c, s.node), profile_copy_labels(c, s.labels),
			    values);
	}
	profile_copier_free(c);
	return profile_check(dst, e);
}

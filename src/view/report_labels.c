/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "view/report.h"

#define MAX_KEYS 2

/* What a row is made by: samples whose labels of these keys are equal. */
struct keys {
	const char *names[MAX_KEYS]; /* [count] */
	size_t count;
	bool shows_comm; /* a process has many thread names; the one with the most is shown */
};

struct group {
	struct label labels[MAX_KEYS]; /* key 0: the sample has no such label */
	int64_t value, samples;
	uint32_t comm; /* string id of the name with the most, 0: none */
	int64_t comm_value;
};

struct groups {
	const struct profile *profile;
	struct keys keys;
	enum flat_order order;
	struct strtab *ids; /* the labels of a group as bytes, to its index */
	struct group *list; /* [count] */
	size_t count, cap;
	uint32_t *of_labels;  /* [label-set id]: index of list + 1, 0: not looked up yet */
	struct map comm_ids;  /* (group, comm) to index of comm_values */
	int64_t *comm_values; /* [comm_ids.count] */
	size_t comm_cap;
};

static struct keys keys_of(const char *key)
{
	if (strcmp(key, "thread") == 0)
		return (struct keys){ { "comm", "tid" }, 2, false };
	return (struct keys){ { key }, 1, strcmp(key, "pid") == 0 };
}

static void groups_fini(struct groups *g)
{
	strtab_free(g->ids);
	map_fini(&g->comm_ids);
	free(g->list);
	free(g->of_labels);
	free(g->comm_values);
}

static struct label find_label(const struct profile *p, uint32_t set, const char *key)
{
	size_t count;
	const struct label *labels = profile_get_labels(p, set, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(profile_text(p, labels[i].key), key) == 0)
			return labels[i];
	return (struct label){ 0 };
}

static int add_group(struct groups *g, uint32_t set, uint32_t *ret)
{
	struct group group;
	uint32_t id;

	memset(&group, 0, sizeof group); /* the padding is interned too */
	for (size_t i = 0; i < g->keys.count; i++) {
		struct label l = find_label(g->profile, set, g->keys.names[i]);

		group.labels[i].key = l.key;
		group.labels[i].str = l.str;
		group.labels[i].num = l.num;
		group.labels[i].unit = l.unit;
	}
	id = strtab_intern(g->ids, group.labels, sizeof group.labels);
	if (id == STRTAB_NONE)
		return -1;
	if (id == g->count) {
		if (g->count == g->cap) {
			size_t cap = g->cap ? 2 * g->cap : 64;
			struct group *list = reallocarray(g->list, cap, sizeof *list);

			if (!list)
				return -1;
			g->list = list;
			g->cap = cap;
		}
		g->list[g->count++] = group;
	}
	*ret = id;
	return 0;
}

/* Sums values by group and thread name, and remembers each group's largest. */
static int add_comm(struct groups *g, uint32_t group, uint32_t set, int64_t value)
{
	uint32_t comm = find_label(g->profile, set, "comm").str;
	uint32_t *slot = map_at(&g->comm_ids, map_pair(group, comm));
	struct group *at = &g->list[group];

	if (!slot)
		return -1;
	if (*slot == MAP_NONE) {
		*slot = (uint32_t)g->comm_ids.count - 1;
		if (*slot >= g->comm_cap) {
			size_t cap = g->comm_cap ? 2 * g->comm_cap : 64;
			int64_t *values = reallocarray(g->comm_values, cap, sizeof *values);

			if (!values)
				return -1;
			g->comm_values = values;
			g->comm_cap = cap;
		}
		g->comm_values[*slot] = 0;
	}
	g->comm_values[*slot] = stacks_add(g->comm_values[*slot], value);
	if (g->comm_values[*slot] > at->comm_value || !at->comm) {
		at->comm_value = g->comm_values[*slot];
		at->comm = comm;
	}
	return 0;
}

static int add_samples(struct groups *g, size_t type, int samples_type)
{
	for (size_t i = 0; i < profile_sample_count(g->profile); i++) {
		struct sample s = profile_get_sample(g->profile, i);
		uint32_t *known = &g->of_labels[s.labels], id;
		int64_t value = s.values[type];

		if (!*known) {
			if (add_group(g, s.labels, &id) < 0)
				return -1;
			*known = id + 1;
		}
		id = *known - 1;
		g->list[id].value = stacks_add(g->list[id].value, value);
		if (samples_type >= 0)
			g->list[id].samples =
				stacks_add(g->list[id].samples, s.values[samples_type]);
		if (g->keys.shows_comm && add_comm(g, id, s.labels, value) < 0)
			return -1;
	}
	return 0;
}

static int groups_init(struct groups *g, const struct profile *p, const struct report_opts *o,
		       const char *key, struct err *e)
{
	*g = (struct groups){ .profile = p, .keys = keys_of(key), .order = o->order };
	g->ids = strtab_new();
	g->of_labels = calloc(profile_label_set_count(p), sizeof *g->of_labels);
	if (!g->ids || !g->of_labels || add_samples(g, o->type, flat_samples_type(p)) < 0) {
		groups_fini(g);
		return err_nomem(e);
	}
	return 0;
}

/* Absent ones last, numbers before texts. */
static int compare_labels(const struct profile *p, const struct label *a, const struct label *b)
{
	if (!a->key || !b->key)
		return (!a->key) - (!b->key);
	if (!a->str || !b->str)
		return a->str || b->str ? (a->str != 0) - (b->str != 0)
					: (a->num > b->num) - (a->num < b->num);
	return strcmp(profile_text(p, a->str), profile_text(p, b->str));
}

static int compare_groups(const void *left, const void *right, void *groups)
{
	const struct groups *g = groups;
	const struct group *a = &g->list[*(const uint32_t *)left];
	const struct group *b = &g->list[*(const uint32_t *)right];
	int order = (a->value < b->value) - (a->value > b->value);

	if (g->order == FLAT_BY_NAME)
		order = 0;
	for (size_t i = 0; !order && i < g->keys.count; i++)
		order = compare_labels(g->profile, &a->labels[i], &b->labels[i]);
	return order ? order : (a > b) - (a < b);
}

static void put_label(struct emit *out, const struct groups *g, size_t i, const struct label *label)
{
	const char *name = g->keys.names[i];

	if (!label->key)
		emit_none(out, name);
	else if (label->str)
		emit_text(out, name, profile_text(g->profile, label->str));
	else
		emit_value(out, name, label->num, profile_text(g->profile, label->unit));
}

static void put_row(struct emit *out, const struct groups *g, const struct report_opts *o,
		    const struct group *group, int64_t whole)
{
	int samples_type = flat_samples_type(g->profile);

	emit_value(out, "total", group->value, report_unit(g->profile, o->type));
	emit_percent(out, "total_percent", group->value, whole);
	if (samples_type >= 0 && (size_t)samples_type != o->type)
		emit_int(out, "samples", group->samples);
	for (size_t i = 0; i < g->keys.count; i++)
		put_label(out, g, i, &group->labels[i]);
	if (g->keys.shows_comm && !group->comm)
		emit_none(out, "comm");
	else if (g->keys.shows_comm)
		emit_text(out, "comm", profile_text(g->profile, group->comm));
}

static int put_rows(struct emit *out, struct groups *g, const struct report_opts *o, struct err *e)
{
	uint32_t *rows = reallocarray(NULL, g->count + 1, sizeof *rows);
	size_t count = 0, shown;
	int64_t whole = 0, cut = 0;

	if (!rows)
		return err_nomem(e);
	for (uint32_t i = 0; i < g->count; i++) {
		whole = stacks_add(whole, g->list[i].value);
		if (g->list[i].value || g->list[i].samples)
			rows[count++] = i;
	}
	qsort_r(rows, count, sizeof *rows, compare_groups, g);
	shown = o->limit && o->limit < count ? o->limit : count;
	for (size_t i = 0; i < shown; i++) {
		emit_row(out);
		put_row(out, g, o, &g->list[rows[i]], whole);
	}
	for (size_t i = shown; i < count; i++)
		cut = stacks_add(cut, g->list[rows[i]].value);
	report_put_cut(out, count - shown, cut, whole);
	free(rows);
	return 0;
}

int report_labels(struct emit *out, const struct profile *p, const struct report_opts *o,
		  const char *key, struct err *e)
{
	struct groups groups;
	const struct group none = { .labels = { { .key = 0 } } };
	int rc = groups_init(&groups, p, o, key, e);

	if (rc < 0)
		return rc;
	report_put_head(out, p, o);
	emit_columns(out);
	put_row(out, &groups, o, &none, 0);
	rc = put_rows(out, &groups, o, e);
	groups_fini(&groups);
	return rc;
}

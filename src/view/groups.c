/* SPDX-License-Identifier: MIT */
#include "view/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/strtab.h"
#include "view/stacks.h"

static void set_keys(struct groups *g, const char *key)
{
	bool is_thread = strcmp(key, "thread") == 0;

	g->keys[0] = is_thread ? "comm" : key;
	g->keys[1] = "tid";
	g->key_count = is_thread ? 2 : 1;
	g->has_comm = strcmp(key, "pid") == 0;
}

/* Without a copy of a label's padding, because groups are interned by their bytes. */
static void find_label(const struct profile *p, uint32_t set, const char *key, struct label *ret)
{
	const struct label *label = profile_find_label(p, set, key);

	if (!label)
		return;
	ret->key = label->key;
	ret->str = label->str;
	ret->num = label->num;
	ret->unit = label->unit;
}

static int append(struct groups *g, const struct group *group)
{
	if (g->count == g->cap) {
		size_t cap = g->cap ? 2 * g->cap : 64;
		struct group *list = reallocarray(g->list, cap, sizeof *list);

		if (!list)
			return -1;
		g->list = list;
		g->cap = cap;
	}
	g->list[g->count++] = *group;
	return 0;
}

static int group_label_sets(struct groups *g, struct strtab *ids)
{
	for (uint32_t set = 0; set < profile_label_set_count(g->profile); set++) {
		struct group group;
		uint32_t id;

		memset(&group, 0, sizeof group);
		for (size_t i = 0; i < g->key_count; i++)
			find_label(g->profile, set, g->keys[i], &group.labels[i]);
		id = strtab_intern(ids, group.labels, sizeof group.labels);
		if (id == STRTAB_NONE || (id == g->count && append(g, &group) < 0))
			return -1;
		g->of_labels[set] = id;
	}
	return 0;
}

/* The value of each thread name of each process; the largest gives the process its name, that
 * of the main thread first. */
struct comms {
	struct map ids;   /* (group, comm) to index of values */
	int64_t *values;  /* [ids.count] */
	int64_t *largest; /* [group count] */
	size_t cap;
};

static int add_comm(struct groups *g, struct comms *c, uint32_t group, uint32_t comm, int64_t value)
{
	uint32_t *slot = map_at(&c->ids, map_pair(group, comm));

	if (!slot)
		return -1;
	if (*slot == MAP_NONE) {
		*slot = (uint32_t)c->ids.count - 1;
		if (*slot >= c->cap) {
			size_t cap = c->cap ? 2 * c->cap : 64;
			int64_t *values = reallocarray(c->values, cap, sizeof *values);

			if (!values)
				return -1;
			c->values = values;
			c->cap = cap;
		}
		c->values[*slot] = 0;
	}
	c->values[*slot] = stacks_add(c->values[*slot], value);
	if (!g->list[group].comm || c->values[*slot] > c->largest[group]) {
		c->largest[group] = c->values[*slot];
		g->list[group].comm = comm;
	}
	return 0;
}

static bool is_main_thread(const struct profile *p, uint32_t labels)
{
	struct label pid = { 0 }, tid = { 0 };

	find_label(p, labels, "pid", &pid);
	find_label(p, labels, "tid", &tid);
	return pid.key && tid.key && pid.num == tid.num && pid.str == tid.str;
}

/* By the main threads, or by the others of the processes that have no name then. */
static int name_by(struct groups *g, struct comms *comms, bool is_by_main, size_t type)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < profile_sample_count(g->profile); i++) {
		struct sample s = profile_get_sample(g->profile, i);
		struct label comm = { 0 };

		if (is_main_thread(g->profile, s.labels) != is_by_main)
			continue;
		find_label(g->profile, s.labels, "comm", &comm);
		rc = add_comm(g, comms, g->of_labels[s.labels], comm.str, s.values[type]);
	}
	return rc;
}

static int name_processes(struct groups *g, size_t type)
{
	struct comms comms = { .largest = calloc(g->count, sizeof *comms.largest) };
	int rc = comms.largest ? name_by(g, &comms, true, type) : -1;

	for (size_t i = 0; rc == 0 && i < g->count; i++)
		if (g->list[i].comm)
			comms.largest[i] = INT64_MAX;
	if (rc == 0)
		rc = name_by(g, &comms, false, type);
	map_fini(&comms.ids);
	free(comms.values);
	free(comms.largest);
	return rc;
}

int groups_init(struct groups *g, const struct profile *p, const char *key, size_t type,
		struct err *e)
{
	struct strtab *ids = strtab_new();
	int rc;

	*g = (struct groups){ .profile = p };
	set_keys(g, key);
	g->of_labels = calloc(profile_label_set_count(p), sizeof *g->of_labels);
	rc = ids && g->of_labels ? group_label_sets(g, ids) : -1;
	strtab_free(ids);
	if (rc == 0 && g->has_comm)
		rc = name_processes(g, type);
	if (rc == 0)
		return 0;
	groups_fini(g);
	return err_nomem(e);
}

void groups_fini(struct groups *g)
{
	free(g->list);
	free(g->of_labels);
	*g = (struct groups){ 0 };
}

void groups_sum(const struct groups *g, size_t type, int64_t *ret)
{
	memset(ret, 0, g->count * sizeof *ret);
	for (size_t i = 0; i < profile_sample_count(g->profile); i++) {
		struct sample s = profile_get_sample(g->profile, i);
		int64_t *sum = &ret[g->of_labels[s.labels]];

		*sum = stacks_add(*sum, s.values[type]);
	}
}

static int compare_labels(const struct profile *p, const struct label *a, const struct label *b)
{
	if (!a->key || !b->key)
		return (!a->key) - (!b->key);
	if (!a->str || !b->str)
		return a->str || b->str ? (a->str != 0) - (b->str != 0)
					: (a->num > b->num) - (a->num < b->num);
	return strcmp(profile_text(p, a->str), profile_text(p, b->str));
}

int groups_compare(const struct groups *g, uint32_t a, uint32_t b)
{
	int order = 0;

	for (size_t i = 0; !order && i < g->key_count; i++)
		order = compare_labels(g->profile, &g->list[a].labels[i], &g->list[b].labels[i]);
	return order ? order : (a > b) - (a < b);
}

/* Heap profiles have sizes without a unit under the key "bytes". */
static const char *unit_of(const struct profile *p, const struct label *label)
{
	if (!label->unit && strcmp(profile_text(p, label->key), "bytes") == 0)
		return "bytes";
	return profile_text(p, label->unit);
}

static void put_label(struct emit *out, const struct profile *p, const char *key,
		      const struct label *label)
{
	if (!label->key)
		emit_none(out, key);
	else if (label->str)
		emit_text(out, key, profile_text(p, label->str));
	else
		emit_value(out, key, label->num, unit_of(p, label));
}

void groups_put_names(const struct groups *g, const struct group *group, struct emit *out)
{
	for (size_t i = 0; i < g->key_count; i++)
		put_label(out, g->profile, g->keys[i], &group->labels[i]);
	if (g->has_comm)
		emit_optional(out, "comm", profile_text(g->profile, group->comm));
}

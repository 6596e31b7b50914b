/* SPDX-License-Identifier: MIT */
#include "model/label_roots.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "model/merge.h"
#include "model/suggest.h"

struct rooting {
	const struct profile *src;
	struct profile *dst;
	struct profile_copier *copier;
	uint32_t *roots;  /* [label-set id of src]: node of dst */
	struct map nodes; /* (node of dst, node of src) to node of dst: of stacks above a root */
	uint32_t *path;   /* [path_cap]: nodes of src, leaf first */
	size_t path_cap;
	bool has_key; /* some sample has the label */
};

static void rooting_fini(struct rooting *r)
{
	profile_copier_free(r->copier);
	free(r->roots);
	map_fini(&r->nodes);
	free(r->path);
}

static bool put_value(const struct profile *p, uint32_t set, const char *key, struct buf *out)
{
	const struct label *label = profile_find_label(p, set, key);

	if (!label)
		return false;
	if (out->len)
		buf_put_byte(out, ' ');
	if (label->str)
		buf_put_str(out, profile_text(p, label->str));
	else
		buf_put_int(out, label->num);
	return true;
}

/* The frame of each label set. */
static int make_roots(struct rooting *r, const char *key)
{
	bool is_thread = strcmp(key, "thread") == 0;
	CLEANUP(buf_fini) struct buf name = { 0 };

	for (uint32_t set = 0; set < profile_label_set_count(r->src); set++) {
		bool has;

		buf_clear(&name);
		has = put_value(r->src, set, is_thread ? "comm" : key, &name);
		if (is_thread)
			has |= put_value(r->src, set, "tid", &name);
		if (!has)
			buf_printf(&name, "[no %s]", key);
		if (buf_error(&name) < 0)
			return -1;
		r->has_key |= has;
		r->roots[set] = profile_push(
			r->dst, 0,
			profile_name_location(r->dst, name.data ? name.data : "", name.len));
	}
	return 0;
}

static int keep(struct rooting *r, size_t depth, uint32_t node)
{
	if (depth == r->path_cap) {
		size_t cap = r->path_cap ? 2 * r->path_cap : 64;
		uint32_t *path = reallocarray(r->path, cap, sizeof *path);

		if (!path)
			return -1;
		r->path = path;
		r->path_cap = cap;
	}
	r->path[depth] = node;
	return 0;
}

/* The stack of a node of src on a root. 0: out of memory, or there is no stack and no root. */
static uint32_t copy_stack(struct rooting *r, uint32_t node, uint32_t root)
{
	uint32_t to = root;
	size_t depth = 0;

	while (node) {
		uint32_t known = map_get(&r->nodes, map_pair(root, node));

		if (known != MAP_NONE) {
			to = known;
			break;
		}
		if (keep(r, depth++, node) < 0)
			return 0;
		node = profile_get_node(r->src, node).parent;
	}
	while (depth-- > 0) {
		uint32_t location = profile_get_node(r->src, r->path[depth]).location;

		to = profile_push(r->dst, to, profile_copy_location(r->copier, location));
		if (map_put(&r->nodes, map_pair(root, r->path[depth]), to) < 0)
			return 0;
	}
	return to;
}

static int copy_samples(struct rooting *r)
{
	for (size_t i = 0; i < profile_sample_count(r->src); i++) {
		struct sample s = profile_get_sample(r->src, i);
		uint32_t node = copy_stack(r, s.node, r->roots[s.labels]);

		if (!node)
			return -1;
		profile_add(r->dst, node, profile_copy_labels(r->copier, s.labels), s.values);
	}
	return 0;
}

static int report_absent(const struct profile *p, const char *key, struct err *e)
{
	CLEANUP(buf_fini) struct buf words = { 0 };

	suggest_labels(p, key, &words);
	return buf_error(&words) < 0 ? err_nomem(e) : err_set(e, -ENOENT, "%s", words.data);
}

static int fill(struct rooting *r, const char *key, struct err *e)
{
	r->copier = r->dst ? profile_copier_new(r->dst, r->src, NULL, 0) : NULL;
	r->roots = calloc(profile_label_set_count(r->src), sizeof *r->roots);
	if (!r->copier || !r->roots)
		return err_nomem(e);
	profile_copy_head(r->dst, r->src);
	if (make_roots(r, key) < 0)
		return err_nomem(e);
	if (!r->has_key && profile_sample_count(r->src))
		return report_absent(r->src, key, e);
	if (copy_samples(r) < 0)
		return err_nomem(e);
	return profile_check(r->dst, e);
}

int profile_label_roots(const struct profile *src, const char *key, struct profile **ret,
			struct err *e)
{
	struct rooting r = { .src = src, .dst = profile_new() };
	int rc = fill(&r, key, e);

	rooting_fini(&r);
	if (rc < 0)
		profile_free(r.dst);
	else
		*ret = r.dst;
	return rc;
}

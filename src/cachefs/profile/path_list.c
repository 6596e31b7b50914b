/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/path_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct making {
	struct path_list *list;
	const char *target;
	bool is_bad;
};

static void add(struct making *m, const struct node *n, const struct path_counts *counts,
		bool is_evicted)
{
	struct path_list *l = m->list;
	struct path_row *row = rows_add(&l->rows, sizeof *row);

	if (!row) {
		m->is_bad = true;
		return;
	}
	row->path = l->text.len;
	row->is_evicted = is_evicted;
	path_counts_read(counts, &row->counts);
	buf_put_str(&l->text, strcmp(m->target, "/") == 0 ? "" : m->target);
	if (n->parent || l->text.len == row->path)
		buf_put_byte(&l->text, '/');
	if (node_path(n, &l->text) < 0)
		m->is_bad = true;
	buf_put_byte(&l->text, '\0');
}

static void visit(void *context, struct node *n)
{
	struct making *m = context;
	const struct path_counts *counts = atomic_load(&n->counts), *below;

	if (!counts)
		return;
	below = atomic_load(&counts->evicted);
	if (path_counts_events(counts, PATH_METADATA) || path_counts_events(counts, PATH_DATA) ||
	    path_counts_events(counts, PATH_TREE) || path_counts_negative_events(counts))
		add(m, n, counts, false);
	if (below && path_counts_has_any(below)) {
		m->list->evicted_paths += atomic_load(&below->paths);
		add(m, n, below, true);
	}
}

static int by_path(const void *left, const void *right, void *text)
{
	const struct path_row *a = left, *b = right;
	int order = strcmp((const char *)text + a->path, (const char *)text + b->path);

	return order ? order : a->is_evicted - b->is_evicted;
}

/* A replaced file leaves several nodes of one path. The rows are sorted. */
static void join_same(struct path_list *l)
{
	struct path_row *rows = l->rows.data;
	size_t kept = 0;

	for (size_t i = 1; i < l->rows.count; i++) {
		if (by_path(&rows[kept], &rows[i], l->text.data) == 0)
			path_counts_merge(&rows[kept].counts, &rows[i].counts);
		else
			rows[++kept] = rows[i];
	}
	l->rows.count = kept + 1;
}

int path_list_make(struct cache *c, const char *target, struct path_list *ret)
{
	struct making m = { ret, target, false };

	*ret = (struct path_list){ 0 };
	if (cache_visit(c, visit, &m) < 0 || m.is_bad || buf_error(&ret->text) < 0) {
		path_list_fini(ret);
		return -ENOMEM;
	}
	if (ret->rows.count) {
		qsort_r(ret->rows.data, ret->rows.count, sizeof(struct path_row), by_path,
			ret->text.data);
		join_same(ret);
	}
	return 0;
}

void path_list_fini(struct path_list *l)
{
	buf_fini(&l->text);
	rows_fini(&l->rows);
}

const struct path_row *path_list_get(const struct path_list *l, size_t i)
{
	return (const struct path_row *)l->rows.data + i;
}

const char *path_list_path(const struct path_list *l, const struct path_row *row)
{
	return l->text.data + row->path;
}

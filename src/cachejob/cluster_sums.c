/* SPDX-License-Identifier: MIT */
#include "cachejob/cluster_sums.h"

#include <string.h>

#include "base/str.h"

bool path_is_absent(const struct cluster_path *p)
{
	return p->category == CATEGORY_TTL ||
	       (p->category == CATEGORY_METADATA && decimal_is_zero(p->values[PATH_HITS]) &&
		decimal_is_zero(p->values[PATH_MISSES]) &&
		!decimal_is_zero(p->values[PATH_NEGATIVE]));
}

/* The part after the last "/site-packages/" or "/dist-packages/". */
static struct str after_packages(struct str path)
{
	static const char *const folders[] = { "/site-packages/", "/dist-packages/" };
	struct str rest = { path.ptr, 0 };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		size_t len = strlen(folders[i]);
		const char *at = path.ptr, *end = path.ptr + path.len;

		while ((at = memmem(at, (size_t)(end - at), folders[i], len))) {
			at += len;
			if (at > rest.ptr)
				rest = (struct str){ at, (size_t)(end - at) };
			at--; /* its last '/' may be the next one's first */
		}
	}
	return rest;
}

static struct str first_part(struct str path)
{
	const char *slash = memchr(path.ptr, '/', path.len);

	return (struct str){ path.ptr, slash ? (size_t)(slash - path.ptr) : path.len };
}

static bool contains(struct str s, const char *text)
{
	return memmem(s.ptr, s.len, text, strlen(text)) != NULL;
}

struct str path_package(struct str path)
{
	static const char cached[] = "__pycache__/";
	struct str rest = after_packages(path), part;
	char end = '.';
	const char *stop;

	if (rest.len > strlen(cached) && str_starts_with(rest, cached)) {
		rest.ptr += strlen(cached);
		rest.len -= strlen(cached);
	}
	part = first_part(rest);
	if (contains(part, ".dist-info") || contains(part, ".egg-info"))
		end = '-';
	stop = memchr(part.ptr, end, part.len);
	if (stop)
		part.len = (size_t)(stop - part.ptr);
	return str_equals(part, "__pycache__") ? (struct str){ part.ptr, 0 } : part;
}

static void add_path(struct path_sum *sum, size_t index, const struct cluster_path *p)
{
	int64_t events = p->values[PATH_EVENTS].integer;

	if (!sum->entries++ || events > sum->example_events) {
		sum->example = index;
		sum->example_events = events;
	}
	decimal_add(&sum->events, p->values[PATH_EVENTS]);
	if (p->category == CATEGORY_DATA)
		decimal_add(&sum->data, p->values[PATH_EVENTS]);
	if (path_is_absent(p))
		decimal_add(&sum->absent, p->values[PATH_EVENTS]);
}

static int add_to_package(struct path_sums *s, struct str path, size_t index,
			  const struct cluster_path *p)
{
	struct str package = path_package(path);
	struct path_sum *sum;
	uint32_t id;

	if (!package.len)
		return 0;
	id = strtab_intern(s->names, package.ptr, package.len);
	if (id == STRTAB_NONE)
		return -1;
	if (id == s->packages.count) {
		sum = rows_add(&s->packages, sizeof *sum);
		if (!sum)
			return -1;
		sum->name = strtab_get(s->names, id).ptr;
	}
	add_path((struct path_sum *)s->packages.data + id, index, p);
	return 0;
}

static int add_paths(struct path_sums *s, const struct cluster *c, const struct classes *classes)
{
	for (size_t i = 0; i < c->path_rows.count; i++) {
		const struct cluster_path *p = cluster_path(c, i);
		struct str path = cluster_path_text(c, p);
		uint32_t class = classes_find(classes, path_is_absent(p), path.ptr, path.len);

		add_path((struct path_sum *)s->classes.data + class, i, p);
		if (add_to_package(s, path, i, p) < 0)
			return -1;
	}
	return 0;
}

int cluster_sums_make(struct path_sums *ret, const struct cluster *c, const struct classes *classes,
		      struct err *e)
{
	*ret = (struct path_sums){ .names = strtab_new() };
	if (!ret->names || path_sums_add_classes(ret, classes) < 0 ||
	    add_paths(ret, c, classes) < 0) {
		path_sums_fini(ret);
		return err_nomem(e);
	}
	path_sums_sort(ret);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "cachejob/observed.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static bool was_present(const struct cluster_path *p)
{
	if (p->category == CATEGORY_METADATA)
		return !decimal_is_zero(p->values[PATH_HITS]) ||
		       !decimal_is_zero(p->values[PATH_MISSES]);
	/* Copper counts uncached reads as negative. */
	return p->category == CATEGORY_DATA || p->category == CATEGORY_TREE;
}

/* Flags the parents of an existing path as folders. */
static void mark_parents(struct observed *o, struct str path)
{
	size_t len = path.len;

	while (len > 1) {
		uint32_t id;

		while (len > 1 && path.ptr[len - 1] != '/')
			len--;
		len -= len > 1;
		id = observed_find(o, path.ptr, len);
		if (id == STRTAB_NONE)
			continue;
		if (o->flags[id] & OBSERVED_FOLDER)
			return;
		o->flags[id] |= OBSERVED_FOLDER | OBSERVED_PRESENT;
	}
}

int observed_make(struct observed *ret, const struct cluster *c, struct err *e)
{
	*ret = (struct observed){ c, calloc(strtab_count(c->paths) + 1, 1) };
	if (!ret->flags)
		return err_nomem(e);
	for (size_t i = 0; i < c->path_rows.count; i++) {
		const struct cluster_path *p = cluster_path(c, i);

		if (!was_present(p))
			continue;
		ret->flags[p->path] |= OBSERVED_PRESENT;
		mark_parents(ret, cluster_path_text(c, p));
		if (p->category == CATEGORY_TREE)
			ret->flags[p->path] |= OBSERVED_FOLDER;
	}
	return 0;
}

void observed_fini(struct observed *o)
{
	free(o->flags);
}

uint32_t observed_find(const struct observed *o, const char *path, size_t len)
{
	return strtab_find(o->cluster->paths, path, len);
}

bool path_is_within(struct str path, const char *root)
{
	size_t len = strlen(root);

	if (len == 1)
		return true;
	return path.len >= len && memcmp(path.ptr, root, len) == 0 &&
	       (path.len == len || path.ptr[len] == '/');
}

/* Finds the end of the component "name...": path[0..*ret). */
static bool find_component(struct str path, const char *start, size_t *ret)
{
	const char *at = memmem(path.ptr, path.len, start, strlen(start));
	const char *end;

	if (!at)
		return false;
	end = memchr(at + 1, '/', (size_t)(path.ptr + path.len - at - 1));
	*ret = end ? (size_t)(end - path.ptr) : path.len;
	return true;
}

static bool ends(struct str path, const char *tail)
{
	size_t len = strlen(tail);

	return path.len > len && memcmp(path.ptr + path.len - len, tail, len) == 0;
}

static bool is_of_system(struct str prefix)
{
	static const char *const prefixes[] = { "", "/usr", "/usr/local" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (prefix.len == strlen(prefixes[i]) &&
		    memcmp(prefix.ptr, prefixes[i], prefix.len) == 0)
			return true;
	return false;
}

/* The length of the root that an observed path implies; 0: none. */
static size_t root_of(struct str path)
{
	static const char *const pythons[] = { "/lib/python", "/lib64/python" };
	size_t len;

	if (find_component(path, "/conda_env", &len))
		return len;
	if (ends(path, "/conda-meta"))
		return path.len - strlen("/conda-meta");
	if (ends(path, "/pyvenv.cfg"))
		return path.len - strlen("/pyvenv.cfg");
	for (size_t i = 0; i < ARRAY_LEN(pythons); i++) {
		const char *at = memmem(path.ptr, path.len, pythons[i], strlen(pythons[i]));
		struct str prefix = { path.ptr, at ? (size_t)(at - path.ptr) : 0 };

		if (at && !is_of_system(prefix))
			return prefix.len;
		if (at) {
			struct str rest = { at + 4, path.len - prefix.len - 4 };

			/* /usr/lib/python3.11, not /usr; "/lib" is shorter than "/lib64" */
			return find_component(rest, "/python", &len) ? prefix.len + 4 + len : 0;
		}
	}
	return 0;
}

static int add_text(struct strtab *texts, struct rows *ret, const char *path, size_t len,
		    struct err *e)
{
	size_t before = strtab_count(texts);
	uint32_t id = strtab_intern(texts, path, len);
	const char **root;

	if (id == STRTAB_NONE)
		return err_nomem(e);
	if (strtab_count(texts) == before)
		return 0;
	root = rows_add(ret, sizeof *root);
	if (!root)
		return err_nomem(e);
	*root = strtab_get(texts, id).ptr;
	return 0;
}

/* Makes a path absolute, without "//", "." and "..". */
static int make_absolute(const char *name, struct buf *out, struct err *e)
{
	CLEANUP(buf_fini) struct buf in = { 0 };
	char cwd[PATH_MAX], *rest, *part, *state;

	if (!*name)
		return err_set(e, -EINVAL, "'': not a directory");
	if (*name != '/' && !getcwd(cwd, sizeof cwd))
		return err_errno(e, "the working directory");
	buf_printf(&in, "%s/%s", *name == '/' ? "" : cwd, name);
	if (buf_error(&in) < 0)
		return err_nomem(e);
	for (rest = in.data; (part = strtok_r(rest, "/", &state)); rest = NULL) {
		if (strcmp(part, "..") == 0) {
			while (out->len && out->data[--out->len] != '/')
				;
		} else if (strcmp(part, ".") != 0) {
			buf_put_byte(out, '/');
			buf_put_str(out, part);
		}
	}
	if (!out->len)
		buf_put_byte(out, '/');
	buf_put_byte(out, '\0');
	return buf_error(out) < 0 ? err_nomem(e) : 0;
}

static bool has_inner(const struct observed *o, const char *root)
{
	for (uint32_t id = 0; id < strtab_count(o->cluster->paths); id++) {
		struct str path = strtab_get(o->cluster->paths, id);

		if (path_is_within(path, root) && strcmp(path.ptr, root) != 0)
			return true;
	}
	return false;
}

/* Observed paths have links only as their last component, so none is below a named link. */
static int add_named(const struct observed *o, const char *name, struct strtab *texts,
		     struct rows *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	char real[PATH_MAX];
	const char *root;
	int rc = make_absolute(name, &path, e);

	if (rc < 0)
		return rc;
	root = path.data;
	if (!has_inner(o, root) && realpath(name, real) && strcmp(real, root) != 0) {
		log_msg(LOG_WARN, "cache", "%s: leads to %s, which is looked at", root, real);
		root = real;
	}
	return add_text(texts, ret, root, strlen(root), e);
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Sorted by bytes, "/a-b" comes before "/a/b". So each root is compared with all that are kept. */
static void drop_inner(struct rows *roots)
{
	const char **list = roots->data;
	size_t kept = 0;

	for (size_t i = 0; i < roots->count; i++) {
		bool is_inner = false;

		for (size_t k = 0; k < kept; k++)
			is_inner |=
				path_is_within((struct str){ list[i], strlen(list[i]) }, list[k]);
		if (!is_inner)
			list[kept++] = list[i];
	}
	roots->count = kept;
}

int observed_roots(const struct observed *o, const char *const *named, size_t count,
		   struct strtab *texts, struct rows *ret, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_named(o, named[i], texts, ret, e);
	for (uint32_t id = 0; rc == 0 && id < strtab_count(o->cluster->paths); id++) {
		struct str path = strtab_get(o->cluster->paths, id);
		size_t len = o->flags[id] & OBSERVED_PRESENT ? root_of(path) : 0;

		if (len)
			rc = add_text(texts, ret, path.ptr, len, e);
	}
	if (rc == 0 && ret->count) {
		qsort(ret->data, ret->count, sizeof(const char *), compare_texts);
		drop_inner(ret);
	}
	return rc;
}

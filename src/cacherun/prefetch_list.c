/* SPDX-License-Identifier: MIT */
#include "cacherun/prefetch_list.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/profile.h"
#include "source/load.h"

#define DEPTH_MAX (PATH_MAX / 2) /* components of a path */

static bool is_gzip(const struct file_input *in)
{
	return in->len > 2 && in->data[0] == 0x1f && in->data[1] == 0x8b;
}

static int put_lines(const char *path, const struct file_input *in, struct buf *text, struct err *e)
{
	if (in->len && memchr(in->data, '\0', in->len))
		return err_set(e, -EINVAL,
			       "%s: neither a text file of one path a line nor a .pb.gz", path);
	for (size_t at = 0; at < in->len;) {
		const unsigned char *line = in->data + at, *end = memchr(line, '\n', in->len - at);
		size_t len = end ? (size_t)(end - line) : in->len - at;

		if (len) {
			buf_put(text, line, len);
			buf_put(text, "", 1);
		}
		at += len + 1;
	}
	return 0;
}

/* The name of a stack's frame: a component of a path. */
static const char *name_of(const struct profile *p, uint32_t node)
{
	struct location l = profile_get_location(p, profile_get_node(p, node).location);
	const struct function *f =
		l.line_count ? profile_get_function(p, l.lines[0].function) : NULL;

	return f ? profile_text(p, f->name) : "";
}

/* Is it deeper than any path can be? */
static bool is_too_deep(const struct profile *p, uint32_t node)
{
	size_t depth = 0;

	for (; node && depth <= DEPTH_MAX; depth++)
		node = profile_get_node(p, node).parent;
	return depth > DEPTH_MAX;
}

/* Parents first; "/" is the root. */
static void put_path(const struct profile *p, uint32_t node, struct buf *text)
{
	const char *name;

	if (!node)
		return;
	put_path(p, profile_get_node(p, node).parent, text);
	name = name_of(p, node);
	if (strcmp(name, "/") != 0 && strcmp(name, "[others]") != 0)
		buf_printf(text, "/%s", name);
}

/* In the profile's order. It lists the samples of one path next to each other, so each path is
 * taken once. */
static int put_stacks(const char *path, struct buf *text, struct err *e)
{
	struct profile *p = NULL;
	int rc = load_profile(path, NULL, NULL, &p, e);
	uint32_t last = 0;

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		uint32_t node = profile_get_sample(p, i).node;
		size_t before = text->len;

		if (node == last || !node || is_too_deep(p, node))
			continue;
		last = node;
		put_path(p, node, text);
		if (text->len == before)
			buf_put_str(text, "/");
		buf_put(text, "", 1);
	}
	profile_free(p);
	return 0;
}

static int cut(struct prefetch_list *l, struct err *e)
{
	size_t count = 0;

	if (buf_error(&l->text) < 0)
		return err_nomem(e);
	for (size_t i = 0; i < l->text.len; i++)
		count += l->text.data[i] == '\0';
	l->paths = calloc(count ? count : 1, sizeof *l->paths);
	if (!l->paths)
		return err_nomem(e);
	for (size_t at = 0; at < l->text.len; at += strlen(l->text.data + at) + 1)
		l->paths[l->count++] = l->text.data + at;
	return 0;
}

int prefetch_list_read(const char *path, struct prefetch_list *ret, struct err *e)
{
	struct file_input in = { 0 };
	int rc = file_load(path, &in, e);

	if (rc < 0)
		return rc;
	if (is_gzip(&in))
		rc = put_stacks(path, &ret->text, e);
	else
		rc = put_lines(path, &in, &ret->text, e);
	file_input_fini(&in);
	if (rc == 0)
		rc = cut(ret, e);
	if (rc == 0 && !ret->count)
		rc = err_set(e, -EINVAL, "%s: names no path", path);
	return rc;
}

void prefetch_list_fini(struct prefetch_list *l)
{
	buf_fini(&l->text);
	free(l->paths);
	*l = (struct prefetch_list){ 0 };
}

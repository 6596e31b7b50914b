/* SPDX-License-Identifier: MIT */
#include "cachefs/overlay/xattr_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SLOTS 4096    /* a power of two */
#define BODY_MAX 1024 /* with SLOTS and paths of usual length: 1 MiB, in most tables far less */

struct slot {
	char *path; /* [path_len] and the body [body_len]; owned; NULL: free */
	size_t path_len, body_len;
	int64_t read_ns;
};

struct xattr_table {
	struct slot slots[SLOTS];
};

struct xattr_table *xattr_table_new(void)
{
	return calloc(1, sizeof(struct xattr_table));
}

void xattr_table_free(struct xattr_table *t)
{
	for (size_t i = 0; t && i < SLOTS; i++)
		free(t->slots[i].path);
	free(t);
}

static size_t slot_of(struct str path)
{
	return hash_bytes(path.ptr, path.len) & (SLOTS - 1);
}

void xattr_table_put(struct xattr_table *t, struct str path, struct str body, int64_t read_ns)
{
	struct slot *s = &t->slots[slot_of(path)];
	char *bytes = body.len > BODY_MAX ? NULL : malloc(path.len + body.len + 1);

	free(s->path);
	*s = (struct slot){ .path = bytes };
	if (!bytes)
		return;
	memcpy(bytes, path.ptr, path.len);
	if (body.len)
		memcpy(bytes + path.len, body.ptr, body.len);
	s->path_len = path.len;
	s->body_len = body.len;
	s->read_ns = read_ns;
}

bool xattr_table_get(const struct xattr_table *t, struct str path, struct str *ret_body,
		     int64_t *ret_read_ns)
{
	const struct slot *s = &t->slots[slot_of(path)];

	if (!s->path || s->path_len != path.len || memcmp(s->path, path.ptr, path.len) != 0)
		return false;
	*ret_body = (struct str){ s->path + s->path_len, s->body_len };
	*ret_read_ns = s->read_ns;
	return true;
}

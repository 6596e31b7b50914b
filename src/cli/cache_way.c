/* SPDX-License-Identifier: MIT */
#include "cli/cache_way.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What programs, the loader, Python and its environments look for files by. */
static const char *const variables[] = { "PATH",        "LD_LIBRARY_PATH", "PYTHONPATH",
					 "PYTHONHOME",  "PYTHONUSERBASE",  "VIRTUAL_ENV",
					 "CONDA_PREFIX" };

/* Is path, [0..len), the folder or in it? */
static bool is_in(const char *folder, const char *path, size_t len)
{
	size_t folder_len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return len > 0 && *path == '/' && len >= folder_len &&
	       strncmp(path, folder, folder_len) == 0 &&
	       (len == folder_len || path[folder_len] == '/');
}

void cache_way_map(const struct cache_way *w, const char *paths, struct buf *ret)
{
	size_t target_len = strcmp(w->target, "/") == 0 ? 0 : strlen(w->target);

	for (const char *at = paths;;) {
		size_t len = strcspn(at, ":");

		if (is_in(w->target, at, len) && !is_in(w->view, at, len)) {
			buf_put_str(ret, w->view);
			buf_put(ret, at + target_len, len - target_len);
		} else {
			buf_put(ret, at, len);
		}
		if (!at[len])
			return;
		buf_put_byte(ret, ':');
		at += len + 1;
	}
}

static int set_one(const struct cache_way *w, const char *name, struct err *e)
{
	CLEANUP(buf_fini) struct buf mapped = { 0 };
	const char *value = getenv(name);

	if (!value)
		return 0;
	cache_way_map(w, value, &mapped);
	if (buf_error(&mapped) < 0)
		return err_nomem(e);
	if (!mapped.data || strcmp(mapped.data, value) == 0)
		return 0;
	fprintf(stderr, "auger cache: %s=%s\n", name, mapped.data);
	return setenv(name, mapped.data, 1) < 0 ? err_errno(e, "%s", name) : 0;
}

int cache_way_set(const struct cache_way *w, const struct opt_list *more, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(variables) && rc == 0; i++)
		rc = set_one(w, variables[i], e);
	for (size_t i = 0; i < more->count && rc == 0; i++)
		rc = set_one(w, more->items[i], e);
	return rc;
}

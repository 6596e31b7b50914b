/* SPDX-License-Identifier: MIT */
#include "cli/cache_way.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cache_way_map(const struct cache_way *w, const char *paths, struct buf *ret)
{
	size_t target_len = strcmp(w->target, "/") == 0 ? 0 : strlen(w->target);

	for (const char *at = paths;;) {
		size_t len = strcspn(at, ":");

		if (cache_is_in(w->target, at, len) && !cache_is_in(w->view, at, len) &&
		    !cache_covers_has(&w->covers, at, len)) {
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

	for (size_t i = 0; cache_variables[i] && rc == 0; i++)
		rc = set_one(w, cache_variables[i], e);
	for (size_t i = 0; i < more->count && rc == 0; i++)
		rc = set_one(w, more->items[i], e);
	return rc;
}

/* SPDX-License-Identifier: MIT */
#include "cacherun/redirect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void redirect_map(const struct redirect *w, const char *paths, struct buf *ret)
{
	size_t target_len = strcmp(w->target, "/") == 0 ? 0 : strlen(w->target);

	for (const char *at = paths;;) {
		size_t len = strcspn(at, ":");

		if (binds_is_below(w->target, at, len) && !binds_is_below(w->view, at, len) &&
		    !binds_have(&w->binds, at, len)) {
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

static bool has_variable(const struct buf *env, const char *name)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < env->len; at += strlen(env->data + at) + 1)
		if (strncmp(env->data + at, name, len) == 0 && env->data[at + len] == '=')
			return true;
	return false;
}

static int map_one(const struct redirect *w, const char *name, struct buf *env, struct err *e)
{
	CLEANUP(buf_fini) struct buf mapped = { 0 };
	const char *value = getenv(name);

	if (!value || has_variable(env, name))
		return 0;
	redirect_map(w, value, &mapped);
	if (buf_error(&mapped) < 0)
		return err_nomem(e);
	if (!mapped.data || strcmp(mapped.data, value) == 0)
		return 0;
	buf_put_str(env, name);
	buf_put_byte(env, '=');
	buf_put(env, mapped.data, mapped.len + 1);
	return buf_error(env) < 0 ? err_nomem(e) : 0;
}

int redirect_map_variables(const struct redirect *w, const struct opt_list *more, struct buf *ret,
			   struct err *e)
{
	int rc = 0;

	for (size_t i = 0; redirect_variables[i] && rc == 0; i++)
		rc = map_one(w, redirect_variables[i], ret, e);
	for (size_t i = 0; i < more->count && rc == 0; i++)
		rc = map_one(w, more->items[i], ret, e);
	return rc;
}

int redirect_set_variables(const struct buf *env)
{
	for (size_t at = 0; at < env->len; at += strlen(env->data + at) + 1)
		if (putenv(env->data + at) != 0)
			return errno;
	return 0;
}

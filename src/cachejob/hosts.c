/* SPDX-License-Identifier: MIT */
#include "cachejob/hosts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/file.h"
#include "base/str.h"

#define HOSTS_MAX 1000000 /* beyond any machine: a wrong list ends there */

void hosts_fini(struct hosts *h)
{
	for (size_t i = 0; i < h->count; i++)
		free(h->names[i]);
	free(h->names);
	*h = (struct hosts){ 0 };
}

static bool is_name(const char *name, size_t len)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789.-_";

	if (!len || len > HOSTS_NAME_MAX || *name == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!name[i] || !strchr(good, name[i]))
			return false;
	return true;
}

static bool has(const struct hosts *h, const char *name, size_t len)
{
	/* Launchers name a host again right behind its first line, if at all. */
	for (size_t i = h->count; i > 0; i--)
		if (strlen(h->names[i - 1]) == len && memcmp(h->names[i - 1], name, len) == 0)
			return true;
	return false;
}

int hosts_add(struct hosts *h, const char *name, size_t len, struct err *e)
{
	if (!is_name(name, len))
		return err_set(e, -EINVAL, "'%.*s' is no name of a host",
			       (int)(len > 80 ? 80 : len), name);
	if (has(h, name, len))
		return 0;
	if (h->count == HOSTS_MAX)
		return err_set(e, -E2BIG, "more than %d hosts", HOSTS_MAX);
	if (h->count == h->cap) {
		size_t cap = h->cap ? 2 * h->cap : 16;
		char **names = realloc(h->names, cap * sizeof *names);

		if (!names)
			return err_nomem(e);
		h->names = names;
		h->cap = cap;
	}
	h->names[h->count] = strndup(name, len);
	if (!h->names[h->count])
		return err_nomem(e);
	h->count++;
	return 0;
}

int hosts_parse(struct hosts *h, const char *text, struct err *e)
{
	int rc = 0;

	while (rc == 0 && *text) {
		size_t len = strcspn(text, ",");

		rc = hosts_add(h, text, len, e);
		text += len + (text[len] == ',');
	}
	return rc;
}

int hosts_read(struct hosts *h, const char *path, struct err *e)
{
	struct file_input in = { 0 };
	struct cursor c;
	const char *text;
	size_t len;
	int rc = file_load(path, &in, e);

	if (rc < 0)
		return rc;
	c = cursor_make(in.data, in.len);
	while (rc == 0 && cursor_line(&c, &text, &len)) {
		struct str rest = { text, len };
		struct str name = str_take_word(&rest);

		if (name.len && *name.ptr != '#')
			rc = hosts_add(h, name.ptr, name.len, e);
	}
	if (rc == 0)
		rc = file_input_check(&in, path, e);
	file_input_fini(&in);
	return rc;
}

int hosts_find_self(const char *path, uint64_t *ret_rank, uint64_t *ret_count, struct err *e)
{
	CLEANUP(hosts_fini) struct hosts h = { 0 };
	char self[HOSTS_NAME_MAX + 1] = "";
	size_t len;
	int rc = hosts_read(&h, path, e);

	if (rc < 0)
		return rc;
	if (gethostname(self, sizeof self - 1) < 0)
		return err_errno(e, "the name of this host");
	len = strcspn(self, ".");
	for (size_t i = 0; i < h.count; i++) {
		if (strcspn(h.names[i], ".") != len || strncmp(h.names[i], self, len) != 0)
			continue;
		*ret_rank = i;
		*ret_count = h.count;
		return 0;
	}
	return err_set(e, -ENOENT, "%s: this host, %s, is not in it", path, self);
}

/* SPDX-License-Identifier: MIT */
#include "cachejob/settings.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"
#include "view/markdown.h"

#define MAX_LINES 64 /* different ones */
#define MAX_VALUE_BYTES 120

static const char *const keys[] = { "Profiling mode", "Kernel caching", "Metadata ENOENT TTL (ms)",
				    "Top-path limit" };

int settings_init(struct settings *s)
{
	*s = (struct settings){ .lines = strtab_new() };
	return s->lines ? 0 : -ENOMEM;
}

void settings_fini(struct settings *s)
{
	strtab_free(s->lines);
	rows_fini(&s->ranks);
	*s = (struct settings){ 0 };
}

static int add(struct settings *s, const char *key, const char *value, size_t len)
{
	char line[64 + MAX_VALUE_BYTES];
	size_t key_len = strlen(key) + 1;
	uint32_t id;

	memcpy(line, key, key_len);
	memcpy(line + key_len, value, len);
	id = strtab_find(s->lines, line, key_len + len);
	if (id == STRTAB_NONE && strtab_count(s->lines) == MAX_LINES)
		return 0;
	id = strtab_intern(s->lines, line, key_len + len);
	if (id == STRTAB_NONE || (id == s->ranks.count && !rows_add(&s->ranks, sizeof(size_t))))
		return -ENOMEM;
	((size_t *)s->ranks.data)[id]++;
	return 0;
}

/* "- KEY: `VALUE`" */
static int add_line(struct settings *s, const char *line, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		size_t key_len = strlen(keys[i]);

		if (len < key_len + 6 || memcmp(line, "- ", 2) != 0 ||
		    memcmp(line + 2, keys[i], key_len) != 0 ||
		    memcmp(line + 2 + key_len, ": `", 3) != 0 || line[len - 1] != '`')
			continue;
		line += key_len + 5;
		len -= key_len + 6;
		if (len <= MAX_VALUE_BYTES && !memchr(line, '\0', len))
			return add(s, keys[i], line, len);
	}
	return 0;
}

int settings_add(struct settings *s, const char *text, size_t len)
{
	struct cursor in = cursor_make(text, len);
	const char *line;
	size_t line_len;
	int rc = 0;

	while (rc == 0 && cursor_line(&in, &line, &line_len)) {
		if (line_len >= 3 && memcmp(line, "## ", 3) == 0)
			break;
		rc = add_line(s, line, line_len);
	}
	return rc;
}

size_t settings_ranks(const struct settings *s, const char *key, const char *start)
{
	size_t ranks = 0;

	for (uint32_t i = 0; i < s->ranks.count; i++) {
		const char *line = strtab_get(s->lines, i).ptr;

		if (strcmp(line, key) == 0 &&
		    strncmp(line + strlen(key) + 1, start, strlen(start)) == 0)
			ranks += ((const size_t *)s->ranks.data)[i];
	}
	return ranks;
}

static size_t lines_of(const struct settings *s, const char *key)
{
	size_t count = 0;

	for (uint32_t i = 0; i < s->ranks.count; i++)
		count += strcmp(strtab_get(s->lines, i).ptr, key) == 0;
	return count;
}

static void put_key(const struct settings *s, const char *key, struct buf *out)
{
	bool is_one = lines_of(s, key) == 1;
	size_t key_len = strlen(key) + 1;

	for (uint32_t i = 0; i < s->ranks.count; i++) {
		struct str line = strtab_get(s->lines, i);

		if (strcmp(line.ptr, key) != 0)
			continue;
		buf_printf(out, "- %s: ", key);
		markdown_put_code(out, line.ptr + key_len, line.len - key_len);
		if (!is_one)
			buf_printf(out, " (ranks: %zu)", ((const size_t *)s->ranks.data)[i]);
		buf_put_byte(out, '\n');
	}
}

void settings_put(const struct settings *s, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		put_key(s, keys[i], out);
}

/* SPDX-License-Identifier: MIT */
#include "symbol/names.h"

#include <errno.h>
#include <string.h>

#include "symbol/demangle/demangle.h"

int names_init(struct names *n)
{
	*n = (struct names){ .strings = strtab_new(), .functions = strtab_new() };
	return n->strings && n->functions ? 0 : -ENOMEM;
}

void names_fini(struct names *n)
{
	if (n->strings)
		strtab_free(n->strings);
	if (n->functions)
		strtab_free(n->functions);
	map_fini(&n->readable);
	*n = (struct names){ 0 };
}

uint32_t names_str(struct names *n, const char *text, size_t len)
{
	uint32_t id = strtab_intern(n->strings, text, len);

	if (id == STRTAB_NONE)
		n->bad = true;
	return id;
}

const char *names_text(const struct names *n, uint32_t string)
{
	return strtab_get(n->strings, string).ptr;
}

/* Once for each raw name. */
static void add_readable(struct names *n, uint32_t raw)
{
	uint32_t *slot = map_at(&n->readable, raw);
	struct buf text = { 0 };

	if (!slot) {
		n->bad = true;
		return;
	}
	if (*slot != MAP_NONE)
		return;
	*slot = raw;
	if (demangle(names_text(n, raw), &text))
		*slot = names_str(n, text.data, text.len);
	if (buf_error(&text) < 0)
		n->bad = true;
	buf_fini(&text);
}

uint32_t names_add(struct names *n, const struct names_function *f)
{
	size_t count = strtab_count(n->functions);
	uint32_t id;

	if (n->bad)
		return NAMES_NONE; /* f may have the ids of names that had no room */
	id = strtab_intern(n->functions, f, sizeof *f);
	if (id == STRTAB_NONE)
		n->bad = true;
	else if (id == count)
		add_readable(n, f->system_name);
	return n->bad ? NAMES_NONE : id;
}

struct names_function names_get(const struct names *n, uint32_t function)
{
	struct names_function f;

	memcpy(&f, strtab_get(n->functions, function).ptr, sizeof f);
	return f;
}

uint32_t names_readable(const struct names *n, uint32_t system_name)
{
	return map_get(&n->readable, system_name);
}

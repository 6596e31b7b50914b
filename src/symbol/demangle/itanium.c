/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/itanium.h"

#include <string.h>

#include "base/number.h"
#include "symbol/demangle/itanium_tree.h"
#include "symbol/demangle/limits.h"

static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || number_is_digit(c);
}

/* The length of ".cold", ".constprop.0", ".isra.0.1" at the start of text; 0: nothing such. */
static size_t clone_length(const char *text)
{
	size_t len = 0;

	if (text[0] == '.' && (is_lower_or_digit(text[1]) || text[1] == '_'))
		for (len = 2; is_lower_or_digit(text[len]) || text[len] == '_';)
			len++;
	while (text[len] == '.' && number_is_digit(text[len + 1]))
		for (len += 2; number_is_digit(text[len]);)
			len++;
	return len;
}

/* What compilers put behind the names of parts and copies of a function. */
static uint32_t clones(struct itanium *p, uint32_t id)
{
	size_t len;

	while (!p->bad && p->at < p->len && (len = clone_length(p->text + p->at))) {
		id = itanium_add(p, (struct node){ .kind = NODE_CLONE,
						   .left = id,
						   .text = p->text + p->at,
						   .len = (uint32_t)len });
		p->at += len;
	}
	return p->at == p->len ? id : itanium_fail(p);
}

/* A tree that makes sense, in p; 0: there is none. */
static uint32_t parse(struct itanium *p)
{
	struct node none = { .kind = NODE_NONE };
	uint32_t root = 0;

	p->at = 2; /* behind "_Z" */
	buf_put(&p->nodes, &none, sizeof none);
	if (buf_error(&p->nodes) == 0)
		root = clones(p, itanium_encoding(p));
	return p->bad ? 0 : root;
}

static void fini(struct itanium *p)
{
	buf_fini(&p->nodes);
	buf_fini(&p->substitutions);
	buf_fini(&p->arguments);
	buf_fini(&p->forwards);
}

bool itanium_demangle(const char *name, struct buf *out)
{
	size_t len = strlen(name);
	bool is_good = false;

	if (strncmp(name, "_Z", 2) != 0 || len >= DEMANGLE_MAX)
		return false;
	/* clang and GCC encode some names differently, which shows only later in the name: try
	 * both. */
	for (int has_levels = 0; has_levels < 2 && !is_good; has_levels++) {
		struct itanium p = { .text = name,
				     .len = len,
				     .may_take_arguments = true,
				     .has_levels = has_levels };
		size_t begin = out->len;
		uint32_t root = parse(&p);

		is_good = root && itanium_print(&p, root, out);
		if (!is_good)
			out->len = begin;
		/* Memory that was lacking is no reason to think that it makes no sense. */
		if (buf_error(&p.nodes) < 0 || buf_error(&p.substitutions) < 0 ||
		    buf_error(&p.forwards) < 0)
			out->bad = true;
		fini(&p);
	}
	return is_good;
}

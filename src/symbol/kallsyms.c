/* SPDX-License-Identifier: MIT */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/lookup/symbols.h"
#include "symbol/text.h"

/* kallsyms has no sizes; beyond this distance it is freed memory, not the same function. */
#define MAX_BYTES ((size_t)256 << 20)
#define MAX_FUNCTION (UINT64_C(1) << 20)

/* What stands behind the address. NULL: no name. */
static char *split(char *line, char *ret_type)
{
	char *tab;

	*ret_type = line[0];
	if (!line[0] || line[1] != ' ' || !line[2])
		return NULL;
	tab = strchr(line + 2, '\t');
	if (tab)
		*tab = '\0'; /* "[MODULE]" follows */
	return line + 2;
}

static bool read_line(char *line, struct symbol *ret)
{
	char type, *name;

	*ret = (struct symbol){ 0 };
	if (!text_hex(&line, &ret->start) || ret->start == 0)
		return false;
	name = split(line, &type);
	if (!name)
		return false;
	ret->end = ret->start > UINT64_MAX - MAX_FUNCTION ? UINT64_MAX : ret->start + MAX_FUNCTION;
	/* Data ends the function before it, and names no code. */
	ret->is_sized = !strchr("tTwW", type);
	ret->name = ret->is_sized ? NULL : name;
	ret->rank = type == 'T' ? SYMBOL_GLOBAL : type == 't' ? SYMBOL_LOCAL : SYMBOL_WEAK;
	return true;
}

/* "[ext4]" behind the NUL of the name, when the line had it. Ends it at the bracket. */
static const char *module_of(const struct buf *text, const char *name)
{
	size_t at = (size_t)(name - text->data) + strlen(name) + 1;
	char *module = text->data + at, *end;

	if (at >= text->len || module[0] != '[')
		return NULL;
	end = strchr(module, ']');
	if (end)
		*end = '\0';
	return module + 1;
}

/* Returns how many symbols have an address. */
static size_t read_lines(struct buf *text, struct symbols *symbols)
{
	struct symbol symbol;
	size_t at = 0, count = 0;
	char *line;

	while ((line = text_line(text, &at))) {
		if (!read_line(line, &symbol))
			continue;
		count++;
		symbols_offer(symbols, &symbol);
	}
	return count;
}

static int resolve(struct symbols *symbols, struct buf *text, struct kernel_symbol *ret,
		   struct err *e)
{
	struct symbol *found = calloc(symbols->count + 1, sizeof *found);
	int rc = found ? symbols_resolve(symbols, found) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < symbols->count; i++)
		ret[i] = (struct kernel_symbol){ .name = found[i].name };
	for (size_t i = 0; rc == 0 && i < symbols->count; i++)
		if (ret[i].name)
			ret[i].module = i && ret[i - 1].name == ret[i].name
						? ret[i - 1].module
						: module_of(text, ret[i].name);
	free(found);
	return rc < 0 ? err_nomem(e) : 0;
}

int kallsyms_find(const char *path, const uint64_t *wanted, size_t count, struct buf *text,
		  struct kernel_symbol *ret, struct err *e)
{
	const struct text_rules rules = { .limit = MAX_BYTES };
	struct symbols symbols;
	int rc = text_load(path, &rules, text, e);

	if (rc < 0)
		return rc;
	if (symbols_init(&symbols, wanted, count) < 0)
		return err_nomem(e);
	rc = 0;
	if (read_lines(text, &symbols) == 0)
		rc = err_set(e, -EACCES, "%s hides the addresses", path);
	else
		rc = resolve(&symbols, text, ret, e);
	symbols_fini(&symbols);
	return rc;
}

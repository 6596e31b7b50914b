/* SPDX-License-Identifier: MIT */
#include "symbol/dwarf/entry.h"

#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "symbol/dwarf/abbrev.h"
#include "symbol/dwarf/form.h"
#include "symbol/dwarf/lines.h"
#include "symbol/dwarf/names.h"
#include "symbol/dwarf/tree.h"

#define MAX_HOPS 16      /* from a concrete entry to its declaration are 2 or 3 */
#define MAX_ENCLOSING 64 /* entries around one */
#define MAX_NESTED 8     /* functions within functions: each is named after the one around it */

/* One entry's own attributes. */
struct entry {
	unsigned tag;
	const char *name, *linkage_name; /* NULL: not said */
	struct dwarf_value origin;       /* of what it leaves open */
	uint64_t decl_file, call_file;
	uint32_t decl_line, call_line;
	bool has_decl_file;
};

void dwarf_functions_fini(struct dwarf_functions *f)
{
	map_fini(&f->main);
	map_fini(&f->alt);
	buf_fini(&f->list);
}

static uint32_t line_number(struct dwarf_value v)
{
	return v.kind == VALUE_UINT && v.u < UINT32_MAX ? (uint32_t)v.u : 0;
}

static void keep_value(struct entry *entry, const struct dwarf_unit *u, unsigned name,
		       struct dwarf_value v)
{
	switch (name) {
	case AT_NAME:
		entry->name = value_text(u, v);
		break;
	case AT_LINKAGE_NAME:
	case AT_MIPS_LINKAGE_NAME:
		entry->linkage_name = value_text(u, v);
		break;
	case AT_ABSTRACT_ORIGIN:
	case AT_SPECIFICATION:
		entry->origin = v;
		break;
	case AT_DECL_FILE:
		entry->has_decl_file = v.kind == VALUE_UINT;
		entry->decl_file = v.u;
		break;
	case AT_DECL_LINE:
		entry->decl_line = line_number(v);
		break;
	case AT_CALL_FILE:
		entry->call_file = v.kind == VALUE_UINT ? v.u : 0;
		break;
	case AT_CALL_LINE:
		entry->call_line = line_number(v);
		break;
	default:
		break;
	}
}

static bool read_entry(struct dwarf_unit *u, uint64_t offset, struct entry *ret)
{
	const struct dwarf_abbrevs *abbrevs = dwarf_unit_abbrevs(u);
	struct cursor c = dwarf_bytes_at(u->dwarf, DWARF_INFO, offset);
	const struct abbrev_attr *attrs;
	const struct abbrev *abbrev;

	*ret = (struct entry){ 0 };
	if (!abbrevs || c.bad || offset < u->root || offset >= u->end)
		return false;
	c.end = c.at + (u->end - offset);
	abbrev = abbrev_find(abbrevs, cursor_uleb(&c));
	if (!abbrev || !dwarf_spend(u->dwarf, abbrev->attr_count))
		return false;
	ret->tag = abbrev->tag;
	attrs = abbrev_attrs(abbrevs, abbrev);
	for (uint32_t i = 0; i < abbrev->attr_count && !c.bad; i++)
		keep_value(ret, u, attrs[i].name,
			   form_read(u, &c, attrs[i].form, attrs[i].implicit));
	return true;
}

/* The unit that a reference leads into, or NULL. */
static struct dwarf_unit *follow(struct dwarf_unit *u, struct dwarf_value ref)
{
	if (ref.kind == VALUE_ALT_REF)
		return u->dwarf->alt ? dwarf_unit_at(u->dwarf->alt, ref.u) : NULL;
	if (ref.kind != VALUE_REF)
		return NULL;
	return ref.u >= u->offset && ref.u < u->end ? u : dwarf_unit_at(u->dwarf, ref.u);
}

static uint32_t intern(struct dwarf_functions *f, struct dwarf *d, const char *text)
{
	size_t len = strlen(text);
	uint32_t id;

	if (!dwarf_spend(d, len))
		return STRTAB_NONE;
	id = strtab_intern(f->strings, text, len);
	if (id == STRTAB_NONE)
		d->bad = true;
	return id;
}

/* Takes what is still open from an entry, and where to look on. */
static struct dwarf_unit *add_entry(struct dwarf_functions *f, struct dwarf_function *function,
				    const char **name, struct dwarf_unit *u,
				    const struct entry *entry)
{
	if (function->name == STRTAB_NONE && entry->linkage_name)
		function->name = intern(f, u->dwarf, entry->linkage_name);
	if (!*name)
		*name = entry->name;
	if (function->file == STRTAB_NONE && entry->has_decl_file)
		function->file = dwarf_file_path(u, entry->decl_file, f->strings);
	if (!function->line)
		function->line = entry->decl_line;
	return follow(u, entry->origin);
}

/* "{lambda at app.cpp:98}": a class without a name, by where it is declared. */
static void put_unnamed(struct dwarf_functions *f, struct buf *out, struct dwarf_unit *u,
			const struct entry *type, const char *member)
{
	bool is_lambda = strncmp(member, "operator()", 10) == 0 || strcmp(member, "_FUN") == 0;
	uint32_t file =
		type->has_decl_file ? dwarf_file_path(u, type->decl_file, f->strings) : STRTAB_NONE;

	buf_put_str(out, is_lambda ? "{lambda" : "{unnamed type");
	if (file != STRTAB_NONE && type->decl_line)
		buf_printf(out, " at %s:%u", path_base(strtab_get(f->strings, file).ptr),
			   type->decl_line);
	buf_put_str(out, "}");
}

/* What an entry that encloses a function adds to its name. */
static void put_scope(struct dwarf_functions *f, struct buf *out, struct dwarf_unit *u,
		      const struct entry *scope, const char *member)
{
	switch (scope->tag) {
	case TAG_NAMESPACE:
		buf_put_str(out, scope->name ? scope->name : "(anonymous namespace)");
		break;
	case TAG_MODULE:
		buf_put_str(out, scope->name ? scope->name : "{module}");
		break;
	case TAG_CLASS:
	case TAG_STRUCTURE:
	case TAG_UNION:
	case TAG_INTERFACE:
		if (scope->name)
			buf_put_str(out, scope->name);
		else
			put_unnamed(f, out, u, scope, member);
		break;
	default:
		return;
	}
	buf_put_str(out, "::");
}

/* Finds the declaration that an entry leads to: *u, *offset become its own. NULL: no name. */
static const char *find_declaration(struct dwarf_unit **u, uint64_t *offset)
{
	const char *name = NULL;
	struct entry entry;

	for (int hop = 0; hop < MAX_HOPS && read_entry(*u, *offset, &entry); hop++) {
		struct dwarf_unit *next = follow(*u, entry.origin);

		name = name ? name : entry.name;
		if (!next)
			break;
		*u = next;
		*offset = entry.origin.u;
	}
	return name;
}

/* The name of the function at offset, behind the scopes that it is declared in. */
static void put_scoped(struct dwarf_functions *f, struct buf *out, struct dwarf_unit *u,
		       uint64_t offset, int depth)
{
	const char *name = find_declaration(&u, &offset);
	uint64_t around[MAX_ENCLOSING];
	struct entry scopes[MAX_ENCLOSING];
	size_t count = dwarf_enclosing(u, offset, around, MAX_ENCLOSING), first = 0;

	for (size_t i = 0; i < count; i++) {
		if (!read_entry(u, around[i], &scopes[i]))
			count = i;
		else if (scopes[i].tag == TAG_SUBPROGRAM)
			first = i;
	}
	/* A function within a function: the outer one may be declared elsewhere. */
	if (count && scopes[first].tag == TAG_SUBPROGRAM && depth < MAX_NESTED) {
		put_scoped(f, out, u, around[first], depth + 1);
		buf_put_str(out, "::");
	}
	for (size_t i = first; i < count; i++)
		put_scope(f, out, u, &scopes[i], i + 1 == count && name ? name : "");
	buf_put_str(out, name ? name : "{unnamed}");
}

static uint32_t scoped_name(struct dwarf_functions *f, struct dwarf_unit *u, uint64_t offset)
{
	struct buf text = { 0 };
	uint32_t id = STRTAB_NONE;

	put_scoped(f, &text, u, offset, 0);
	buf_put_byte(&text, 0);
	if (buf_error(&text) < 0)
		u->dwarf->bad = true;
	else
		id = intern(f, u->dwarf, text.data);
	buf_fini(&text);
	return id;
}

/* What the entry at offset and those it comes from say. */
static struct dwarf_function read_function(struct dwarf_functions *f, struct dwarf_unit *u,
					   uint64_t offset, struct entry entry)
{
	struct dwarf_function function = { .name = STRTAB_NONE, .file = STRTAB_NONE };
	struct dwarf_unit *at = u;
	const char *name = NULL;

	for (int hop = 0; hop < MAX_HOPS; hop++) {
		struct dwarf_value origin = entry.origin;
		struct dwarf_unit *next = add_entry(f, &function, &name, at, &entry);

		if (!next || !read_entry(next, origin.u, &entry))
			break;
		at = next;
	}
	if (function.name == STRTAB_NONE && name)
		function.name = scoped_name(f, u, offset);
	return function;
}

/* The function that an entry comes from, read once. */
static struct dwarf_function origin_function(struct dwarf_functions *f, struct dwarf_unit *u,
					     struct dwarf_value origin)
{
	struct dwarf_function unknown = { .name = STRTAB_NONE, .file = STRTAB_NONE };
	struct dwarf_unit *target = follow(u, origin);
	struct dwarf_function *list;
	struct entry entry;
	uint32_t *slot, index;

	if (!target)
		return unknown;
	slot = map_at(origin.kind == VALUE_ALT_REF ? &f->alt : &f->main, origin.u);
	if (!slot) {
		u->dwarf->bad = true;
		return unknown;
	}
	list = (void *)f->list.data;
	if (*slot != MAP_NONE)
		return list[*slot];
	index = (uint32_t)(f->list.len / sizeof *list);
	*slot = index;
	if (read_entry(target, origin.u, &entry))
		unknown = read_function(f, target, origin.u, entry);
	buf_put(&f->list, &unknown, sizeof unknown);
	if (buf_error(&f->list) < 0)
		u->dwarf->bad = true;
	return unknown;
}

struct dwarf_call dwarf_read_call(struct dwarf_functions *f, struct dwarf_unit *u, uint64_t offset)
{
	struct dwarf_call call = { .function = { .name = STRTAB_NONE, .file = STRTAB_NONE } };
	struct entry entry;

	if (!read_entry(u, offset, &entry))
		return call;
	call.file = entry.call_file;
	call.line = entry.call_line;
	/* Most entries only refer to one that many others refer to as well. */
	if (entry.origin.kind != VALUE_NONE && !entry.name && !entry.linkage_name &&
	    !entry.has_decl_file && !entry.decl_line)
		call.function = origin_function(f, u, entry.origin);
	else
		call.function = read_function(f, u, offset, entry);
	return call;
}

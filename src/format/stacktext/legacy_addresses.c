/* SPDX-License-Identifier: MIT */
#include "format/stacktext/legacy_addresses.h"

#include <string.h>

#include "base/number.h"
#include "format/java_locations.h"

void legacy_addresses_fini(struct legacy_addresses *a)
{
	legacy_maps_fini(&a->maps);
	map_fini(&a->names);
	map_fini(&a->locations);
}

bool legacy_addresses_is_maps(struct str line)
{
	return str_find(line, "MAPPED_LIBRARIES:") < line.len ||
	       str_find(line, "--- Memory map: ---") < line.len;
}

/* "0x4b42ec", which s moves behind. */
static bool take_address(struct str *s, uint64_t *ret)
{
	size_t digits;

	if (!str_starts_with(*s, "0x"))
		return false;
	digits = number_parse_hex(s->ptr + 2, s->len - 2, ret);
	*s = str_part(*s, 2 + digits, s->len);
	return digits > 0;
}

/* "0x0000000000401234 outer--inner": a line of the symbol section; the last name is that of the
 * function that has the code. */
static void read_symbol(struct legacy_addresses *a, struct stacktext *t, struct str line)
{
	uint64_t address;
	const char *mark;

	if (!take_address(&line, &address))
		return;
	line = str_trim(line);
	mark = memmem(line.ptr, line.len, "--", 2);
	if (mark)
		line.len = (size_t)(mark - line.ptr);
	if (line.len && map_put(&a->names, address, profile_str_n(t->p, line.ptr, line.len)) < 0)
		stacktext_fail(t);
}

static void read_symbols(struct legacy_addresses *a, struct stacktext *t, struct cursor *text)
{
	struct str line;

	while (cursor_line(text, &line.ptr, &line.len) && !str_starts_with(line, "---"))
		read_symbol(a, t, line);
}

void legacy_addresses_read(struct legacy_addresses *a, struct stacktext *t, struct cursor text)
{
	struct err e = { 0 };
	struct str line;

	if (a->is_java && java_locations_read(&a->locations, t->p, text) < 0)
		stacktext_fail(t);
	while (cursor_line(&text, &line.ptr, &line.len)) {
		if (str_starts_with(line, "--- symbol"))
			read_symbols(a, t, &text);
		else if (legacy_addresses_is_maps(line))
			break;
	}
	if (legacy_maps_read(&a->maps, t->p, text, &e) < 0)
		stacktext_fail(t);
}

static uint32_t add_location(struct legacy_addresses *a, struct stacktext *t, uint64_t address,
			     uint64_t call, struct str name)
{
	struct location l = { .mapping = legacy_maps_find(&a->maps, call), .address = call };
	uint32_t string = map_get(&a->names, call);
	struct line line = { 0 };
	struct function f = { 0 };

	if (string == MAP_NONE)
		string = map_get(&a->names, address);
	if (string == MAP_NONE && name.len)
		string = profile_str_n(t->p, name.ptr, name.len);
	if (!call)
		return profile_name_location(t->p, "0x0", strlen("0x0"));
	if (string != MAP_NONE) {
		f.name = f.system_name = string;
		line.function = profile_add_function(t->p, &f);
		l.lines = &line;
		l.line_count = 1;
	}
	return profile_add_location(t->p, &l);
}

static void push(struct legacy_addresses *a, struct stacktext *t, uint64_t address, bool is_leaf,
		 struct str name)
{
	uint64_t call = address && !is_leaf && !a->is_java ? address - 1 : address;
	uint32_t *location = map_at(&a->locations, call);

	if (!location) {
		stacktext_fail(t);
		return;
	}
	if (*location == MAP_NONE)
		*location = add_location(a, t, address, call, name);
	stacktext_push_location(t, *location);
}

/* What stands behind the one address of a line, ": name". */
static struct str trim_name(struct str rest)
{
	rest = str_trim(rest);
	if (str_starts_with(rest, ":"))
		rest = str_trim(str_part(rest, 1, rest.len));
	return rest;
}

void legacy_addresses_push(struct legacy_addresses *a, struct stacktext *t, struct str line,
			   bool is_leaf)
{
	size_t at = str_find(line, "0x");

	while (at < line.len) {
		uint64_t address;
		struct str name;
		size_t next;

		line = str_part(line, at, line.len);
		if (!take_address(&line, &address))
			break;
		next = str_find(line, "0x");
		name = trim_name(str_part(line, 0, next));
		if (is_leaf)
			a->leaf = address;
		if (is_leaf || !address || address != a->leaf || stacktext_depth(t) != 1)
			push(a, t, address, is_leaf, name);
		is_leaf = false;
		at = next;
	}
}

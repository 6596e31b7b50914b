/* SPDX-License-Identifier: MIT */
#include "format/java_locations.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "base/str.h"

/* "name (place)": the place is cut off, without its parentheses. Empty: there is none. */
static struct str take_place(struct str *text)
{
	const char *open = NULL;
	struct str place;

	if (str_ends_with(*text, ")"))
		open = memrchr(text->ptr, '(', text->len);
	if (!open || open == text->ptr || !str_is_blank(open[-1]))
		return (struct str){ "", 0 };
	place = str_part(*text, (size_t)(open - text->ptr) + 1, text->len - 1);
	*text = str_trim(str_part(*text, 0, (size_t)(open - text->ptr)));
	return place;
}

/* "Main.java:17" is a file and a line; of the path of a library only the name counts. */
static int64_t take_line(struct str *place)
{
	const char *colon = place->len ? memrchr(place->ptr, ':', place->len) : NULL;
	const char *slash;
	uint64_t line;
	size_t at, digits;

	if (colon) {
		at = (size_t)(colon - place->ptr);
		digits = place->len - at - 1;
		if (digits && number_parse(colon + 1, digits, &line) == digits &&
		    line <= INT32_MAX) {
			place->len = at;
			return (int64_t)line;
		}
		if (str_equals(str_part(*place, at, place->len), ":-1")) {
			place->len = at;
			return 0;
		}
	}
	slash = place->len ? memrchr(place->ptr, '/', place->len) : NULL;
	if (slash)
		*place = str_part(*place, (size_t)(slash - place->ptr) + 1, place->len);
	return 0;
}

static uint32_t add_location(struct profile *p, struct str text)
{
	struct str place = take_place(&text);
	struct line line = { .line = take_line(&place) };
	struct function f = { 0 };

	if (str_find(text, "generated stub/JIT") < text.len)
		text = (struct str){ "STUB", strlen("STUB") };
	f.name = f.system_name = profile_str_n(p, text.ptr, text.len);
	f.file = place.len ? profile_str_n(p, place.ptr, place.len) : 0;
	line.function = profile_add_function(p, &f);
	return profile_add_location(p, &(struct location){ .lines = &line, .line_count = 1 });
}

int java_locations_read(struct map *locations, struct profile *p, struct cursor text)
{
	struct str line;

	while (cursor_line(&text, &line.ptr, &line.len)) {
		struct str name = str_trim(line), digits = str_take_word(&name);
		uint64_t address;

		name = str_trim(name);
		if (!str_starts_with(digits, "0x") || digits.len < 3 || !name.len ||
		    number_parse_hex(digits.ptr + 2, digits.len - 2, &address) != digits.len - 2)
			continue;
		if (map_put(locations, address, add_location(p, name)) < 0)
			return -ENOMEM;
	}
	return profile_error(p);
}

/* SPDX-License-Identifier: MIT */
#include "format/legacy_maps.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/number.h"
#include "base/str.h"
#include "base/strtab.h"

/* An address range of a mapped file. */
struct range {
	uint64_t start, limit; /* [start..limit) */
	uint32_t mapping;      /* id in the profile */
};

void legacy_maps_fini(struct legacy_maps *maps)
{
	rows_fini(&maps->ranges);
}

/* Hexadecimal digits, perhaps behind "0x"; s moves behind them. */
static bool take_hex(struct str *s, uint64_t *ret)
{
	size_t digits;

	if (str_starts_with(*s, "0x"))
		*s = str_part(*s, 2, s->len);
	digits = number_parse_hex(s->ptr, s->len, ret);
	*s = str_part(*s, digits, s->len);
	return digits > 0;
}

/* "/bin/x (@ff00) abc123": the offset and the build id are cut off. */
static void take_offset(struct profile *p, struct str *path, struct mapping *ret)
{
	size_t at = str_find(*path, " (@");
	struct str rest, build_id;

	if (at == path->len)
		return;
	rest = str_part(*path, at + 3, path->len);
	path->len = at;
	if (!take_hex(&rest, &ret->offset) || !str_starts_with(rest, ")"))
		return;
	rest = str_part(rest, 1, rest.len);
	build_id = str_take_word(&rest);
	ret->build_id = build_id.len ? profile_str_n(p, build_id.ptr, build_id.len) : 0;
}

/* "400000-401000 r-xp 00001000 08:01 1234 /bin/x" or "0x400000-0x401000: /bin/x (@1000)". */
static bool parse_range(struct profile *p, struct str rest, struct mapping *ret,
			struct str *ret_path)
{
	struct str field = str_take_word(&rest);

	if (!take_hex(&field, &ret->start) || !str_starts_with(field, "-"))
		return false;
	field = str_part(field, 1, field.len);
	if (!take_hex(&field, &ret->limit) || ret->limit <= ret->start)
		return false;
	*ret_path = str_trim(rest);
	if (field.len || str_starts_with(*ret_path, "/") || !ret_path->len) {
		take_offset(p, ret_path, ret);
		return !field.len || *field.ptr == ':';
	}
	field = str_take_word(&rest);
	if (field.len < 3 || field.ptr[2] != 'x')
		return false;
	field = str_take_word(&rest);
	if (!number_parse_hex(field.ptr, field.len, &ret->offset))
		return false;
	str_take_word(&rest);       /* device */
	str_take_word(&rest);       /* inode */
	*ret_path = str_trim(rest); /* it may have blanks */
	return true;
}

/* A path in which "$build" stands for what a line "build=" said before. */
static void put_path(struct buf *out, struct str path, struct str build)
{
	static const char name[] = "$build";
	size_t name_len = sizeof name - 1;

	while (path.len) {
		const char *found = memmem(path.ptr, path.len, name, name_len);
		size_t before = found ? (size_t)(found - path.ptr) : path.len;

		buf_put(out, path.ptr, before);
		if (!found)
			return;
		buf_put(out, build.ptr, build.len);
		path.ptr += before + name_len;
		path.len -= before + name_len;
	}
}

static int add_range(struct legacy_maps *maps, struct profile *p, struct mapping *m,
		     struct str path, struct str build)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct range *range = rows_add(&maps->ranges, sizeof *range);
	struct str name;

	put_path(&text, path, build);
	if (!range || buf_error(&text) < 0)
		return -ENOMEM;
	name = str_trim((struct str){ text.data, text.len ? strlen(text.data) : 0 });
	m->path = profile_str_n(p, name.len ? name.ptr : "", name.len);
	*range = (struct range){ m->start, m->limit, profile_add_mapping(p, m) };
	return profile_error(p);
}

static int compare_ranges(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

int legacy_maps_read(struct legacy_maps *maps, struct profile *p, struct cursor text, struct err *e)
{
	static const char build_mark[] = "build=";
	struct str build = { "", 0 };
	const char *line;
	size_t len;

	while (cursor_line(&text, &line, &len)) {
		struct mapping m = { 0 };
		struct str path;

		if (len >= sizeof build_mark - 1 &&
		    memcmp(line, build_mark, sizeof build_mark - 1) == 0)
			build = (struct str){ line + sizeof build_mark - 1,
					      len - (sizeof build_mark - 1) };
		else if (parse_range(p, (struct str){ line, len }, &m, &path) &&
			 add_range(maps, p, &m, path, build) < 0)
			return err_nomem(e);
	}
	if (maps->ranges.count)
		qsort(maps->ranges.data, maps->ranges.count, sizeof(struct range), compare_ranges);
	return 0;
}

/* In the last range that begins at or before the address, if it reaches it. */
uint32_t legacy_maps_find(const struct legacy_maps *maps, uint64_t address)
{
	const struct range *ranges = maps->ranges.data;
	size_t low = 0, high = maps->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < ranges[low - 1].limit ? ranges[low - 1].mapping : 0;
}

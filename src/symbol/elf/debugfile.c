/* SPDX-License-Identifier: MIT */
#include "symbol/elf/debugfile.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/log.h"
#include "base/path.h"
#include "symbol/elf/opener.h"

/* What a candidate must match. */
struct wish {
	char build_id[ELF_BUILD_ID_HEX]; /* "": none */
	bool has_crc;
	uint32_t crc; /* of the whole file */
};

static bool has_section(const struct elf_image *image, const char *name)
{
	struct elf_section s;

	return elf_find_section(image, name, &s) && s.type != SHT_NOBITS;
}

/* A link may lead back to the stripped binary itself. */
static bool holds_debug_data(const struct elf_image *image)
{
	return has_section(image, ".debug_info") || has_section(image, ".zdebug_info") ||
	       has_section(image, ".symtab");
}

static bool matches(const struct elf_image *image, const struct wish *wish)
{
	char id[ELF_BUILD_ID_HEX];
	const unsigned char *bytes;

	if (!holds_debug_data(image))
		return false;
	if (wish->build_id[0] && elf_build_id(image, id))
		return strcmp(id, wish->build_id) == 0;
	if (!wish->has_crc)
		return false;
	bytes = elf_bytes(image, 0, image->len);
	return bytes && crc32_z(crc32_z(0, NULL, 0), bytes, image->len) == wish->crc;
}

/* Opens the path in b, or asks a server for the build id in b, when that is what is wished for;
 * else empties b. */
static bool try_open(struct buf *b, enum opener_kind kind, const struct wish *wish,
		     struct elf_image *ret)
{
	struct err e = { 0 };
	bool found = false;

	if (buf_error(b) < 0) {
		log_msg(LOG_WARN, "symbol", "out of memory: a debug file is not looked for");
	} else if (opener_open_image(b->data, kind, ret, &e) == 0) {
		found = matches(ret, wish);
		log_msg(LOG_DEBUG, "symbol", "debug file %s: %s", b->data,
			found ? "taken" : "of another binary");
		if (!found)
			elf_image_close(ret);
	} else {
		log_msg(LOG_DEBUG, "symbol", "debug file %s", e.msg);
	}
	if (!found)
		buf_clear(b);
	return found;
}

static bool try_path(struct buf *b, const struct wish *wish, struct elf_image *ret)
{
	return try_open(b, OPENER_ELF, wish, ret);
}

/* What it sends has no path: b is empty. */
static bool try_server(struct buf *b, const struct wish *wish, struct elf_image *ret)
{
	bool found;

	if (!wish->build_id[0])
		return false;
	buf_put_str(b, wish->build_id);
	found = try_open(b, OPENER_BUILD_ID, wish, ret);
	buf_clear(b);
	return found;
}

static bool try_build_id(const struct debug_search *s, const struct wish *wish,
			 struct elf_image *ret, struct buf *b)
{
	const char *id = wish->build_id;
	const char *roots[] = { s->root, "" };
	bool found = false;

	for (size_t i = s->root[0] ? 0 : 1; strlen(id) > 2 && !found && i < ARRAY_LEN(roots); i++) {
		buf_printf(b, "%s%s/.build-id/%.2s/%s.debug", roots[i], s->debug_dir, id, id + 2);
		found = try_path(b, wish, ret);
	}
	return found;
}

/* Begins a path in the folder of the binary: "/proc/12/root/usr/bin/". */
static void put_folder(struct buf *b, const struct debug_search *s, const char *path)
{
	buf_put_str(b, s->root);
	buf_put(b, path, path_folder_len(path));
}

static bool try_link(const char *link, const struct debug_search *s, const struct wish *wish,
		     struct elf_image *ret, struct buf *b)
{
	bool found;

	put_folder(b, s, s->path);
	buf_put_str(b, link);
	found = try_path(b, wish, ret);
	if (!found) {
		put_folder(b, s, s->path);
		buf_printf(b, ".debug/%s", link);
		found = try_path(b, wish, ret);
	}
	if (!found && s->path[0] == '/') {
		buf_printf(b, "%s%s", s->root, s->debug_dir);
		buf_put(b, s->path, path_folder_len(s->path));
		buf_put_str(b, link);
		found = try_path(b, wish, ret);
	}
	return found;
}

static struct cursor section_cursor(const struct elf_image *image, const char *name)
{
	struct elf_section s;
	const unsigned char *data = NULL;

	if (elf_find_section(image, name, &s))
		data = elf_section_bytes(image, &s);
	return cursor_make(data, data ? s.size : 0);
}

/* The name in .gnu_debuglink, then padding to 4 bytes, then the CRC. */
static const char *read_link(const struct elf_image *binary, uint32_t *ret_crc)
{
	struct cursor c = section_cursor(binary, ".gnu_debuglink");
	size_t len = 0;
	const char *name = cursor_cstr(&c, &len);

	cursor_skip(&c, (size_t) - (len + 1) & 3);
	*ret_crc = cursor_u32(&c);
	return c.bad || !len || strchr(name, '/') ? NULL : name;
}

bool debugfile_open(const struct elf_image *binary, const struct debug_search *s,
		    struct elf_image *ret, struct buf *ret_path)
{
	struct wish wish = { 0 };
	const char *link;

	if (elf_build_id(binary, wish.build_id) && try_build_id(s, &wish, ret, ret_path))
		return true;
	link = read_link(binary, &wish.crc);
	wish.has_crc = link != NULL;
	return (link && try_link(link, s, &wish, ret, ret_path)) ||
	       try_server(ret_path, &wish, ret);
}

bool debugfile_open_id(const char *build_id, const struct debug_search *s, struct elf_image *ret,
		       struct buf *ret_path)
{
	struct wish wish = { 0 };

	snprintf(wish.build_id, sizeof wish.build_id, "%s", build_id);
	return strspn(build_id, "0123456789abcdef") == strlen(build_id) &&
	       (try_build_id(s, &wish, ret, ret_path) || try_server(ret_path, &wish, ret));
}

bool debugfile_open_alt(const struct elf_image *debug, const char *path,
			const struct debug_search *s, struct elf_image *ret)
{
	struct cursor c = section_cursor(debug, ".gnu_debugaltlink");
	struct wish wish = { 0 };
	struct buf b = { 0 };
	size_t len = 0;
	const char *name = cursor_cstr(&c, &len);
	bool found;

	/* What follows the name is the build id, of at most its own maximum. */
	for (size_t i = 0; cursor_left(&c) && i < ELF_BUILD_ID_MAX; i++)
		snprintf(wish.build_id + 2 * i, 3, "%02x", cursor_u8(&c));
	if (!name || !len || !wish.build_id[0])
		return false;
	if (name[0] == '/')
		buf_put_str(&b, s->root);
	else
		buf_put(&b, path, path_folder_len(path));
	buf_put_str(&b, name);
	/* A file from a server has no folder that a relative name begins in. */
	found = ((path[0] || name[0] == '/') && try_path(&b, &wish, ret));
	if (!found)
		buf_clear(&b);
	found = found || try_build_id(s, &wish, ret, &b) || try_server(&b, &wish, ret);
	buf_fini(&b);
	return found;
}

/* SPDX-License-Identifier: MIT */
#include "symbol/name_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

#define FUNCTION_MIN 4 /* bytes of a function: three empty texts and a line */

enum {
	HAS_LINES = 1,
	HAS_INLINES = 2,
	IS_CUT = 4,
};

static void put_text(struct buf *out, const char *text)
{
	buf_put(out, text, strlen(text) + 1);
}

/* NULL is another value than "". */
static void put_optional(struct buf *out, const char *text)
{
	buf_put_byte(out, text != NULL);
	put_text(out, text ? text : "");
}

static const char *take_text(struct cursor *c)
{
	size_t len;
	const char *text = cursor_cstr(c, &len);

	return text ? text : "";
}

static const char *take_optional(struct cursor *c)
{
	bool is_there = cursor_u8(c);
	const char *text = take_text(c);

	return is_there ? text : NULL;
}

static uint32_t take_number(struct cursor *c)
{
	uint64_t value = cursor_varint(c);

	c->bad |= value > UINT32_MAX;
	return (uint32_t)value;
}

void name_request_write(const struct name_request *r, struct buf *out)
{
	buf_put_byte(out, (unsigned char)r->kind);
	buf_put_byte(out, r->file.no_dwarf);
	put_optional(out, r->file.path);
	put_optional(out, r->file.name);
	put_optional(out, r->file.build_id);
	put_optional(out, r->file.debug_dir);
	buf_put_u64(out, r->count);
	for (size_t i = 0; i < r->count; i++) {
		buf_put_u64(out, r->addresses[i].offset);
		buf_put_u64(out, r->addresses[i].vaddr);
	}
}

int name_request_read(const void *bytes, size_t len, struct name_request *ret,
		      struct name_address **ret_addresses)
{
	struct cursor c = cursor_make(bytes, len);
	struct name_request r = { .kind = cursor_u8(&c) };
	struct name_address *addresses;

	r.file.no_dwarf = cursor_u8(&c);
	r.file.path = take_optional(&c);
	r.file.name = take_optional(&c);
	r.file.build_id = take_optional(&c);
	r.file.debug_dir = take_optional(&c);
	r.count = cursor_u64(&c);
	if (c.bad || r.kind >= NAME_KINDS || r.count != cursor_left(&c) / sizeof *addresses)
		return -EINVAL;
	addresses = calloc(r.count + 1, sizeof *addresses);
	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0; i < r.count; i++) {
		addresses[i].offset = cursor_u64(&c);
		addresses[i].vaddr = cursor_u64(&c);
	}
	r.addresses = addresses;
	*ret = r;
	*ret_addresses = addresses;
	return 0;
}

void name_answer_write(const struct name_answer *a, size_t count, struct buf *out)
{
	uint32_t flags = (a->has_lines ? HAS_LINES : 0) | (a->has_inlines ? HAS_INLINES : 0) |
			 (a->is_cut ? IS_CUT : 0);

	buf_put_varint(out, (uint64_t)-a->code);
	put_text(out, a->reason ? a->reason : "");
	if (a->code < 0)
		return;
	buf_put_varint(out, flags);
	buf_put_varint(out, a->function_count);
	for (uint32_t i = 0; i < a->function_count; i++) {
		put_text(out, a->functions[i].name);
		put_text(out, a->functions[i].system_name);
		put_text(out, a->functions[i].file);
		buf_put_varint(out, a->functions[i].start_line);
	}
	buf_put_varint(out, a->first[count]);
	for (size_t i = 0; i < count; i++) {
		buf_put_varint(out, a->first[i + 1] - a->first[i]);
		for (uint32_t at = a->first[i]; at < a->first[i + 1]; at++) {
			buf_put_varint(out, a->frames[at].function);
			buf_put_varint(out, a->frames[at].line);
		}
	}
}

static int read_functions(struct cursor *c, struct name_answer *a)
{
	a->function_count = take_number(c);
	if (c->bad || a->function_count > cursor_left(c) / FUNCTION_MIN)
		return -EINVAL;
	a->functions = calloc((size_t)a->function_count + 1, sizeof *a->functions);
	if (!a->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->function_count; i++) {
		a->functions[i].name = take_text(c);
		a->functions[i].system_name = take_text(c);
		a->functions[i].file = take_text(c);
		a->functions[i].start_line = take_number(c);
	}
	return 0;
}

/* The frames of one address; total: of all addresses. */
static bool read_frames(struct cursor *c, struct name_answer *a, uint32_t total, size_t address)
{
	uint32_t at = a->first[address], count = take_number(c);

	if (count > total - at)
		return false;
	for (uint32_t end = at + count; at < end; at++) {
		a->frames[at].function = take_number(c);
		a->frames[at].line = take_number(c);
		if (a->frames[at].function >= a->function_count)
			return false;
	}
	a->first[address + 1] = at;
	return !c->bad;
}

static int read_all_frames(struct cursor *c, struct name_answer *a, size_t count)
{
	uint32_t total = take_number(c);

	if (c->bad || total > cursor_left(c) / 2 || count > cursor_left(c))
		return -EINVAL;
	a->frames = calloc((size_t)total + 1, sizeof *a->frames);
	a->first = calloc(count + 1, sizeof *a->first);
	if (!a->frames || !a->first)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!read_frames(c, a, total, i))
			return -EINVAL;
	return a->first[count] == total && !cursor_left(c) ? 0 : -EINVAL;
}

int name_answer_read(const void *bytes, size_t len, size_t count, struct name_answer *ret)
{
	struct cursor c = cursor_make(bytes, len);
	uint32_t code = take_number(&c), flags;
	struct name_answer a = { .reason = take_text(&c) };
	int rc;

	if (c.bad || code > 4095) /* what the kernel has for errnos */
		return -EINVAL;
	a.code = -(int)code;
	flags = code ? 0 : take_number(&c);
	a.has_lines = flags & HAS_LINES;
	a.has_inlines = flags & HAS_INLINES;
	a.is_cut = flags & IS_CUT;
	rc = code ? 0 : read_functions(&c, &a);
	if (rc == 0 && !code)
		rc = read_all_frames(&c, &a, count);
	if (rc < 0)
		name_answer_fini(&a);
	else
		*ret = a;
	return rc;
}

void name_answer_fini(struct name_answer *a)
{
	free(a->functions);
	free(a->frames);
	free(a->first);
	*a = (struct name_answer){ 0 };
}

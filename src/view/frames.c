/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"
#include "view/tree.h"

#define UNKNOWN "[unknown]"

static bool is_library(const char *name)
{
	const char *so = strstr(name, ".so");

	return strcmp(name, "[vdso]") == 0 || (so && (so[3] == '\0' || so[3] == '.'));
}

static bool is_jit(const char *path)
{
	return path_is_perf_map(path) || path_is_jitdump(path);
}

static enum frame_kind kind_of(const char *path)
{
	if (!*path)
		return FRAME_NAME;
	if (is_jit(path) || text_starts_with(path, "[anon") || text_starts_with(path, "//anon") ||
	    text_starts_with(path, "[heap]") || text_starts_with(path, "[stack]"))
		return FRAME_JIT;
	if (is_library(path_base(path)))
		return FRAME_LIBRARY;
	return *path == '[' && !text_starts_with(path, "[vsyscall]") ? FRAME_KERNEL : FRAME_PROGRAM;
}

static const char *module_of(const char *path)
{
	return is_jit(path) ? "[jit]" : path_base(path);
}

static uint32_t intern_text(struct frames *f, const char *text, size_t len, bool *bad)
{
	uint32_t id = strtab_intern(f->strings, text, len);

	*bad |= id == STRTAB_NONE;
	return id == STRTAB_NONE ? 0 : id;
}

/* Takes "_[k]" off the end of a folded frame's name: its length without it. */
static size_t take_annotation(const char *name, size_t len, struct frame *frame)
{
	if (frame->kind != FRAME_NAME || frame->module || len < 5 || name[len - 4] != '_' ||
	    name[len - 3] != '[' || name[len - 1] != ']')
		return len;
	switch (name[len - 2]) {
	case 'k':
		frame->kind = FRAME_KERNEL;
		return len - 4;
	case 'j':
		frame->kind = FRAME_JIT;
		return len - 4;
	case 'i':
		frame->is_inlined = true;
		return len - 4;
	default:
		return len;
	}
}

/* "[libc.so.6 <7f12>]", "[unknown <7f12>]" */
static void put_address(const char *module, uint64_t address, struct buf *out)
{
	size_t len = strlen(module);

	if (len > 1 && *module == '[' && module[len - 1] == ']') {
		module++;
		len -= 2;
	}
	buf_put_byte(out, '[');
	if (len)
		buf_put(out, module, len);
	else
		buf_put_str(out, "unknown");
	buf_printf(out, " <%" PRIx64 ">]", address);
}

/* The name to show, by enum frame_by. */
static void put_name(const struct frames *f, const struct location *l, const struct frame *frame,
		     struct buf *out)
{
	struct str function = strtab_get(f->strings, frame->function);

	if (f->by == FRAME_BY_NAME_OR_ADDRESS && l->address && str_equals(function, UNKNOWN)) {
		put_address(frames_text(f, frame->module), l->address, out);
		return;
	}
	buf_put(out, function.ptr, function.len);
	if (f->by == FRAME_BY_LINE && frame->line)
		buf_printf(out, " %s:%" PRId64, path_base(frames_text(f, frame->file)),
			   frame->line);
	if (f->by == FRAME_BY_ADDRESS && l->address)
		buf_printf(out, " 0x%" PRIx64, l->address);
}

/* The key of a frame, with string ids of one struct frames. */
struct frame_key {
	uint32_t name, module, kind, is_inlined, file;
};

static struct frame_key key_of(const struct frames *f, const struct frame *frame)
{
	return (struct frame_key){ frame->name, frame->module, frame->kind, frame->is_inlined,
				   f->by == FRAME_BY_LINE ? frame->file : 0 };
}

static uint32_t add_frame(struct frames *f, const struct frame *frame)
{
	struct frame_key key = key_of(f, frame);
	uint32_t id = strtab_intern(f->keys, &key, sizeof key);

	if (id == STRTAB_NONE || id < f->count)
		return id;
	if (f->count == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 64;
		struct frame *list = reallocarray(f->list, cap, sizeof *list);

		if (!list)
			return STRTAB_NONE;
		f->list = list;
		f->cap = cap;
	}
	f->list[f->count++] = *frame;
	return id;
}

/* The frame of line i of a location; of the location itself when it has no lines. */
static uint32_t frame_of(struct frames *f, const struct location *l, uint32_t i)
{
	const struct profile *p = f->profile;
	const struct line line = l->line_count ? l->lines[i] : (struct line){ 0 };
	const struct function *fn = profile_get_function(p, line.function);
	const char *path = profile_text(p, profile_get_mapping(p, l->mapping)->path);
	const char *file = profile_text(p, fn->file), *module = *path ? module_of(path) : file;
	struct str function = profile_get_str(p, fn->name);
	CLEANUP(buf_fini) struct buf name = { 0 };
	bool bad = false;
	struct frame frame = {
		.module = intern_text(f, module, strlen(module), &bad),
		.file = intern_text(f, file, strlen(file), &bad),
		.line = f->by == FRAME_BY_LINE ? line.line : fn->start_line,
		.kind = kind_of(path),
		.is_inlined = l->line_count && i + 1 < l->line_count && f->by != FRAME_BY_MODULE,
	};

	if (!function.len)
		function = (struct str){ UNKNOWN, strlen(UNKNOWN) };
	function.len = take_annotation(function.ptr, function.len, &frame);
	frame.function = f->by == FRAME_BY_MODULE && frame.module
				 ? frame.module
				 : intern_text(f, function.ptr, function.len, &bad);
	put_name(f, l, &frame, &name);
	if (bad || buf_error(&name) < 0)
		return STRTAB_NONE;
	frame.name = intern_text(f, name.data ? name.data : "", name.len, &bad);
	if (f->by == FRAME_BY_NAME_OR_ADDRESS)
		frame.function = frame.name;
	return bad ? STRTAB_NONE : add_frame(f, &frame);
}

static int name_locations(struct frames *f, struct err *e)
{
	size_t count = profile_location_count(f->profile), total = 0;

	f->of_locations = reallocarray(NULL, count + 1, sizeof *f->of_locations);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t lines = profile_get_location(f->profile, i).line_count;

		total += lines ? lines : 1;
	}
	f->ids = reallocarray(NULL, total, sizeof *f->ids);
	if (!f->of_locations || !f->ids)
		return err_nomem(e);
	total = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct location l = profile_get_location(f->profile, i);

		f->of_locations[i] = (uint32_t)total;
		for (uint32_t k = 0; k == 0 || k < l.line_count; k++) {
			f->ids[total] = frame_of(f, &l, k);
			if (f->ids[total++] == STRTAB_NONE)
				return err_nomem(e);
		}
	}
	f->of_locations[count] = (uint32_t)total;
	return 0;
}

int frames_init(struct frames *f, const struct profile *p, enum frame_by by, struct err *e)
{
	struct frame root = { 0 };
	bool bad = false;
	int rc;

	*f = (struct frames){ .profile = p, .by = by };
	f->strings = strtab_new();
	f->keys = strtab_new();
	if (!f->strings || !f->keys)
		goto fail;
	intern_text(f, "", 0, &bad);
	root.name = root.function = intern_text(f, "all", 3, &bad);
	if (bad || add_frame(f, &root) == STRTAB_NONE)
		goto fail;
	rc = name_locations(f, e);
	if (rc < 0)
		frames_fini(f);
	return rc;

fail:
	frames_fini(f);
	return err_nomem(e);
}

void frames_fini(struct frames *f)
{
	strtab_free(f->strings);
	strtab_free(f->keys);
	free(f->list);
	free(f->of_locations);
	free(f->ids);
	*f = (struct frames){ 0 };
}

const uint32_t *frames_of(const struct frames *f, uint32_t location, size_t *ret_count)
{
	*ret_count = f->of_locations[location + 1] - f->of_locations[location];
	return f->ids + f->of_locations[location];
}

const char *frames_text(const struct frames *f, uint32_t string)
{
	return strtab_get(f->strings, string).ptr;
}

static uint32_t find_text(const struct frames *f, const struct frames *of, uint32_t string)
{
	struct str text = strtab_get(of->strings, string);

	return strtab_find(f->strings, text.ptr, text.len);
}

uint32_t frames_find(const struct frames *f, const struct frames *of, uint32_t id)
{
	struct frame_key key = key_of(of, &of->list[id]);

	key.name = find_text(f, of, key.name);
	key.module = find_text(f, of, key.module);
	key.file = find_text(f, of, key.file);
	return strtab_find(f->keys, &key, sizeof key);
}

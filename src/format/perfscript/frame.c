/* SPDX-License-Identifier: MIT */
#include "format/perfscript/frame.h"

#include <stdlib.h>
#include <string.h>

/* A line of the frame's text, with the source position behind it. */
struct part {
	struct script_frame frame;
	struct str file;
	int64_t line;
};

void script_frames_fini(struct script_frames *f)
{
	free(f->lines);
	text_cache_fini(&f->functions);
	text_cache_fini(&f->mappings);
	*f = (struct script_frames){ 0 };
}

static struct str take_line(struct str *text)
{
	const char *stop = memchr(text->ptr, '\n', text->len);
	struct str line = { text->ptr, stop ? (size_t)(stop - text->ptr) : text->len };
	size_t taken = line.len + (stop != NULL);

	text->ptr += taken;
	text->len -= taken;
	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	return line;
}

static bool take_part(struct str *text, struct part *ret)
{
	struct str line = take_line(text), rest = *text, source;

	*ret = (struct part){ 0 };
	if (!script_parse_frame(line.ptr, line.len, &ret->frame))
		return false;
	source = take_line(&rest);
	if (script_is_source(source.ptr, source.len)) {
		*text = rest;
		ret->frame.is_inlined |= script_is_inlined(source.ptr, source.len);
		script_parse_source(source.ptr, source.len, &ret->file, &ret->line);
	}
	return true;
}

static uint32_t add_function(struct profile *p, struct str name, const struct part *part)
{
	struct function function = { .name = profile_str_n(p, name.ptr, name.len) };

	function.system_name = function.name;
	if (part->file.len)
		function.file = profile_str_n(p, part->file.ptr, part->file.len);
	return profile_add_function(p, &function);
}

static uint32_t get_function(struct script_frames *f, struct profile *p, struct str name,
			     const struct part *part)
{
	uint32_t *known;

	if (part->file.len)
		return add_function(p, name, part);
	known = text_cache_at(&f->functions, text_cache_hash(name.ptr, name.len));
	if (!known) {
		profile_fail_nomem(p);
		return 0;
	}
	if (*known == TEXT_CACHE_NEW)
		*known = add_function(p, name, part);
	return *known;
}

static void add_line(struct script_frames *f, struct profile *p, struct str name,
		     const struct part *part)
{
	if (f->count == f->cap) {
		uint32_t cap = f->cap ? 2 * f->cap : 16;
		struct line *lines = reallocarray(f->lines, cap, sizeof *lines);

		if (!lines) {
			profile_fail_nomem(p);
			return;
		}
		f->lines = lines;
		f->cap = cap;
	}
	f->lines[f->count++] = (struct line){
		.function = get_function(f, p, name, part),
		.line = part->line,
	};
}

static bool is_perf_map(struct str dso)
{
	static const char start[] = "/tmp/perf-", end[] = ".map";

	return dso.len > sizeof start - 1 + sizeof end - 1 &&
	       memcmp(dso.ptr, start, sizeof start - 1) == 0 &&
	       memcmp(dso.ptr + dso.len - (sizeof end - 1), end, sizeof end - 1) == 0;
}

/* Of a JIT's "caller->callee->..." (perf-map-agent writes inlined calls so): where the last
 * callee starts; 0: there is only one. */
static size_t find_callee(struct str name)
{
	for (size_t i = name.len; i-- > 1;)
		if (name.ptr[i] == '>' && name.ptr[i - 1] == '-')
			return i + 1 < name.len && i > 1 ? i + 1 : 0;
	return 0;
}

static void add_lines(struct script_frames *f, struct profile *p, const struct part *part)
{
	struct str name = part->frame.symbol;
	bool is_jit = is_perf_map(part->frame.dso);
	size_t callee;

	while (is_jit && (callee = find_callee(name))) {
		struct str inlined = { name.ptr + callee, name.len - callee };

		add_line(f, p, inlined, part);
		name.len = callee - 2;
	}
	if (name.len)
		add_line(f, p, name, part);
}

static uint32_t add_mapping(struct profile *p, struct str dso, bool has_lines, bool has_inlines)
{
	return profile_add_mapping(p, &(struct mapping){
					      .path = profile_str_n(p, dso.ptr, dso.len),
					      .has_functions = true,
					      .has_filenames = has_lines,
					      .has_line_numbers = has_lines,
					      .has_inline_frames = has_inlines,
				      });
}

static uint32_t get_mapping(struct script_frames *f, struct profile *p, struct str dso,
			    bool has_lines)
{
	uint32_t *known;

	if (!dso.len)
		return 0;
	/* what it has is or-ed in */
	if (has_lines || f->count > 1)
		return add_mapping(p, dso, has_lines, f->count > 1);
	known = text_cache_at(&f->mappings, text_cache_hash(dso.ptr, dso.len));
	if (!known) {
		profile_fail_nomem(p);
		return 0;
	}
	if (*known == TEXT_CACHE_NEW)
		*known = add_mapping(p, dso, false, false);
	return *known;
}

uint32_t script_frames_add(struct script_frames *f, struct profile *p, struct str text)
{
	struct part part = { 0 };
	bool has_lines = false;

	f->count = 0;
	while (text.len) {
		if (!take_part(&text, &part))
			return 0;
		add_lines(f, p, &part);
		has_lines |= part.line > 0;
	}
	return profile_add_location(p,
				    &(struct location){
					    .mapping = get_mapping(f, p, part.frame.dso, has_lines),
					    .address = part.frame.address,
					    .lines = f->lines,
					    .line_count = f->count,
				    });
}

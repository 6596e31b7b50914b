/* SPDX-License-Identifier: MIT */
#include "interp/python_layout.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

/* Up to 3.10 frames are objects, and each is called from C. */
#define OBJECT_FRAMES                                                                       \
	.interp_threads = 8, .thread_id = 176, .top_frame = 24, .previous = 24, .code = 32, \
	.first_line = 40, .file = 104, .name = 112, .table = 120, .code_bytes = 128,        \
	.ascii_data = 48, .compact_data = 72

/* From 3.11 on they are part of a stack of their own. */
#define STACK_FRAMES \
	.instr = 56, .frame_bytes = 72, .file = 112, .name = 128, .table = 136, .code_bytes = 144

static const struct python_layout layouts[] = {
	{ .minor = 8,
	  .interp_head = 32,
	  .tstate_current = 1368,
	  .tss_key = 1392,
	  .instr = 104,
	  .frame_bytes = 112,
	  OBJECT_FRAMES },
	{ .minor = 9,
	  .interp_head = 32,
	  .tstate_current = 568,
	  .tss_key = 584,
	  .instr = 104,
	  .frame_bytes = 112,
	  OBJECT_FRAMES },
	{ .minor = 10,
	  .interp_head = 32,
	  .tstate_current = 568,
	  .tss_key = 584,
	  .instr = 96,
	  .frame_bytes = 104,
	  OBJECT_FRAMES },
	{ .minor = 11,
	  .interp_head = 40,
	  .tstate_current = 576,
	  .tss_key = 592,
	  .interp_threads = 16,
	  .thread_id = 152,
	  .native_id = 160,
	  .top_frame = 56,
	  .has_cframe = 1,
	  .cframe_frame = 8,
	  .previous = 48,
	  .code = 32,
	  .is_entry = 68,
	  .owner = 69,
	  .first_line = 72,
	  .instructions = 184,
	  .ascii_data = 48,
	  .compact_data = 72,
	  STACK_FRAMES },
	{ .minor = 12,
	  .interp_head = 40,
	  .tss_key = 1544,
	  .interp_threads = 72,
	  .thread_id = 136,
	  .native_id = 144,
	  .active = 24,
	  .top_frame = 56,
	  .has_cframe = 1,
	  .previous = 8,
	  .owner = 70,
	  .first_line = 68,
	  .instructions = 192,
	  .ascii_data = 40,
	  .compact_data = 56,
	  STACK_FRAMES },
	{ .minor = 13,
	  .interp_head = 632,
	  .tss_key = 2160,
	  .interp_next = 7264,
	  .interp_threads = 7344,
	  .thread_id = 152,
	  .native_id = 160,
	  .active = 32,
	  .top_frame = 72,
	  .previous = 8,
	  .owner = 70,
	  .first_line = 68,
	  .instructions = 200,
	  .ascii_data = 40,
	  .compact_data = 56,
	  STACK_FRAMES },
};

/* Of 3.14, what it does not say itself. */
static const struct python_layout latest = { .minor = 14,
					     .ascii_data = 40,
					     .compact_data = 56,
					     STACK_FRAMES };

/* Where the numbers are among the offsets of a version, in words. */
static const struct words {
	unsigned minor;
	unsigned interp_head, interp_next, interp_threads;
	unsigned thread_next, thread_interp, top_frame, thread_id, native_id, active;
	unsigned previous, code, instr, owner;
	unsigned file, name, table, first_line, instructions;
} orders[] = {
	{ 13, 5, 8, 9, 21, 22, 23, 24, 25, 27, 29, 30, 31, 33, 35, 37, 38, 39, 43 },
	{ 14, 5, 8, 9, 24, 25, 26, 27, 28, 30, 32, 33, 34, 36, 40, 42, 43, 44, 48 },
};

#define COOKIE "xdebugpy"
#define OFFSET_MAX (1u << 24)

static uint32_t offset_at(const uint64_t *words, unsigned at)
{
	return words[at] < OFFSET_MAX ? (uint32_t)words[at] : OFFSET_MAX;
}

/* Do the members lie in what the readers read? */
static bool is_readable(const struct python_layout *l)
{
	const uint32_t frame[] = { l->previous, l->code, l->instr },
		       code[] = { l->file, l->name, l->table };
	bool is_ok = l->owner && l->owner < l->frame_bytes && l->first_line &&
		     l->first_line + 4 <= l->code_bytes && l->instructions < OFFSET_MAX;

	for (size_t i = 0; i < ARRAY_LEN(frame); i++)
		is_ok = is_ok && frame[i] % 8 == 0 && frame[i] + 8 <= l->frame_bytes;
	for (size_t i = 0; i < ARRAY_LEN(code); i++)
		is_ok = is_ok && code[i] && code[i] % 8 == 0 && code[i] + 8 <= l->code_bytes;
	return is_ok && l->interp_head && l->top_frame && l->thread_id && l->native_id;
}

static struct python_layout layout_by(const uint64_t *words, const struct words *o)
{
	const struct python_layout *known = python_layout_of(o->minor);
	struct python_layout l = known ? *known : latest;

	l.interp_head = offset_at(words, o->interp_head);
	l.interp_next = offset_at(words, o->interp_next);
	l.interp_threads = offset_at(words, o->interp_threads);
	l.thread_id = offset_at(words, o->thread_id);
	l.native_id = offset_at(words, o->native_id);
	l.active = offset_at(words, o->active);
	l.top_frame = offset_at(words, o->top_frame);
	l.previous = offset_at(words, o->previous);
	l.code = offset_at(words, o->code);
	l.instr = offset_at(words, o->instr);
	l.owner = offset_at(words, o->owner);
	l.file = offset_at(words, o->file);
	l.name = offset_at(words, o->name);
	l.table = offset_at(words, o->table);
	l.first_line = offset_at(words, o->first_line);
	l.instructions = offset_at(words, o->instructions);
	if (words[o->thread_next] != PYTHON_THREAD_NEXT ||
	    words[o->thread_interp] != PYTHON_THREAD_INTERP || !is_readable(&l))
		l.minor = 0;
	return l;
}

bool python_offsets_read(const void *bytes, size_t len, struct python_offsets *ret)
{
	uint64_t words[PYTHON_OFFSETS_BYTES / 8];

	*ret = (struct python_offsets){ 0 };
	if (len < sizeof words || memcmp(bytes, COOKIE, sizeof COOKIE - 1) != 0)
		return false;
	memcpy(words, bytes, sizeof words);
	ret->minor = words[1] >> 24 == 3 ? words[1] >> 16 & 255 : 0;
	ret->is_free_threaded = words[2];
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		if (orders[i].minor != ret->minor)
			continue;
		ret->layout = layout_by(words, &orders[i]);
		return true;
	}
	return false;
}

const struct python_layout *python_layout_of(unsigned minor)
{
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

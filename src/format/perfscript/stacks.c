/* SPDX-License-Identifier: MIT */
#include "format/perfscript/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "format/format.h"

void script_stacks_fini(struct script_stacks *s)
{
	text_cache_fini(&s->callers);
	text_cache_fini(&s->frames);
	script_frames_fini(&s->parser);
	free(s->split);
	*s = (struct script_stacks){ 0 };
}

/* The location of a frame; 0: it is none. */
static uint32_t get_location(struct script_stacks *s, struct str frame, struct text_cache_key key)
{
	uint32_t *location = text_cache_at(&s->frames, key);

	if (!location) {
		profile_fail_nomem(s->profile);
		return 0;
	}
	if (*location != TEXT_CACHE_NEW)
		return *location;
	*location = script_frames_add(&s->parser, s->profile, frame);
	if (!*location && !s->bad_count++)
		s->first_bad = frame.ptr;
	return *location;
}

static uint32_t push(struct script_stacks *s, uint32_t parent, struct str frame,
		     struct text_cache_key key)
{
	uint32_t location = get_location(s, frame, key);

	return location ? profile_push(s->profile, parent, location) : parent;
}

static struct str take_line(struct str *lines)
{
	const char *stop = memchr(lines->ptr, '\n', lines->len);
	struct str line = { lines->ptr, stop ? (size_t)(stop - lines->ptr) : lines->len };
	size_t taken = line.len + (stop != NULL);

	lines->ptr += taken;
	lines->len -= taken;
	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	return line;
}

/* Is what follows a line of the same frame: its position, or the function it is inlined in? */
static bool goes_on(struct str frame, struct str line, struct str rest)
{
	bool is_inlined = script_is_inlined(line.ptr, line.len);
	struct str follows, first, address;

	if (!rest.len || (*rest.ptr == '\t' && !is_inlined))
		return false;
	follows = take_line(&rest);
	if (script_is_source(follows.ptr, follows.len))
		return !script_is_source(line.ptr, line.len);
	first = script_address(frame.ptr, frame.len);
	address = script_address(follows.ptr, follows.len);
	return is_inlined && first.len && address.len == first.len &&
	       memcmp(address.ptr, first.ptr, first.len) == 0;
}

/* Takes the lines of the first frame off *lines. */
static struct str take_frame(struct str *lines)
{
	struct str line = take_line(lines), frame = line;

	while (goes_on(frame, line, *lines)) {
		line = take_line(lines);
		frame.len = (size_t)(line.ptr + line.len - frame.ptr);
	}
	return frame;
}

/* The node of callers that were never seen before. */
static uint32_t add_callers(struct script_stacks *s, struct str lines)
{
	uint32_t node = 0;
	size_t n = 0;

	while (lines.len) {
		if (n == FORMAT_MAX_DEPTH - 1) {
			s->too_deep = lines.ptr;
			return 0;
		}
		if (n == s->split_cap) {
			size_t cap = s->split_cap ? 2 * s->split_cap : 128;
			struct str *split = reallocarray(s->split, cap, sizeof *split);

			if (!split) {
				profile_fail_nomem(s->profile);
				return 0;
			}
			s->split = split;
			s->split_cap = cap;
		}
		s->split[n++] = take_frame(&lines);
	}
	while (n--)
		node = push(s, node, s->split[n],
			    text_cache_hash(s->split[n].ptr, s->split[n].len));
	return node;
}

static uint32_t get_callers(struct script_stacks *s, const struct script_stack *stack)
{
	uint32_t *node = text_cache_at(&s->callers, stack->callers_key);

	if (!node) {
		profile_fail_nomem(s->profile);
		return 0;
	}
	if (*node == TEXT_CACHE_NEW)
		*node = add_callers(s, stack->callers);
	return *node;
}

void script_stacks_begin(const struct script_stacks *s, struct str lines, struct script_stack *ret)
{
	*ret = (struct script_stack){ 0 };
	if (!lines.len)
		return;
	ret->leaf = take_frame(&lines);
	ret->leaf_key = text_cache_hash(ret->leaf.ptr, ret->leaf.len);
	text_cache_prefetch(&s->frames, ret->leaf_key);
	ret->callers = lines;
	if (!lines.len)
		return;
	ret->callers_key = text_cache_hash(lines.ptr, lines.len);
	text_cache_prefetch(&s->callers, ret->callers_key);
}

void script_stacks_go_on(struct script_stacks *s, struct script_stack *stack)
{
	if (!stack->leaf.ptr)
		return;
	if (stack->callers.len)
		stack->callers_node = get_callers(s, stack);
	stack->location = get_location(s, stack->leaf, stack->leaf_key);
	profile_prepare_push(s->profile, stack->callers_node, stack->location);
}

uint32_t script_stacks_end(const struct script_stacks *s, const struct script_stack *stack)
{
	if (!stack->location)
		return stack->callers_node;
	return profile_push(s->profile, stack->callers_node, stack->location);
}

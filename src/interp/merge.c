/* SPDX-License-Identifier: MIT */
#include "interp/merge.h"

#include <errno.h>

/* A merge that goes on. */
struct merge {
	const uint8_t *kinds;
	size_t count;
	const struct interp_stack *stack;
	bool keeps_native;
	struct rows *out;
	size_t next; /* frame of the interpreter */
	bool has_failed;
};

static void put(struct merge *m, size_t index, bool is_interp)
{
	struct interp_item *item = rows_add(m->out, sizeof *item);

	if (item)
		*item = (struct interp_item){ (uint32_t)index, is_interp };
	else
		m->has_failed = true;
}

static size_t count_loops(const uint8_t *kinds, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += kinds[i] == INTERP_EVAL;
	return n;
}

static size_t count_segments(const struct interp_stack *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		n += s->frames[i].is_entry || i + 1 == s->count;
	return n;
}

bool interp_fits(const uint8_t *kinds, size_t count, const struct interp_stack *s)
{
	size_t loops = count_loops(kinds, count), segments = count_segments(s);

	return segments && (loops == segments || loops == segments + 1);
}

/* The next segment. */
static void put_segment(struct merge *m)
{
	bool is_last = m->next == m->stack->count;

	while (!is_last) {
		const struct interp_frame *f = &m->stack->frames[m->next];

		if (f->location)
			put(m, m->next, true);
		m->next++;
		is_last = f->is_entry || m->next == m->stack->count;
	}
}

static void put_rest(struct merge *m)
{
	while (m->next < m->stack->count)
		put_segment(m);
}

/* The frames [from..to), none of which is a loop: inside of the stack only those that work. Outside
 * of the innermost and the outermost loop, what passes the call on next to the loop is left out. */
static void put_native(struct merge *m, size_t from, size_t to)
{
	bool is_inner = from == 0, is_outer = to == m->count;

	while (is_inner && !is_outer && !m->keeps_native && to > from &&
	       m->kinds[to - 1] == INTERP_FOLD)
		to--;
	while (is_outer && !is_inner && !m->keeps_native && from < to &&
	       m->kinds[from] == INTERP_FOLD)
		from++;
	for (size_t i = from; i < to; i++)
		if (m->keeps_native || is_inner || is_outer || m->kinds[i] != INTERP_FOLD)
			put(m, i, false);
}

static size_t next_loop(const struct merge *m, size_t i)
{
	while (i < m->count && m->kinds[i] != INTERP_EVAL)
		i++;
	return i;
}

/* A segment for each loop from the skipped innermost ones on. */
static void put_matched(struct merge *m, size_t skipped)
{
	size_t from = 0, loop;

	while ((loop = next_loop(m, from)) < m->count) {
		put_native(m, from, loop);
		if (skipped)
			skipped--;
		else
			put_segment(m);
		if (m->keeps_native)
			put(m, loop, false);
		from = loop + 1;
	}
	put_native(m, from, m->count);
	put_rest(m);
}

/* Everything between the inner and the outer native frames. */
static void put_between(struct merge *m)
{
	size_t first = next_loop(m, 0), last = first;

	for (size_t i = first; i < m->count; i++)
		if (m->kinds[i] == INTERP_EVAL)
			last = i;
	if (first == m->count) {
		put_native(m, 0, m->count);
		put_rest(m);
		return;
	}
	put_native(m, 0, first);
	put_rest(m);
	put_native(m, last + 1, m->count);
}

int interp_merge(const uint8_t *kinds, size_t count, bool is_whole, const struct interp_stack *s,
		 bool keeps_native, struct rows *ret, enum interp_fit *ret_fit)
{
	struct merge m = {
		.kinds = kinds, .count = count, .stack = s, .keeps_native = keeps_native, .out = ret
	};
	size_t loops = count_loops(kinds, count), segments = count_segments(s);

	*ret_fit = INTERP_FITS;
	if (loops && loops == segments) {
		put_matched(&m, 0);
	} else if (segments && loops == segments + 1 && is_whole) {
		put_matched(&m, 1);
	} else if (loops < segments && !is_whole) {
		*ret_fit = INTERP_EXTENDED;
		put_matched(&m, 0);
	} else {
		*ret_fit = INTERP_MISFIT;
		put_between(&m);
	}
	return m.has_failed ? -ENOMEM : 0;
}

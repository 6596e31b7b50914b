/* SPDX-License-Identifier: MIT */
#include "cli/stacks/stacks_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define WIDTH 100 /* where there is no terminal */
#define WIDTH_MIN 40
#define DEPTH_MAX 32    /* levels of branches */
#define HEAD_FRAMES 3   /* of a long chain: shown at its start */
#define TAIL_FRAMES 8   /* and at its end */
#define SCRIPT_FRAMES 6 /* of scripts, between */
#define NAMES_MAX 4     /* threads that a line names */
#define PIDS_MAX 8      /* processes that a line names */

#define ARROW " →" /* and a blank, or the end of the line */

/* Threads [from..to) of the order that have their first depth frames in common. */
struct branch {
	size_t from, to, depth;
};

struct printer {
	const struct stacks_text *text;
	const uint32_t *order; /* thread indices, sorted by frames; [threads] */
	struct buf *out;
	size_t width;
	size_t lines, left_out; /* threads whose line was not printed */
	struct buf prefix;      /* "│ " of the levels above */
};

static const struct thread_stack *thread_of(const struct printer *p, size_t i)
{
	return (const struct thread_stack *)p->text->stacks->threads.data + p->order[i];
}

static const struct stack_frames *frames_at(const struct printer *p, size_t i)
{
	return &p->text->of_threads[p->order[i]];
}

static int compare_frames(const void *a, const void *b, void *text)
{
	const struct stacks_text *t = text;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct stack_frames *x = &t->of_threads[i], *y = &t->of_threads[j];

	for (size_t k = 0; k < x->count && k < y->count; k++)
		if (x->ids[k] != y->ids[k])
			return x->ids[k] < y->ids[k] ? -1 : 1;
	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return (i > j) - (i < j);
}

/* The number of frames that all threads of a branch have in common. */
static size_t common_frames(const struct printer *p, const struct branch *b)
{
	const struct stack_frames *x = frames_at(p, b->from), *y = frames_at(p, b->to - 1);
	size_t n = b->depth;

	/* They are sorted. */
	while (n < x->count && n < y->count && x->ids[n] == y->ids[n])
		n++;
	return n;
}

/* The threads behind from that have the same frame at this depth. */
static size_t end_of_same(const struct printer *p, size_t from, size_t to, size_t depth)
{
	const struct stack_frames *x = frames_at(p, from);
	size_t end = from + 1;

	while (end < to && x->count > depth && frames_at(p, end)->count > depth &&
	       frames_at(p, end)->ids[depth] == x->ids[depth])
		end++;
	return end;
}

/* Starts a line behind the lines of the levels above. Returns the columns that it has. */
static size_t begin_line(struct printer *p, const char *mark, const char *number)
{
	size_t from = p->out->len;

	if (p->prefix.len)
		buf_put(p->out, p->prefix.data, p->prefix.len);
	buf_put_str(p->out, mark);
	buf_put_str(p->out, number);
	p->lines++;
	return p->out->data ? utf8_text_width(p->out->data + from, p->out->len - from) : 0;
}

/* Puts a word on the line, or on the next one when there is no room. */
static void put_word(struct printer *p, const char *word, const char *arrow, const char *indent,
		     size_t *column)
{
	CLEANUP(buf_fini) struct buf visible = { 0 };
	size_t columns;

	utf8_put_visible(&visible, word, strlen(word));
	if (!visible.data)
		return;
	columns = utf8_text_width(visible.data, visible.len);
	if (*arrow)
		buf_put_str(p->out, arrow);
	if (*arrow && *column + columns + 6 > p->width) { /* with both arrows */
		buf_put_byte(p->out, '\n');
		*column = begin_line(p, indent, "  ");
	} else if (*arrow) {
		buf_put_byte(p->out, ' ');
		*column += 3;
	}
	buf_put(p->out, visible.data, visible.len);
	*column += columns;
}

/* Of the frames [from..to), the first of a script; to: none is. */
static size_t next_script(const struct printer *p, const struct stack_frames *f, size_t from,
			  size_t to)
{
	while (from < to && !stacks_text_is_script(p->text, f->ids[from]))
		from++;
	return from;
}

/* Where the innermost SCRIPT_FRAMES of scripts in [from..to) begin, or from. */
static size_t innermost_scripts(const struct printer *p, const struct stack_frames *f, size_t from,
				size_t to)
{
	size_t count = 0;

	for (size_t i = to; i > from; i--) {
		count += stacks_text_is_script(p->text, f->ids[i - 1]);
		if (count == SCRIPT_FRAMES)
			return i - 1;
	}
	return from;
}

/* The frames [depth..to) of a branch. Of the middle of a long chain, only the innermost of scripts.
 */
static void put_chain(struct printer *p, const struct branch *b, size_t to, const char *indent,
		      size_t column)
{
	const struct stack_frames *f = frames_at(p, b->from);
	bool is_cut = to - b->depth > HEAD_FRAMES + TAIL_FRAMES + 1;
	size_t middle = is_cut ? b->depth + HEAD_FRAMES : to, tail = is_cut ? to - TAIL_FRAMES : to;
	size_t scripts = innermost_scripts(p, f, middle, tail);
	const char *arrow = "";
	char gap[32];

	for (size_t i = b->depth; i < to; i++) {
		size_t next = i;

		if (i >= middle && i < tail)
			next = next_script(p, f, i > scripts ? i : scripts, tail);
		if (next > i + 1) {
			snprintf(gap, sizeof gap, "(%zu more)", next - i);
			put_word(p, gap, arrow, indent, &column);
			i = next;
		}
		put_word(p, stacks_text_frame(p->text, f->ids[i]), arrow, indent, &column);
		arrow = ARROW;
	}
}

static void put_thread(const struct printer *p, const struct thread_stack *t, struct buf *words)
{
	buf_printf(words, t->pid == t->tid ? "%u" : "%u/%u", t->pid, t->tid);
	if (t->comm)
		buf_printf(words, " %s", profile_text(p->text->stacks->profile, t->comm));
	if (t->blocked_ns >= 0) {
		buf_put_str(words, " for ");
		stacks_text_put_time(words, t->blocked_ns);
	}
}

/* "12, 13/14 worker", or "12, 13, 15", or "9 processes". */
static void put_owners(struct printer *p, const struct branch *b, struct buf *words)
{
	uint32_t pids[PIDS_MAX];
	size_t count = 0;
	bool is_new;

	if (b->to - b->from <= NAMES_MAX) {
		for (size_t i = b->from; i < b->to; i++) {
			buf_put_str(words, i > b->from ? ", " : "");
			put_thread(p, thread_of(p, i), words);
		}
		return;
	}
	for (size_t i = b->from; i < b->to && count <= PIDS_MAX; i++) {
		is_new = true;
		for (size_t j = 0; j < count && is_new; j++)
			is_new = pids[j] != thread_of(p, i)->pid;
		if (is_new && count < PIDS_MAX)
			pids[count] = thread_of(p, i)->pid;
		count += is_new;
	}
	buf_put_str(words, count > 1 ? "of processes " : "of process ");
	for (size_t i = 0; i < count && i < PIDS_MAX; i++)
		buf_printf(words, "%s%u", i ? ", " : "", pids[i]);
	buf_put_str(words, count > PIDS_MAX ? ", ..." : "");
}

static void put_leaf(struct printer *p, const struct branch *b, const char *indent)
{
	CLEANUP(buf_fini) struct buf words = { 0 };
	size_t column;

	put_owners(p, b, &words);
	buf_put_byte(p->out, '\n');
	column = begin_line(p, indent, "  ");
	if (buf_error(&words) == 0)
		put_word(p, words.data, "", indent, &column);
	buf_put_byte(p->out, '\n');
}

static int by_count(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;
	size_t m = x->to - x->from, n = y->to - y->from;

	if (m != n)
		return m > n ? -1 : 1;
	return x->from < y->from ? -1 : 1;
}

/* Splits a branch behind its common frames. *ret: [*ret_count], the caller's; false: no memory. */
static bool split(const struct printer *p, const struct branch *b, size_t depth,
		  struct branch **ret, size_t *ret_count)
{
	struct branch *all = calloc(b->to - b->from, sizeof *all);
	size_t n = 0;

	for (size_t i = b->from; all && i < b->to; n++) {
		size_t end = end_of_same(p, i, b->to, depth);

		/* Stacks that end here are one branch. */
		while (end < b->to && frames_at(p, i)->count == depth &&
		       frames_at(p, end)->count == depth)
			end++;
		all[n] = (struct branch){ i, end, depth };
		i = end;
	}
	if (all)
		qsort(all, n, sizeof *all, by_count);
	*ret = all;
	*ret_count = n;
	return all != NULL;
}

/* mark: before its number; indent: before its further lines. */
static void put_branch(struct printer *p, const struct branch *b, const char *mark,
		       const char *indent, size_t level)
{
	size_t depth = common_frames(p, b), count, prefix = p->prefix.len;
	bool is_leaf = depth == frames_at(p, b->to - 1)->count || level == DEPTH_MAX;
	struct branch *all;
	char number[24];

	if (p->lines >= STACKS_TREE_LINES) {
		p->left_out += b->to - b->from;
		return;
	}
	snprintf(number, sizeof number, "%zu  ", b->to - b->from);
	put_chain(p, b, depth, indent, begin_line(p, mark, number));
	if (is_leaf) {
		put_leaf(p, b, indent);
		return;
	}
	buf_put_byte(p->out, '\n');
	if (!split(p, b, depth, &all, &count)) {
		p->out->bad = true;
		return;
	}
	buf_put_str(&p->prefix, indent);
	for (size_t i = 0; i < count; i++)
		put_branch(p, &all[i], i + 1 < count ? "├ " : "└ ", i + 1 < count ? "│ " : "  ",
			   level + 1);
	p->prefix.len = prefix;
	free(all);
}

static void put_roots(struct printer *p)
{
	const struct branch whole = { 0, p->text->stacks->threads.count, 0 };
	struct branch *all;
	size_t count;

	if (!split(p, &whole, 0, &all, &count)) {
		p->out->bad = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		put_branch(p, &all[i], "", "", 0);
	free(all);
	if (p->left_out)
		buf_printf(p->out, "%zu more threads are in other places; -v shows each\n",
			   p->left_out);
}

int stacks_tree_put(const struct stacks_text *t, size_t width, struct buf *out, struct err *e)
{
	size_t count = t->stacks->threads.count;
	uint32_t *order = calloc(count + 1, sizeof *order);
	struct printer p = {
		.text = t, .order = order, .out = out, .width = width ? width : WIDTH
	};

	if (!order)
		return err_nomem(e);
	if (p.width < WIDTH_MIN)
		p.width = WIDTH_MIN;
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof *order, compare_frames, (void *)(uintptr_t)t);
	put_roots(&p);
	free(order);
	if (buf_error(&p.prefix) < 0)
		out->bad = true;
	buf_fini(&p.prefix);
	return buf_error(out) < 0 ? err_nomem(e) : 0;
}

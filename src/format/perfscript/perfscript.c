/* SPDX-License-Identifier: MIT */
#include "format/perfscript/perfscript.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/log.h"
#include "base/number.h"
#include "base/str.h"
#include "format/folded.h"
#include "format/perfscript/events.h"
#include "format/perfscript/line.h"
#include "format/perfscript/stacks.h"
#include "format/text_cache.h"

#define LINE_BYTES ((size_t)64 << 20) /* of a line */
#define DROP_BYTES ((size_t)16 << 20) /* of input that is behind us are given back at once */

/* A sample whose stack is being looked up. */
struct waiting {
	bool is_there;
	struct script_header head;
	struct script_stack stack;
};

struct reader {
	struct profile *p;
	const struct file_input *in;
	size_t dropped;              /* bytes of it that were given back */
	const char *data, *at, *end; /* the text; at: its next line */
	struct text_cache threads;   /* struct script_header's thread to label set */
	struct script_stacks stacks;
	struct script_events events;
	struct waiting waiting[2]; /* the last two samples */
	int turn;                  /* of the last */
	size_t bad_count;          /* lines that are neither heads nor frames */
	const char *first_bad;     /* NULL: none */
	const char *too_long;      /* a line that is; NULL: none */
	bool is_cut;               /* the text ends within a line */
	int error;                 /* first failure, negative errno */
};

static void fail(struct reader *r, int error)
{
	if (!r->error)
		r->error = error;
}

/* The line at `at`, without its end; *ret_next is behind it. Of one that is too long the start. */
static struct str get_line(struct reader *r, const char *at, const char **ret_next)
{
	size_t left = (size_t)(r->end - at), len = left < LINE_BYTES ? left : LINE_BYTES;
	const char *stop = memchr(at, '\n', len);

	if (stop)
		len = (size_t)(stop - at);
	else if (len < left && !r->too_long)
		r->too_long = at;
	*ret_next = stop ? stop + 1 : r->end;
	if (len && at[len - 1] == '\r')
		len--;
	return (struct str){ at, len };
}

static size_t line_number(const struct reader *r, const char *line)
{
	size_t n = 1;

	for (const char *at = r->data; (at = memchr(at, '\n', (size_t)(line - at))); at++)
		n++;
	return n;
}

static void note_bad(struct reader *r, const char *line)
{
	if (!r->bad_count++)
		r->first_bad = line;
}

static uint32_t make_labels(struct reader *r, const struct script_header *h)
{
	static const char *const keys[] = { "pid", "tid", "cpu" };
	const int64_t numbers[] = { h->pid, h->tid, h->cpu };
	struct label labels[4];
	size_t count = 0;

	if (h->comm.len)
		labels[count++] = (struct label){
			.key = profile_str(r->p, "comm"),
			.str = profile_str_n(r->p, h->comm.ptr, h->comm.len),
		};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i] != SCRIPT_NONE)
			labels[count++] = (struct label){ .key = profile_str(r->p, keys[i]),
							  .num = numbers[i] };
	return profile_add_labels(r->p, labels, count);
}

static uint32_t get_labels(struct reader *r, const struct script_header *h)
{
	uint32_t *id = text_cache_at(&r->threads, text_cache_hash(h->thread.ptr, h->thread.len));

	if (!id) {
		fail(r, -ENOMEM);
		return 0;
	}
	if (*id == TEXT_CACHE_NEW)
		*id = make_labels(r, h);
	return *id;
}

/* Is the line a frame? Those are indented by a tab, or, where tabs were replaced, by as many
 * blanks as the head of a sample without call chain is. */
static bool is_frame(struct str line)
{
	struct script_header h;

	if (*line.ptr == '\t')
		return true;
	return script_is_frame(line.ptr, line.len) &&
	       (!script_parse_header(line.ptr, line.len, &h) || !h.is_sure);
}

/* The lines of frames at r->at, which moves behind them. */
static struct str take_stack(struct reader *r)
{
	struct str stack = { r->at, 0 };

	while (r->at < r->end && str_is_blank(*r->at)) {
		const char *next;
		struct str line = get_line(r, r->at, &next);

		if (!is_frame(line) && !(stack.len && script_is_source(line.ptr, line.len)))
			break;
		r->at = next;
		stack.len = (size_t)(line.ptr + line.len - stack.ptr);
	}
	return stack;
}

/* Did the line that was read last end in the middle? */
static bool is_cut(const struct reader *r)
{
	return r->at == r->end && r->end[-1] != '\n' && r->end[-1] != ')';
}

static void end_sample(struct reader *r, struct waiting *w)
{
	uint32_t node;
	int rc;

	if (!w->is_there)
		return;
	node = script_stacks_end(&r->stacks, &w->stack);
	rc = script_events_add(&r->events, r->p, node, get_labels(r, &w->head), &w->head);
	if (rc < 0)
		fail(r, rc);
	w->is_there = false;
}

static void add_sample(struct reader *r, const struct script_header *h, struct str stack)
{
	struct waiting *before = &r->waiting[r->turn], *now = &r->waiting[r->turn ^ 1];

	if (is_cut(r)) {
		r->is_cut = true;
		return;
	}
	end_sample(r, now);
	if (before->is_there)
		script_stacks_go_on(&r->stacks, &before->stack);
	*now = (struct waiting){ .is_there = true, .head = *h };
	script_stacks_begin(&r->stacks, stack, &now->stack);
	r->turn ^= 1;
}

static void end_samples(struct reader *r)
{
	struct waiting *last = &r->waiting[r->turn];

	end_sample(r, &r->waiting[r->turn ^ 1]);
	if (last->is_there)
		script_stacks_go_on(&r->stacks, &last->stack);
	end_sample(r, last);
}

/* The lines of perf script --header that describe the recording. */
static void add_comment(struct reader *r, struct str line)
{
	static const struct {
		const char *key, *name; /* in the text; in the profile */
	} known[] = {
		{ "cmdline", "command" },
		{ "hostname", "host" },
		{ "os release", "kernel" },
	};
	const char *colon = memchr(line.ptr, ':', line.len);
	struct str key, value;
	CLEANUP(buf_fini) struct buf text = { 0 };

	if (!colon)
		return;
	key = str_trim((struct str){ line.ptr + 1, (size_t)(colon - line.ptr) - 1 });
	value = str_trim((struct str){ colon + 1, (size_t)(line.ptr + line.len - colon) - 1 });
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (!str_equals(key, known[i].key))
			continue;
		buf_printf(&text, "%s: ", known[i].name);
		buf_put(&text, value.ptr, value.len);
		if (buf_error(&text) < 0)
			fail(r, -ENOMEM);
		else
			profile_add_comment(r->p, text.data);
	}
}

/* A line that should be the head of a sample. */
static void read_head(struct reader *r, struct str line)
{
	struct script_header h;
	struct str stack;
	bool is_head = script_parse_header(line.ptr, line.len, &h);

	if (h.is_record) {
		number_add(&r->events.lost, h.lost);
		return;
	}
	stack = take_stack(r);
	if (!is_head || (!h.is_sure && !stack.len))
		note_bad(r, line.ptr);
	else
		add_sample(r, &h, stack.len ? stack : h.frame);
}

/* " 3726": the number of a thread alone, as -F tid prints heads. Frames are indented alike. */
static bool is_bare_head(const struct reader *r, struct str line, const char *next)
{
	return *line.ptr != '\t' && next < r->end && *next == '\t';
}

/* A sample, a comment, an empty line, or one that is nothing. */
static void read_part(struct reader *r)
{
	const char *next;
	struct str line = get_line(r, r->at, &next);
	struct script_header none;

	/* -F ip,sym prints no heads */
	if (line.len && script_is_frame(line.ptr, line.len) && is_frame(line) &&
	    !is_bare_head(r, line, next)) {
		script_parse_header("", 0, &none);
		add_sample(r, &none, take_stack(r));
		return;
	}
	r->at = next;
	if (line.len && *line.ptr == '#')
		add_comment(r, line);
	else if (line.len)
		read_head(r, line);
}

/* Releases the memory of lines already read; they are read again only to count lines. */
static void drop_input(struct reader *r)
{
	size_t done = (size_t)(r->at - r->data);

	if (done - r->dropped < DROP_BYTES)
		return;
	file_input_drop(r->in, r->dropped, done);
	r->dropped = done;
}

static int read_all(struct reader *r, struct err *e)
{
	while (r->at < r->end && !r->error && !r->stacks.too_deep && !r->too_long) {
		read_part(r);
		drop_input(r);
	}
	end_samples(r);
	if (r->stacks.too_deep)
		return err_set(e, -EINVAL, "line %zu: a stack of more than %d frames",
			       line_number(r, r->stacks.too_deep), FORMAT_MAX_DEPTH);
	if (r->too_long)
		return err_set(e, -EINVAL, "line %zu: more than %zu bytes",
			       line_number(r, r->too_long), LINE_BYTES);
	return r->error ? err_nomem(e) : profile_check(r->p, e);
}

static void warn_skipped(const struct reader *r)
{
	size_t bad_count = r->bad_count + r->stacks.bad_count;
	const char *first = r->first_bad;

	profile_info(r->p)->skipped_lines = bad_count + r->is_cut;
	if (r->stacks.first_bad && (!first || r->stacks.first_bad < first))
		first = r->stacks.first_bad;
	if (bad_count)
		log_msg(LOG_WARN, "perfscript",
			"lines that are no part of a sample and are skipped: %zu, the first is "
			"line %zu",
			bad_count, line_number(r, first));
	if (r->is_cut)
		log_msg(LOG_WARN, "perfscript", "the text ends within a sample, which is left out");
}

static int finish(struct reader *r, struct err *e)
{
	if (!r->events.sample_count && r->first_bad)
		return err_set(e, -EINVAL, "line %zu: neither a sample nor a frame of one",
			       line_number(r, r->first_bad));
	if (!r->events.sample_count)
		return err_set(e, -EINVAL, "no sample in this text of perf script");
	warn_skipped(r);
	script_events_finish(&r->events, r->p);
	return profile_check(r->p, e);
}

static void reader_fini(struct reader *r)
{
	text_cache_fini(&r->threads);
	script_stacks_fini(&r->stacks);
	script_events_fini(&r->events);
}

int perfscript_read_input(struct profile *p, const struct file_input *in, struct err *e)
{
	const char *text = (const char *)in->data;
	CLEANUP(reader_fini)
	struct reader r = { .p = p,
			    .in = in,
			    .data = text,
			    .at = text,
			    .end = text + in->len,
			    .stacks.profile = p };
	int rc = read_all(&r, e);

	return rc < 0 ? rc : finish(&r, e);
}

int perfscript_read(struct profile *p, const unsigned char *data, size_t len, struct err *e)
{
	return perfscript_read_input(p, &(struct file_input){ .data = data, .len = len }, e);
}

/* Are all lines stacks with a number at their end? Frames end in a symbol or a dso, and bare
 * addresses are indented by more than the blank before the number of no stack. */
static bool is_folded(struct str lines)
{
	struct cursor c = cursor_make(lines.ptr, lines.len);
	struct folded_number number;
	const char *line;
	size_t len;

	while (cursor_line(&c, &line, &len))
		if (!folded_cut_number(line, &len, &number) ||
		    (!len && (*line == '\t' || str_is_blank(line[1]))))
			return false;
	return true;
}

static bool has_stack(struct reader *r)
{
	return !is_folded(take_stack(r));
}

/* Is there a sample among the first lines, and nothing else before it? */
bool perfscript_detect(const unsigned char *data, size_t len)
{
	enum { MAX_BYTES = 1 << 16 };
	const char *text = (const char *)data, *next;
	struct reader r = { .at = text, .end = text + (len < MAX_BYTES ? len : MAX_BYTES) };
	struct script_header h;

	while (r.at < r.end) {
		struct str line = get_line(&r, r.at, &next);

		if (script_is_frame(line.ptr, line.len) && has_stack(&r))
			return true;
		r.at = next;
		if (line.len && *line.ptr != '#')
			return script_parse_header(line.ptr, line.len, &h) &&
			       (h.is_sure || has_stack(&r));
	}
	return false;
}

static const char *const suffixes[] = { ".perf", ".script", NULL };

const struct format format_perfscript = {
	.name = "perfscript",
	.summary = "what `perf script` prints",
	.mark = "lines of samples",
	.lost = "times, fields without frames",
	.suffixes = suffixes,
	.is_text = true,
	.detect = perfscript_detect,
	.read = perfscript_read,
	.read_input = perfscript_read_input,
};

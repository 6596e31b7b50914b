/* SPDX-License-Identifier: MIT */
#include "format/stacktext/stacktext.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "format/format.h"

/* Of lines: a deep tree makes much of little. */
#define ALWAYS_ALLOWED ((uint64_t)64 << 20)
#define MAX_RATIO 64 /* more than that for each byte of the text */
#define EXACT 1e15   /* so many fractions of one are exact in a double */

static void stacktext_fini(struct stacktext *t)
{
	collapsed_fini(&t->lines);
	strtab_free(t->names);
	rows_fini(&t->frames);
	buf_fini(&t->line);
}

static void fail(struct stacktext *t, int error)
{
	if (!t->error)
		t->error = error;
}

void stacktext_fail(struct stacktext *t)
{
	fail(t, -ENOMEM);
}

bool stacktext_line(struct stacktext *t, struct str *ret)
{
	if (t->error || !cursor_line(&t->text, &ret->ptr, &ret->len))
		return false;
	t->line_number++;
	return true;
}

void stacktext_skip(struct stacktext *t)
{
	if (!t->skipped++)
		t->first_skipped = t->line_number;
}

static void push(struct stacktext *t, struct str name, uint32_t location)
{
	struct stacktext_frame *frame;
	uint32_t id;

	if (t->frames.count == FORMAT_MAX_DEPTH) {
		t->too_deep = true;
		fail(t, -EINVAL);
		return;
	}
	if (!name.len && !t->is_exact)
		name = (struct str){ "[unknown]", strlen("[unknown]") };
	id = strtab_intern(t->names, name.ptr, name.len);
	frame = id == STRTAB_NONE ? NULL : rows_add(&t->frames, sizeof *frame);
	if (frame)
		*frame = (struct stacktext_frame){ id, location, 0 };
	else
		fail(t, -ENOMEM);
}

void stacktext_push(struct stacktext *t, struct str name)
{
	push(t, name, 0);
}

void stacktext_push_at(struct stacktext *t, struct str name, struct str file, int64_t line)
{
	uint32_t string = profile_str_n(t->p, name.ptr, name.len);
	struct function f = { .name = string,
			      .system_name = string,
			      .file = profile_str_n(t->p, file.ptr, file.len) };
	struct line at = { profile_add_function(t->p, &f), line };

	push(t, name,
	     profile_add_location(t->p, &(struct location){ .lines = &at, .line_count = 1 }));
}

void stacktext_push_location(struct stacktext *t, uint32_t location)
{
	if (location)
		push(t, (struct str){ "", 0 }, location);
	else
		fail(t, -ENOMEM);
}

size_t stacktext_depth(const struct stacktext *t)
{
	return t->frames.count;
}

struct str stacktext_top(const struct stacktext *t)
{
	const struct stacktext_frame *frames = t->frames.data;

	return strtab_get(t->names, frames[t->frames.count - 1].name);
}

void stacktext_cut(struct stacktext *t, size_t depth)
{
	if (depth < t->frames.count)
		t->frames.count = depth;
}

/* Frame i, counted from the outermost. */
static struct stacktext_frame get_frame(const struct stacktext *t, bool leaf_first, size_t i)
{
	const struct stacktext_frame *frames = t->frames.data;

	return frames[leaf_first ? t->frames.count - 1 - i : i];
}

void stacktext_set_depth(struct stacktext *t, size_t depth)
{
	if (depth > FORMAT_MAX_DEPTH)
		depth = FORMAT_MAX_DEPTH;
	if (t->frames.count > t->known_depth)
		t->known_depth = t->frames.count;
	if (t->is_exact)
		t->frames.count = depth < t->known_depth ? depth : t->known_depth;
	stacktext_cut(t, depth);
	while (t->frames.count < depth && !t->error)
		stacktext_push(t, (struct str){ "", 0 });
}

/* Makes the line without its number. */
static int make_line(struct stacktext *t, bool leaf_first)
{
	t->stack_count++;
	buf_clear(&t->line);
	for (size_t i = 0; i < t->frames.count; i++) {
		struct str name = strtab_get(t->names, get_frame(t, leaf_first, i).name);

		if (i)
			buf_put_byte(&t->line, ';');
		buf_put(&t->line, name.ptr, name.len);
	}
	return buf_error(&t->line);
}

static void check_line(struct stacktext *t, int rc)
{
	if (rc == 0 && t->lines.lines.len > t->max_lines)
		rc = -EFBIG;
	if (rc < 0)
		fail(t, rc);
}

static void add_line(struct stacktext *t, bool leaf_first, int64_t value)
{
	int rc = make_line(t, leaf_first);

	if (rc == 0)
		rc = collapsed_add(&t->lines, (struct str){ t->line.data, t->line.len }, value);
	check_line(t, rc);
}

void stacktext_add_text(struct stacktext *t, bool leaf_first, const char *number)
{
	int rc = make_line(t, leaf_first);
	struct str line = { t->line.data, t->line.len };

	check_line(t, rc < 0 ? rc : collapsed_add_text(&t->lines, line, number));
}

static uint32_t push_frame(struct stacktext *t, uint32_t node, struct stacktext_frame frame)
{
	struct str name = strtab_get(t->names, frame.name);

	if (!frame.location)
		frame.location = profile_name_location(t->p, name.ptr, name.len);
	return profile_push(t->p, node, frame.location);
}

/* Frames that stay keep their nodes: a tree's rows share most of them. */
static uint32_t push_root_first(struct stacktext *t)
{
	struct stacktext_frame *frames = t->frames.data;
	size_t i = t->frames.count;
	uint32_t node;

	while (i && !frames[i - 1].node)
		i--;
	node = i ? frames[i - 1].node : 0;
	for (; i < t->frames.count; i++)
		node = frames[i].node = push_frame(t, node, frames[i]);
	return node;
}

static uint32_t push_leaf_first(struct stacktext *t)
{
	uint32_t node = 0;

	for (size_t i = 0; i < t->frames.count; i++)
		node = push_frame(t, node, get_frame(t, true, i));
	return node;
}

void stacktext_add_all(struct stacktext *t, bool leaf_first, const int64_t *values)
{
	if (t->error)
		return;
	t->stack_count++;
	profile_add(t->p, leaf_first ? push_leaf_first(t) : push_root_first(t), t->labels, values);
}

void stacktext_add(struct stacktext *t, bool leaf_first, int64_t value)
{
	int64_t values[PROFILE_MAX_TYPES] = { 0 };

	if (t->is_exact) {
		add_line(t, leaf_first, value);
		return;
	}
	if (!t->has_type)
		stacktext_set_type(t, "samples", "count");
	values[t->type] = value;
	stacktext_add_all(t, leaf_first, values);
}

void stacktext_set_type(struct stacktext *t, const char *type, const char *unit)
{
	if (t->is_exact)
		return;
	t->type = profile_add_type(t->p, type, unit);
	if (profile_error(t->p) < 0) {
		fail(t, -ENOMEM);
		return;
	}
	if (!t->has_type)
		profile_info(t->p)->default_type = profile_get_type(t->p, t->type).type;
	t->has_type = true;
}

uint32_t stacktext_thread(struct stacktext *t, struct str comm, const char *number_key,
			  uint64_t number)
{
	struct label labels[2];
	size_t count = 0;

	if (t->is_exact)
		return 0;
	if (comm.len)
		labels[count++] = (struct label){ .key = profile_str(t->p, "comm"),
						  .str = profile_str_n(t->p, comm.ptr, comm.len) };
	if (number && number <= INT64_MAX)
		labels[count++] = (struct label){ .key = profile_str(t->p, number_key),
						  .num = (int64_t)number };
	return profile_add_labels(t->p, labels, count);
}

static int parse(const struct stacktext_kind *kind, struct stacktext *t, const unsigned char *data,
		 size_t len, struct err *e)
{
	t->text = cursor_make(data, len);
	t->max_lines = ALWAYS_ALLOWED + (uint64_t)len * MAX_RATIO;
	t->names = strtab_new();
	if (!t->names)
		return err_nomem(e);
	kind->parse(t);
	if (t->too_deep)
		return err_set(e, -EINVAL, "line %zu: a stack of more than %d frames",
			       t->line_number, FORMAT_MAX_DEPTH);
	if (t->error == -EFBIG)
		return err_set(e, -EFBIG, "%zu bytes of text make more than %llu MiB of lines", len,
			       (unsigned long long)(t->max_lines >> 20));
	if (t->error)
		return err_nomem(e);
	if (!t->stack_count && !t->may_be_empty)
		return err_set(e, -EINVAL, "no stack in this text");
	if (t->skipped)
		log_msg(LOG_WARN, kind->name,
			"lines that are no part of a stack and are skipped: %zu, the first is line "
			"%zu",
			t->skipped, t->first_skipped);
	return 0;
}

int stacktext_read(const struct stacktext_kind *kind, struct profile *p, const unsigned char *data,
		   size_t len, struct err *e)
{
	CLEANUP(stacktext_fini) struct stacktext t = { .p = p };
	int rc;

	rc = parse(kind, &t, data, len, e);
	profile_info(p)->skipped_lines = t.skipped;
	return rc < 0 ? rc : profile_check(p, e);
}

int stacktext_collapse(const struct stacktext_kind *kind, const unsigned char *data, size_t len,
		       struct buf *out, struct err *e)
{
	CLEANUP(stacktext_fini) struct stacktext t = { .is_exact = true };
	int rc;

	t.lines.keeps_order = kind->keeps_order;
	rc = parse(kind, &t, data, len, e);
	if (rc < 0)
		return rc;
	if (t.lines.is_saturated)
		log_msg(LOG_WARN, kind->name, "a sum is too large and stays at %" PRId64,
			INT64_MAX);
	return collapsed_write(&t.lines, out) < 0 ? err_nomem(e) : 0;
}

bool stacktext_number(struct str s, int64_t *ret)
{
	uint64_t value;
	size_t i;

	s = str_skip_blanks(s);
	for (i = 0; i < s.len && number_is_digit(s.ptr[i]); i++)
		;
	if (!s.len || i < s.len)
		return false;
	*ret = INT64_MAX;
	if (number_parse(s.ptr, s.len, &value) && value <= INT64_MAX)
		*ret = (int64_t)value;
	return true;
}

struct cursor stacktext_start(const unsigned char *data, size_t len)
{
	enum { LOOK_BYTES = 64 << 10 };
	size_t look = len < LOOK_BYTES ? len : LOOK_BYTES;

	if (look && memchr(data, 0, look))
		look = 0;
	return cursor_make(data, look);
}

size_t stacktext_decimal(struct str s, double *ret)
{
	double value = 0, scale = 1;
	size_t at = 0, end = 0;
	bool has_point = false;

	for (; at < s.len; at++) {
		if (s.ptr[at] == '.' && !has_point) {
			has_point = true;
			continue;
		}
		if (!number_is_digit(s.ptr[at]))
			break;
		end = at + 1;
		if (scale >= EXACT)
			continue;
		value = value * 10 + (s.ptr[at] - '0');
		scale *= has_point ? 10 : 1;
	}
	*ret = value / scale;
	return end;
}

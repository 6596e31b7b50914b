/* SPDX-License-Identifier: MIT */
#include "format/perfscript/stackcollapse.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/rows.h"
#include "format/collapsed.h"
#include "format/perfscript/collapse_line.h"

struct collapser {
	const struct stackcollapse_opts *o;
	struct stackcollapse_report *report;
	struct collapse_text text;
	struct collapsed stacks;
	struct rows starts; /* size_t: where the groups of the stack at hand start in frames */
	struct buf frames;  /* of the stack at hand, innermost first, each group with its ';' */
	struct buf comm;    /* of the sample at hand */
	struct buf line;    /* that is being made */
	bool has_sample;    /* a sample's head was read */
	struct str event;   /* the one shown; ptr NULL: the first that comes */
	int64_t period;     /* of the sample at hand */
};

static void collapser_fini(struct collapser *c)
{
	collapsed_fini(&c->stacks);
	rows_fini(&c->starts);
	buf_fini(&c->frames);
	buf_fini(&c->comm);
	buf_fini(&c->line);
}

static int end_sample(struct collapser *c)
{
	const size_t *starts = c->starts.data;
	size_t end = c->frames.len;

	if (!c->has_sample)
		return 0;
	buf_clear(&c->line);
	buf_put(&c->line, c->comm.data, c->comm.len);
	/* all frames may be without a text */
	for (size_t i = c->frames.len ? c->starts.count : 0; i-- > 0; end = starts[i])
		buf_put(&c->line, c->frames.data + starts[i], end - starts[i]);
	c->starts.count = 0;
	buf_clear(&c->frames);
	c->has_sample = false;
	if (buf_error(&c->line) < 0)
		return -ENOMEM;
	return collapsed_add(&c->stacks, (struct str){ c->line.data, c->line.len }, c->period);
}

static bool is_same(struct str a, struct str b)
{
	return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

static int begin_sample(struct collapser *c, const struct collapse_head *head)
{
	bool is_other = false;

	if (head->event.ptr && !c->event.ptr)
		c->report->event = c->event = head->event;
	else if (head->event.ptr)
		is_other = !is_same(head->event, c->event);
	if (is_other) {
		c->report->other_events++;
		return 0;
	}
	c->period = head->period;
	c->report->is_saturated |= c->period == INT64_MAX;
	c->has_sample = true;
	buf_clear(&c->comm);
	for (size_t i = 0; i < head->comm.len; i++)
		buf_put_byte(&c->comm,
			     (unsigned char)(head->comm.ptr[i] == ' ' ? '_' : head->comm.ptr[i]));
	if (!c->o->has_pid && !c->o->has_tid)
		return buf_error(&c->comm);
	buf_put_byte(&c->comm, '-');
	buf_put(&c->comm, head->pid.ptr, head->pid.len);
	if (c->o->has_tid) {
		buf_put_byte(&c->comm, '/');
		buf_put(&c->comm, head->tid.ptr, head->tid.len);
	}
	return buf_error(&c->comm);
}

/* A frame with the functions that are inlined in it: "outer->inner". */
static int add_frame(struct collapser *c, const struct collapse_frame *frame)
{
	struct collapse_style style = {
		.is_java = c->comm.len >= 4 && memcmp(c->comm.data, "java", 4) == 0,
		.marks_kernel = c->o->marks_kernel,
		.marks_jit = c->o->marks_jit,
		.has_addresses = c->o->has_addresses,
		.sources = c->o->has_sources ? &c->text : NULL,
	};
	size_t *start = rows_add(&c->starts, sizeof *start);

	if (!start)
		return -ENOMEM;
	*start = c->frames.len;
	collapse_put_frame(frame, &style, &c->frames);
	return buf_error(&c->frames);
}

static int read_line(struct collapser *c, struct str line)
{
	struct collapse_head head;
	struct collapse_frame frame;

	if (line.len && *line.ptr == '#')
		return 0;
	if (!line.len)
		return end_sample(c);
	if (collapse_parse_head(line, &head))
		return begin_sample(c, &head);
	if (collapse_parse_frame(line, &frame)) {
		if (c->has_sample && !(frame.symbol.len && *frame.symbol.ptr == '('))
			return add_frame(c, &frame);
	} else if (!c->report->unknown_lines++) {
		c->report->first_unknown = c->text.number;
	}
	return 0;
}

static int read_lines(struct collapser *c)
{
	struct str line;
	int rc = 0;

	while (rc == 0 && collapse_take_line(&c->text, &line))
		rc = read_line(c, line);
	c->report->is_cut = c->has_sample;
	return rc;
}

int stackcollapse(const void *text, size_t len, const struct stackcollapse_opts *o,
		  struct stackcollapse_report *ret, struct buf *out, struct err *e)
{
	CLEANUP(collapser_fini)
	struct collapser c = { .o = o, .report = ret };
	int rc;

	*ret = (struct stackcollapse_report){ 0 };
	if (len)
		c.text = (struct collapse_text){ .at = text, .end = (const char *)text + len };
	if (o->event && *o->event)
		ret->event = c.event = (struct str){ o->event, strlen(o->event) };
	rc = read_lines(&c);
	if (rc == 0)
		rc = collapsed_write(&c.stacks, out);
	ret->is_saturated |= c.stacks.is_saturated;
	return rc < 0 ? err_nomem(e) : 0;
}

/* SPDX-License-Identifier: MIT */
#include "view/tables/syscalls_slowest.h"

static void put_head(struct emit *out, const struct syscalls *s, const struct syscalls_table *t)
{
	if (!t->target)
		return;
	emit_head_str(out, "target", t->target);
	emit_head_str(out, "method", t->method);
	emit_head_value(out, "duration_ns", s->duration_ns, "nanoseconds");
	emit_head_int(out, "threads", (int64_t)s->threads);
	if (out->opts.format != EMIT_TABLE || s->lost)
		emit_head_int(out, "lost", (int64_t)s->lost);
}

static void put_call(struct emit *out, const struct syscalls *s, const struct syscalls_slow *c)
{
	emit_value(out, "took_ns", c->took_ns, "nanoseconds");
	emit_value(out, "start_ns", c->start_ns - s->start_ns, "nanoseconds");
	emit_hide(out);
	emit_int(out, "pid", c->pid);
	emit_int(out, "tid", c->tid);
	emit_name(out, "comm", "", syscalls_text(s, c->comm), "");
	emit_text(out, "call", syscalls_text(s, c->call));
	emit_hide(out);
	emit_optional(out, "errno", syscalls_text(s, c->error));
	emit_name(out, "result", "", syscalls_text(s, c->result), "");
	emit_name(out, "args", "", syscalls_text(s, c->args), "");
}

int syscalls_put_slowest(const struct emit_opts *o, const struct syscalls *s,
			 const struct syscalls_table *t, struct buf *to, struct err *e)
{
	CLEANUP(emit_fini) struct emit out = { 0 };
	const struct syscalls_slow nothing = { .start_ns = s->start_ns };
	size_t limit = t->limit && t->limit < s->slow_count ? t->limit : s->slow_count;

	emit_begin(&out, o, to);
	put_head(&out, s, t);
	emit_columns(&out);
	put_call(&out, s, &nothing);
	for (size_t i = 0; i < limit; i++) {
		emit_row(&out);
		put_call(&out, s, &s->slowest[i]);
	}
	return emit_end(&out) < 0 ? err_nomem(e) : 0;
}

/* SPDX-License-Identifier: MIT */
#include "view/tables/syscalls_trace.h"

#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "view/tables/syscalls_stack.h"

static void put_csv_text(struct buf *out, const char *text)
{
	CLEANUP(buf_fini) struct buf clean = { 0 };

	utf8_put_visible(&clean, text, strlen(text));
	quote_csv(out, clean.data, clean.len);
}

void syscalls_trace_head(struct syscalls_trace *t)
{
	if (t->format == EMIT_CSV)
		buf_printf(&t->lines,
			   "start_ns,duration_ns,pid,tid,comm,call,args,ret,errno,result%s\n",
			   t->stacks ? ",stack" : "");
}

/* Negative: a call that began before the first one that ended. */
static void put_seconds(struct buf *out, int64_t ns)
{
	uint64_t size_ns = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	buf_printf(out, "%s%llu.%09llu", ns < 0 ? "-" : "", (unsigned long long)size_ns / NS_PER_S,
		   (unsigned long long)size_ns % NS_PER_S);
}

static void put_words(const struct syscalls_trace *t, const struct syscall_decoded *c,
		      struct buf *out)
{
	put_seconds(out, c->start_ns >= 0 ? c->start_ns - t->start_ns : 0);
	buf_printf(out, " %u ", c->tid);
	utf8_put_visible(out, c->comm, strlen(c->comm));
	if (c->event) {
		const char *mark = strcmp(c->event, "signal") == 0 ? "---" : "+++";

		buf_printf(out, " %s ", mark);
		utf8_put_visible(out, c->result, strlen(c->result));
		buf_printf(out, " %s", mark);
		return;
	}
	buf_printf(out, " %s(", c->call);
	utf8_put_visible(out, c->args, strlen(c->args));
	buf_put_str(out, ") = ");
	utf8_put_visible(out, c->result, strlen(c->result));
	if (c->start_ns >= 0 && c->end_ns >= 0) {
		buf_put_str(out, " <");
		put_seconds(out, c->end_ns - c->start_ns);
		buf_put_byte(out, '>');
	}
}

static void put_number(struct buf *out, bool has_value, int64_t value, const char *none)
{
	if (has_value)
		buf_put_int(out, value);
	else
		buf_put_str(out, none);
}

static void put_json_call(struct buf *out, const struct syscall_decoded *c)
{
	buf_printf(out, ", \"call\": \"%s\", \"args\": ", c->call);
	quote_json(out, c->args, strlen(c->args));
}

static void put_json(const struct syscalls_trace *t, const struct syscall_decoded *c,
		     struct buf *out)
{
	bool is_whole = c->start_ns >= 0 && c->end_ns >= 0;

	buf_put_str(out, "{\"start_ns\": ");
	put_number(out, c->start_ns >= 0, c->start_ns - t->start_ns, "null");
	buf_put_str(out, ", \"duration_ns\": ");
	put_number(out, is_whole, c->end_ns - c->start_ns, "null");
	buf_printf(out, ", \"pid\": %u, \"tid\": %u, \"comm\": ", c->pid, c->tid);
	quote_json(out, c->comm, strlen(c->comm));
	if (c->event)
		buf_printf(out, ", \"event\": \"%s\", \"call\": null, \"args\": null", c->event);
	else
		put_json_call(out, c);
	buf_put_str(out, ", \"ret\": ");
	put_number(out, c->has_end, c->ret, "null");
	buf_printf(out, c->error ? ", \"errno\": \"%s\"" : ", \"errno\": null", c->error);
	buf_put_str(out, ", \"result\": ");
	quote_json(out, c->result, strlen(c->result));
}

static void put_csv(const struct syscalls_trace *t, const struct syscall_decoded *c,
		    struct buf *out)
{
	put_number(out, c->start_ns >= 0, c->start_ns - t->start_ns, "");
	buf_put_byte(out, ',');
	put_number(out, c->start_ns >= 0 && c->end_ns >= 0, c->end_ns - c->start_ns, "");
	buf_printf(out, ",%u,%u,", c->pid, c->tid);
	put_csv_text(out, c->comm);
	buf_printf(out, ",%s,", c->event ? "" : c->call);
	put_csv_text(out, c->event ? "" : c->args);
	buf_put_byte(out, ',');
	put_number(out, c->has_end, c->ret, "");
	buf_printf(out, ",%s,", c->error ? c->error : "");
	put_csv_text(out, c->result);
}

/* What ends the line of a call. */
static void put_stack(struct syscalls_trace *t, uint32_t stack)
{
	static const char *const before[] = {
		[EMIT_TABLE] = "\n", [EMIT_CSV] = ",", [EMIT_JSON] = ", \"stack\": "
	};
	static const char *const after[] = {
		[EMIT_TABLE] = "", [EMIT_CSV] = "\n", [EMIT_JSON] = "}\n"
	};

	buf_put_str(&t->lines, before[t->format]);
	syscalls_stack_put(&t->lines, t->stacks, stack, t->format);
	buf_put_str(&t->lines, after[t->format]);
}

void syscalls_trace_release(struct syscalls_trace *t)
{
	const struct syscalls_held *all = t->stops.data;
	size_t from = 0;

	for (size_t i = 0; i < t->stops.count; i++) {
		buf_put(&t->lines, t->held.data + from, all[i].end - from);
		put_stack(t, all[i].stack);
		from = all[i].end;
	}
	t->lines.bad |= t->held.bad;
	t->stops.count = 0;
	buf_clear(&t->held);
}

static void hold(struct syscalls_trace *t, uint32_t stack)
{
	struct syscalls_held *to = t->held.bad ? NULL : rows_add(&t->stops, sizeof *to);

	if (to)
		*to = (struct syscalls_held){ t->held.len, stack };
	else
		t->held.bad = true;
}

void syscalls_trace_fini(struct syscalls_trace *t)
{
	buf_fini(&t->lines);
	buf_fini(&t->held);
	rows_fini(&t->stops);
}

void syscalls_trace_put(struct syscalls_trace *t, const struct syscall_decoded *call)
{
	struct buf *out = t->stacks ? &t->held : &t->lines;

	if (!t->start_ns)
		t->start_ns = call->start_ns >= 0 ? call->start_ns : call->end_ns;
	switch (t->format) {
	case EMIT_TABLE:
		put_words(t, call, out);
		break;
	case EMIT_CSV:
		put_csv(t, call, out);
		break;
	case EMIT_JSON:
		put_json(t, call, out);
		break;
	}
	if (t->stacks)
		hold(t, call->stack);
	else
		buf_put_str(out, t->format == EMIT_JSON ? "}\n" : "\n");
}

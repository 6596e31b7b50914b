/* SPDX-License-Identifier: MIT */
#include "cli/syscalls_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/output/outfile.h"
#include "base/quote.h"
#include "base/utf8.h"

static void put_csv_text(struct buf *out, const char *text)
{
	CLEANUP(buf_fini) struct buf clean = { 0 };

	utf8_put_visible(&clean, text, strlen(text));
	quote_csv(out, clean.data, clean.len);
}

int syscalls_trace_open(struct syscalls_trace *t, enum emit_format format, const char *path,
			bool has_command, struct err *e)
{
	*t = (struct syscalls_trace){ .format = format,
				      .fd = has_command ? STDERR_FILENO : STDOUT_FILENO };
	if (path && strcmp(path, "-") == 0) {
		t->fd = STDOUT_FILENO;
	} else if (path) {
		int rc = outfile_open_stream(path, &t->fd, e);

		if (rc < 0)
			return rc;
		t->owns_fd = true;
	}
	if (format == EMIT_CSV)
		buf_put_str(&t->lines,
			    "start_ns,duration_ns,pid,tid,comm,call,args,ret,errno,result\n");
	return 0;
}

static void put_seconds(struct buf *out, int64_t ns)
{
	buf_printf(out, "%lld.%09lld", (long long)(ns / NS_PER_S), (long long)(ns % NS_PER_S));
}

static void put_words(struct syscalls_trace *t, const struct syscall_decoded *c)
{
	struct buf *out = &t->lines;

	put_seconds(out, c->start_ns >= 0 ? c->start_ns - t->start_ns : 0);
	buf_printf(out, " %u ", c->tid);
	utf8_put_visible(out, c->comm, strlen(c->comm));
	buf_printf(out, " %s(", c->call);
	utf8_put_visible(out, c->args, strlen(c->args));
	buf_put_str(out, ") = ");
	utf8_put_visible(out, c->result, strlen(c->result));
	if (c->start_ns >= 0 && c->end_ns >= 0) {
		buf_put_str(out, " <");
		put_seconds(out, c->end_ns - c->start_ns);
		buf_put_byte(out, '>');
	}
	buf_put_byte(out, '\n');
}

static void put_number(struct buf *out, bool has_value, int64_t value, const char *none)
{
	if (has_value)
		buf_put_int(out, value);
	else
		buf_put_str(out, none);
}

static void put_json(struct syscalls_trace *t, const struct syscall_decoded *c)
{
	struct buf *out = &t->lines;
	bool is_whole = c->start_ns >= 0 && c->end_ns >= 0;

	buf_put_str(out, "{\"start_ns\": ");
	put_number(out, c->start_ns >= 0, c->start_ns - t->start_ns, "null");
	buf_put_str(out, ", \"duration_ns\": ");
	put_number(out, is_whole, c->end_ns - c->start_ns, "null");
	buf_printf(out, ", \"pid\": %u, \"tid\": %u, \"comm\": ", c->pid, c->tid);
	quote_json(out, c->comm, strlen(c->comm));
	buf_printf(out, ", \"call\": \"%s\", \"args\": ", c->call);
	quote_json(out, c->args, strlen(c->args));
	buf_put_str(out, ", \"ret\": ");
	put_number(out, c->has_end, c->ret, "null");
	buf_printf(out, c->error ? ", \"errno\": \"%s\"" : ", \"errno\": null", c->error);
	buf_put_str(out, ", \"result\": ");
	quote_json(out, c->result, strlen(c->result));
	buf_put_str(out, "}\n");
}

static void put_csv(struct syscalls_trace *t, const struct syscall_decoded *c)
{
	struct buf *out = &t->lines;

	put_number(out, c->start_ns >= 0, c->start_ns - t->start_ns, "");
	buf_put_byte(out, ',');
	put_number(out, c->start_ns >= 0 && c->end_ns >= 0, c->end_ns - c->start_ns, "");
	buf_printf(out, ",%u,%u,", c->pid, c->tid);
	put_csv_text(out, c->comm);
	buf_printf(out, ",%s,", c->call);
	put_csv_text(out, c->args);
	buf_put_byte(out, ',');
	put_number(out, c->has_end, c->ret, "");
	buf_printf(out, ",%s,", c->error ? c->error : "");
	put_csv_text(out, c->result);
	buf_put_byte(out, '\n');
}

static void flush(struct syscalls_trace *t)
{
	if (t->lines.len && !t->error)
		t->error = file_write_all(t->fd, t->lines.data, t->lines.len);
	if (!t->error)
		t->error = buf_error(&t->lines);
	buf_clear(&t->lines);
}

void syscalls_trace_put(void *context, const struct syscall_decoded *on_call)
{
	struct syscalls_trace *t = context;

	if (!t->start_ns)
		t->start_ns = on_call->start_ns >= 0 ? on_call->start_ns : on_call->end_ns;
	switch (t->format) {
	case EMIT_TABLE:
		put_words(t, on_call);
		break;
	case EMIT_CSV:
		put_csv(t, on_call);
		break;
	case EMIT_JSON:
		put_json(t, on_call);
		break;
	}
	flush(t);
}

int syscalls_trace_finish(struct syscalls_trace *t, struct err *e)
{
	int error;

	flush(t);
	error = t->error;
	syscalls_trace_close(t);
	return error < 0 ? err_set(e, error, "cannot write: %s", strerror(-error)) : 0;
}

void syscalls_trace_close(struct syscalls_trace *t)
{
	if (t->owns_fd)
		close(t->fd);
	t->owns_fd = false;
	buf_fini(&t->lines);
}

/* SPDX-License-Identifier: MIT */
/* What a trace has besides calls: signals and ends of threads. */
#include "syscalls/siginfo.h"
#include "syscalls/sink.h"

static bool is_reported(const struct syscall_opts *o)
{
	const struct syscall_selection *s = o->selection;

	return o->on_call && !o->on_path_count && !(s && (s->is_failed || s->longer_ns));
}

/* Of f->result. */
static void report(struct syscall_sink *f, const struct syscall_thread *t, const char *event,
		   int64_t ns)
{
	const struct syscall_decoded decoded = {
		.pid = t->pid,
		.tid = t->tid,
		.comm = t->comm,
		.event = event,
		.result = f->result.data,
		.start_ns = ns,
		.end_ns = -1,
	};

	if (buf_error(&f->result) < 0)
		f->tally->bad = true;
	else
		f->opts->on_call(f->opts->context, &decoded);
}

void syscall_sink_signal(struct syscall_sink *f, uint32_t tid, const siginfo_t *info, int64_t ns)
{
	const struct syscall_thread *t = is_reported(f->opts) ? syscall_sink_thread(f, tid) : NULL;

	if (!t)
		return;
	buf_clear(&f->result);
	syscall_put_siginfo(info, &f->result);
	report(f, t, "signal", ns);
}

void syscall_sink_status(struct syscall_sink *f, uint32_t tid, int status, int64_t ns)
{
	const struct syscall_thread *t = is_reported(f->opts) ? syscall_sink_thread(f, tid) : NULL;

	if (!t)
		return;
	buf_clear(&f->result);
	syscall_put_exit(status, &f->result);
	report(f, t, "exit", ns);
}

void syscall_sink_superseded(struct syscall_sink *f, const struct syscall_thread *t, uint32_t tid,
			     int64_t ns)
{
	if (!is_reported(f->opts))
		return;
	buf_clear(&f->result);
	buf_printf(&f->result, "superseded by execve in pid %u", tid);
	report(f, t, "superseded", ns);
}

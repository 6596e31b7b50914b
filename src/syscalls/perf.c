/* SPDX-License-Identifier: MIT */
/*
 * The perf method: each entry and exit of a call is a record, read when a part of a ring is full.
 * Records have arguments and results, but no memory of the program: no paths. Descriptors are not
 * named either: when a record is read, the descriptor may refer to another file already.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "sample/recording.h"
#include "symbol/symbolize.h"
#include "syscalls/backends.h"
#include "syscalls/names.h"
#include "syscalls/sink.h"
#include "target/proc.h"

/* The records' raw data. Source: events/raw_syscalls/.../format of tracefs. */
#define TYPE_AT 0   /* two bytes: the tracepoint */
#define THREAD_AT 4 /* four bytes, in the first pid namespace */
#define NUMBER_AT 8
#define REST_AT 16   /* args[6], or the result */
#define RAW_BYTES 24 /* at least */

static const char enter_name[] = "raw_syscalls:sys_enter", exit_name[] = "raw_syscalls:sys_exit";

/* The call that a thread is in, if any. */
struct inflight {
	uint32_t tid; /* 0: it ended; the slot may be reused */
	uint32_t pid;
	struct syscall call;
	bool is_in_call;
	bool is_new; /* created during recording: its first exit is of the clone that created it */
};

struct perf_tracer {
	const struct syscall_opts *opts;
	struct syscall_sink sink;
	struct event events[2]; /* entry, exit */
	uint32_t own_pid;
	bool is_raw_only;    /* the thread is read from the raw data, the cheapest samples */
	struct rows threads; /* struct inflight */
	uint32_t last;       /* index in threads of the last sample */
	struct rows unused;  /* uint32_t: indices of ended threads */
	struct map by_tid;
};

static struct inflight *inflight_at(struct perf_tracer *l, uint32_t index)
{
	return (struct inflight *)l->threads.data + index;
}

static bool make_slot(struct perf_tracer *l, uint32_t *ret)
{
	if (l->unused.count) {
		*ret = ((uint32_t *)l->unused.data)[--l->unused.count];
		return true;
	}
	*ret = (uint32_t)l->threads.count;
	return rows_add(&l->threads, sizeof(struct inflight));
}

/* pid 0: read from /proc when the thread is new. */
static struct inflight *doing_of(struct perf_tracer *l, uint32_t pid, uint32_t tid)
{
	uint32_t *at = map_at(&l->by_tid, tid);
	uint32_t slot;

	if (at && *at != MAP_NONE)
		return inflight_at(l, *at);
	if (!at || !make_slot(l, &slot)) {
		l->sink.tally->bad = true;
		return NULL;
	}
	*at = slot;
	*inflight_at(l, slot) = (struct inflight){
		.tid = tid,
		.pid = pid ? pid : (uint32_t)proc_status_number((pid_t)tid, "Tgid", 10, tid)
	};
	return inflight_at(l, slot);
}

/* The thread of a sample. Most threads make many calls in a row. */
static struct inflight *doing_in(struct perf_tracer *l, const struct record *r)
{
	uint32_t tid = r->tid;
	struct inflight *d;

	if (l->is_raw_only)
		memcpy(&tid, r->sample.raw.bytes + THREAD_AT, sizeof tid);
	if (l->last < l->threads.count && inflight_at(l, l->last)->tid == tid && tid)
		return inflight_at(l, l->last);
	d = doing_of(l, r->pid, tid);
	if (d)
		l->last = (uint32_t)(d - inflight_at(l, 0));
	return d;
}

static void cut_call(struct perf_tracer *l, struct inflight *d)
{
	if (d->is_in_call)
		syscall_sink_call(&l->sink, &d->call);
	d->is_in_call = false;
}

static uint64_t word_at(const struct record_bytes *raw, size_t at)
{
	uint64_t v = 0;

	if (at + sizeof v <= raw->len)
		memcpy(&v, raw->bytes + at, sizeof v);
	return v;
}

static uint32_t number_of(const struct record *r)
{
	uint32_t nr = (uint32_t)word_at(&r->sample.raw, NUMBER_AT);

	return r->sample.user.abi == PERF_SAMPLE_REGS_ABI_32 && nr != SYSCALL_NO_NUMBER
		       ? nr | SYSCALL_32BIT
		       : nr;
}

/* Is this the exit of another call? An exec may begin as 64-bit code and end as 32-bit code. */
static bool is_other(uint32_t begin, uint32_t end)
{
	return begin != end && end != SYSCALL_NO_NUMBER && ((begin ^ end) & SYSCALL_32BIT) == 0;
}

static void take_begin(struct perf_tracer *l, struct inflight *d, const struct record *r)
{
	const struct record_bytes *raw = &r->sample.raw;

	if (d->call.has_start) /* else it was in flight when recording began */
		cut_call(l, d);
	d->is_new = false;
	d->is_in_call = true;
	/* Field by field: clearing its unused memory parts would take the longest. */
	d->call.pid = d->pid;
	d->call.tid = d->tid;
	d->call.nr = number_of(r);
	d->call.has_start = true;
	d->call.has_end = false;
	d->call.start_ns = (int64_t)r->time;
	if (raw->len >= REST_AT + sizeof d->call.args)
		memcpy(d->call.args, raw->bytes + REST_AT, sizeof d->call.args);
}

static void take_end(struct perf_tracer *l, struct inflight *d, const struct record *r)
{
	const struct record_bytes *raw = &r->sample.raw;
	uint32_t nr = number_of(r);

	if (d->is_in_call && is_other(d->call.nr, nr))
		cut_call(l, d); /* the exit before and this entry were lost */
	if (!d->is_in_call)
		d->call = (struct syscall){ .pid = d->pid, .tid = d->tid, .nr = nr };
	d->is_in_call = false;
	d->call.has_end = true;
	d->call.end_ns = (int64_t)r->time;
	d->call.ret = (int64_t)word_at(raw, REST_AT);
	if (!d->is_new)
		syscall_sink_call(&l->sink, &d->call);
	d->is_new = false;
}

static void take_fork(struct perf_tracer *l, const struct record *r)
{
	const struct record_task *t = &r->task;
	struct inflight *d = doing_of(l, t->pid, t->tid);

	if (!d)
		return;
	*d = (struct inflight){ .tid = t->tid, .pid = t->pid, .is_new = true };
	syscall_sink_add_thread(&l->sink, t->pid, t->tid, t->ptid, (int64_t)r->time);
}

static void take_exit(struct perf_tracer *l, const struct record *r)
{
	uint32_t slot = map_get(&l->by_tid, r->task.tid);
	uint32_t *unused;

	if (slot != MAP_NONE) {
		cut_call(l, inflight_at(l, slot));
		inflight_at(l, slot)->tid = 0;
		unused = rows_add(&l->unused, sizeof *unused);
		if (!unused || map_put(&l->by_tid, r->task.tid, MAP_NONE) < 0)
			l->sink.tally->bad = true;
		if (unused)
			*unused = slot;
	}
	syscall_sink_exit(&l->sink, r->task.tid, (int64_t)r->time);
}

/* The thread that called exec takes the tid of the first thread of its process. */
static void move_exec(struct perf_tracer *l, uint32_t pid)
{
	for (uint32_t i = 0; i < l->threads.count; i++) {
		struct inflight *d = inflight_at(l, i), *first;

		if (!d->tid || d->tid == pid || !d->is_in_call || d->call.pid != pid)
			continue;
		d->is_in_call = false;
		first = doing_of(l, pid, pid);
		d = inflight_at(l, i); /* the array may have moved */
		if (!first)
			return;
		first->pid = pid;
		first->call = d->call;
		first->call.tid = pid;
		first->is_in_call = true;
	}
}

static void take_comm(struct perf_tracer *l, const struct record *r)
{
	const struct record_comm *c = &r->comm;

	if (r->misc & PERF_RECORD_MISC_COMM_EXEC) {
		syscall_sink_add_thread(&l->sink, c->pid, c->tid, 0, (int64_t)r->time);
		move_exec(l, c->pid);
		syscall_sink_exec(&l->sink, c->pid, c->tid, (int64_t)r->time);
	}
	syscall_sink_set_comm(&l->sink, c->tid, (const char *)c->name.bytes, c->name.len);
}

/* Is it an entry? */
static bool take_sample(struct perf_tracer *l, const struct record *r)
{
	struct inflight *d = r->sample.raw.len < RAW_BYTES ? NULL : doing_in(l, r);
	uint16_t type;

	if (!d || d->pid == l->own_pid)
		return false;
	memcpy(&type, r->sample.raw.bytes + TYPE_AT, sizeof type);
	if (type == l->events[0].config)
		take_begin(l, d, r);
	else
		take_end(l, d, r);
	return type == l->events[0].config;
}

static bool is_in_profile(struct perf_tracer *l, const struct record *r)
{
	return l->opts->stacks && syscall_is_shown(l->opts, number_of(r), 0, -1);
}

/* For recording_opts.tap: entries go on to the profile when stacks are recorded. */
static bool take(void *context, const struct record *r, bool is_side)
{
	struct perf_tracer *l = context;

	switch (r->type) {
	case PERF_RECORD_FORK:
		take_fork(l, r);
		break;
	case PERF_RECORD_EXIT:
		take_exit(l, r);
		break;
	case PERF_RECORD_COMM:
		take_comm(l, r);
		break;
	case PERF_RECORD_SAMPLE:
		return take_sample(l, r) && is_in_profile(l, r);
	default:
		return true;
	}
	return is_side;
}

/* The leaf frame is the name of the call, not the kernel's entry code. */
static uint32_t name_of(void *context, const struct record *r)
{
	struct perf_tracer *l = context;
	const char *name =
		syscalls_text(l->sink.tally, syscall_sink_call_name(&l->sink, number_of(r)));

	return profile_name_location(l->opts->stacks, name, strlen(name));
}

static void listener_fini(struct perf_tracer *l)
{
	rows_fini(&l->threads);
	rows_fini(&l->unused);
	map_fini(&l->by_tid);
	syscall_sink_fini(&l->sink);
}

static int find_events(struct event events[2], struct err *e)
{
	const struct event_roots roots = { 0 };
	int rc = event_parse(enter_name, &roots, &events[0], e);

	if (rc == 0)
		rc = event_parse(exit_name, &roots, &events[1], e);
	events[0].sample_type = events[1].sample_type = "calls";
	return rc;
}

static void cut_all(struct perf_tracer *l)
{
	for (uint32_t i = 0; i < l->threads.count; i++)
		if (inflight_at(l, i)->tid)
			cut_call(l, inflight_at(l, i));
}

/* The call that a thread is in when recording begins: "NUMBER ARGS...", or "running". */
static void find_call(struct perf_tracer *l, uint32_t pid, uint32_t tid)
{
	struct inflight *d = doing_of(l, pid, tid);
	char path[64], text[256];

	snprintf(path, sizeof path, "/proc/%u/task/%u/syscall", pid, tid);
	if (!d || !file_read_start(path, text, sizeof text) || !isdigit((unsigned char)text[0]))
		return;
	d->is_in_call = true;
	d->call =
		(struct syscall){ .pid = pid, .tid = tid, .nr = (uint32_t)strtoul(text, NULL, 10) };
}

/* For threads that may stay in one call for the whole recording. Kernel threads make none. */
static int meet_threads(struct perf_tracer *l, uint32_t pid, int64_t now)
{
	CLEANUP(proc_close) DIR *dir = NULL;
	char link[64], target[1];
	uint32_t tid;

	snprintf(link, sizeof link, "/proc/%u/exe", pid);
	if (pid == l->own_pid || readlink(link, target, sizeof target) < 0)
		return 0;
	if (proc_open_threads("/proc", pid, &dir) < 0)
		return -ENOMEM;
	while (proc_next(dir, &tid)) {
		syscall_sink_add_thread(&l->sink, pid, tid, 0, now);
		find_call(l, pid, tid);
	}
	return 0;
}

static int meet_running(struct perf_tracer *l)
{
	const struct syscall_opts *o = l->opts;
	CLEANUP(proc_close) DIR *dir = o->is_all ? opendir("/proc") : NULL;
	int64_t now = clock_mono_ns();
	uint32_t pid;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < o->pid_count; i++)
		rc = meet_threads(l, (uint32_t)o->pids[i], now);
	while (rc == 0 && proc_next(dir, &pid))
		rc = meet_threads(l, pid, now);
	return rc;
}

static int name_stacks(struct profile *p, struct recording *c, struct err *e)
{
	int rc = profile_check(p, e);

	return rc < 0 ? rc
		      : profile_symbolize(
				p, &(struct symbolize_opts){ .files = recording_files(c) }, e);
}

static int listen(struct perf_tracer *l, struct profile *p, struct syscall_result *ret,
		  struct err *e)
{
	const struct syscall_opts *o = l->opts;
	struct recording_opts opts = {
		.events = { l->events[0], l->events[1] },
		.event_count = 2,
		.period = 1,
		.stack = o->stacks ? STACK_DWARF : STACK_NONE,
		.stack_bytes = o->stacks ? SYSCALL_STACK_BYTES : 0,
		.is_user_only = false,
		.argv = o->argv,
		.pids = o->pids,
		.pid_count = o->pid_count,
		.is_all = o->is_all,
		.owns_stdout = o->owns_stdout,
		.duration_ns = o->duration_ns,
		.is_raw_only = l->is_raw_only,
		.tap = take,
		.tap_context = l,
		.leaf = o->stacks ? name_of : NULL,
	};
	struct recording_result result;
	struct recording *c;
	int rc = recording_new(&opts, p, &c, e);

	if (rc < 0)
		return rc;
	if (meet_running(l) < 0)
		rc = err_nomem(e);
	if (rc == 0)
		rc = recording_run(c, &result, e);
	ret->is_no_exec = rc < 0 && recording_exec_error(c);
	if (rc == 0 && o->stacks)
		rc = name_stacks(o->stacks, c, e);
	if (rc == 0) {
		ret->status = result.status;
		o->tally->lost = result.counts.lost;
		cut_all(l);
		syscall_sink_end(&l->sink, l->sink.start_ns + result.duration_ns);
	}
	recording_free(c);
	return rc;
}

/*
 * The tracepoints, open. The kernel makes one ready for use, and unready, when the first event of
 * it is opened and the last is closed; both take longer than all else that is to be made ready.
 */
struct ready {
	struct event events[2];
	int fds[2];
};

static void ready_free(struct ready *r)
{
	for (size_t i = 0; i < ARRAY_LEN(r->fds); i++)
		if (r->fds[i] >= 0)
			close(r->fds[i]);
	free(r);
}

static int ready_open(struct ready *r, struct err *e)
{
	const struct attr_opts shape = { .period = 1, .stack = STACK_NONE };
	int rc = find_events(r->events, e);

	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(r->fds); i++) {
		struct perf_event_attr attr = attr_sampling(&r->events[i], &shape);

		r->fds[i] = attr_open(&attr, 0, -1);
		if (r->fds[i] < 0)
			rc = attr_explain(r->fds[i], r->events[i].name, 0, e);
	}
	return rc;
}

static int run(void *self, const struct syscall_opts *o, struct syscall_result *ret, struct err *e)
{
	struct ready *ready = self;
	struct profile *own = o->stacks ? NULL : profile_new(), *p = own ? own : o->stacks;
	struct perf_tracer l = { .opts = o,
				 .events = { ready->events[0], ready->events[1] },
				 .own_pid = (uint32_t)getpid(),
				 .is_raw_only = !o->stacks && proc_has_kernel_pids() };
	int rc;

	syscall_sink_init(&l.sink, o, clock_mono_ns());
	syscall_sink_skip_files(&l.sink);
	if (o->on_call)
		log_msg(LOG_WARN, "syscalls",
			"perf sees no texts and no paths: addresses stand for them");
	rc = p ? listen(&l, p, ret, e) : err_nomem(e);
	if (rc == 0 && syscall_sink_error(&l.sink) < 0)
		rc = err_nomem(e);
	listener_fini(&l);
	profile_free(own);
	ready_free(ready);
	return rc;
}

static int open_method(const struct syscall_opts *o, void **ret_self, struct err *e)
{
	struct ready *r;
	int rc;

	if (o->tally->by == SYSCALLS_BY_PATH || o->tally->by == SYSCALLS_BY_FILE ||
	    o->on_path_count)
		return err_set(e, -ENOTSUP, "its records have no paths; bpf and ptrace read them");
	if (o->on_call && o->method == SYSCALL_AUTO && !o->is_all)
		return err_set(e, -ENOTSUP, "its records have no texts");
	if (o->traces_stacks)
		return err_set(e, -ENOTSUP, "its stacks are known after the calls are printed");
	r = calloc(1, sizeof *r);
	if (!r)
		return err_nomem(e);
	r->fds[0] = r->fds[1] = -1;
	rc = ready_open(r, e);
	if (rc < 0)
		ready_free(r);
	else
		*ret_self = r;
	return rc;
}

const struct syscall_backend syscall_perf = { SYSCALL_PERF, open_method, run };

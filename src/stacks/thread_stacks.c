/* SPDX-License-Identifier: MIT */
#include "stacks/thread_stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/pages.h"
#include "base/storage/replies.h"
#include "perf/ingest.h"
#include "sample/python/python.h"
#include "sample/synthesize.h"
#include "stacks/capture.h"
#include "stacks/reason.h"
#include "stacks/thread_state.h"
#include "symbol/symbolize.h"
#include "target/proc.h"

#define PROC "/proc"
#define MEMORY_MS 2000 /* that a process may take until its mappings can be read */
#define MAPS_PART 65536
#define PYTHON_NS (10 * NS_PER_S) /* to look for CPython in the files of a process */

/* What is being made. */
struct taking {
	const struct thread_stacks_opts *opts;
	struct thread_stacks *out;
	struct strtab *strings; /* of names */
	struct ingest *ingest;
	struct python *python;
	struct capturer capturer;
	struct call_names names;
	struct thread_state state;
	struct buf reason;
	uint32_t leaf;      /* location: the reason of the sample that is passed on */
	struct err refused; /* why the first process without any stack has none */
	size_t stack_count; /* threads with a stack */
};

/* The process whose threads are read. */
struct subject {
	uint32_t pid;
	bool is_kernel;
	bool has_memory; /* reading it does not block */
	size_t stack_count;
	struct err missing; /* why the first thread without a stack has none */
};

static struct thread_stack *thread_at(const struct thread_stacks *s, size_t i)
{
	return (struct thread_stack *)s->threads.data + i;
}

static void show_progress(const struct taking *t, uint32_t pid)
{
	if (t->opts->progress)
		t->opts->progress(t->opts->context, pid);
}

static uint32_t leaf_of(void *taking, const struct record *r)
{
	const struct taking *t = taking;

	(void)r;
	return t->leaf;
}

/* In a process that can be left behind: 0 when nothing blocks a reader of the memory. */
static unsigned char read_maps(const void *pid)
{
	static const char *const names[] = { "maps", "syscall" };
	static char part[MAPS_PART];
	char path[PROC_PATH];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		int fd;

		snprintf(path, sizeof path, PROC "/%u/%s", *(const uint32_t *)pid, names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		while (fd >= 0 && read(fd, part, sizeof part) > 0)
			;
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

/* Is the thread to be stopped? One that hangs in the kernel cannot be; one that is traced or has
 * ended need not be. */
static bool can_stop(const struct subject *s, const struct thread_state *state)
{
	return s->has_memory && !s->is_kernel && !strchr("DtZXI", state->stat.state);
}

/* The registers and the stack, one way or another. */
static int read_thread(struct taking *t, struct subject *s, uint32_t tid, struct capture *ret)
{
	const struct thread_state *state = &t->state;
	int rc = 0;

	if (can_stop(s, state))
		rc = capture_stopped(&t->capturer, s->pid, tid, state->wchan, ret);
	else if (strchr("DI", state->stat.state))
		err_set(&ret->missing, -EBUSY, "it hangs in the kernel and cannot be stopped");
	if (rc < 0 || ret->mask || s->is_kernel || !s->has_memory ||
	    strchr("ZX", state->stat.state))
		return rc;
	return capture_waiting(&t->capturer, s->pid, tid, state->wchan, ret);
}

static void add_sample(struct taking *t, const struct subject *s, uint32_t tid,
		       const struct capture *c, struct record *ret)
{
	*ret = (struct record){ .type = PERF_RECORD_SAMPLE,
				.misc = PERF_RECORD_MISC_USER,
				.pid = s->pid,
				.tid = tid,
				.time = c->time_ns };
	ret->sample.period = 1;
	if (!c->mask || !c->stack_len)
		return;
	ret->sample.ip = c->call.pc;
	ret->sample.user.abi = PERF_SAMPLE_REGS_ABI_64;
	ret->sample.user.mask = c->mask;
	ret->sample.user.values = (struct record_words){ (const unsigned char *)c->regs,
							 (size_t)__builtin_popcountll(c->mask) };
	ret->sample.stack = (struct record_bytes){ t->capturer.stack, c->stack_len };
}

static uint32_t string_of(struct taking *t, const struct buf *text)
{
	return text->len ? profile_str_n(t->out->profile, text->data, text->len) : 0;
}

static int name_wait(struct taking *t, const struct subject *s, const struct capture *c,
		     struct err *e)
{
	bool has_words = c->call.is_in_call;

	buf_clear(&t->names.call);
	buf_clear(&t->names.object);
	buf_clear(&t->names.reason);
	if (has_words && call_names_put(&t->names, &c->call.call, s->has_memory, e) < 0)
		return e->code;
	buf_clear(&t->reason);
	reason_put(&t->reason, &t->state, &c->call, c->stopped_ns > 0,
		   t->names.reason.len ? t->names.reason.data : "");
	if (buf_error(&t->reason) < 0 || buf_error(&t->state.kernel) < 0)
		return err_nomem(e);
	t->leaf = profile_name_location(t->out->profile, t->reason.data, t->reason.len);
	return 0;
}

static int add_row(struct taking *t, const struct subject *s, uint32_t tid, const struct capture *c,
		   struct err *e)
{
	struct thread_stack *row = rows_add(&t->out->threads, sizeof *row);
	struct profile *p = t->out->profile;

	if (!row)
		return err_nomem(e);
	*row = (struct thread_stack){
		.pid = s->pid,
		.tid = tid,
		.comm = profile_str(p, t->state.stat.name),
		.call = string_of(t, &t->names.call),
		.object = string_of(t, &t->names.object),
		.wchan = profile_str(p, t->state.wchan),
		.kernel = string_of(t, &t->state.kernel),
		.missing = c->missing.code ? profile_str(p, c->missing.msg) : 0,
		.state = t->state.stat.state,
		.blocked_ns = t->state.blocked_ns,
		.stopped_ns = c->stopped_ns,
	};
	return 0;
}

/* A thread that ends meanwhile is left out. */
static int take_thread(struct taking *t, struct subject *s, uint32_t tid, struct err *e)
{
	struct capture c = { 0 };
	struct record r;
	int rc;

	if (!thread_state_read(&t->state, s->pid, tid))
		return 0;
	rc = read_thread(t, s, tid, &c);
	if (rc < 0)
		return rc == -ESRCH ? 0 : err_nomem(e);
	if (name_wait(t, s, &c, e) < 0 || add_row(t, s, tid, &c, e) < 0)
		return e->code;
	if (c.mask && c.stack_len)
		s->stack_count++;
	else if (!s->missing.code && !strchr("ZX", t->state.stat.state))
		s->missing = c.missing;
	add_sample(t, s, tid, &c, &r);
	if (ingest_record(t->ingest, &r, 0) < 0 || ingest_settle(t->ingest) < 0)
		return err_nomem(e);
	return 0;
}

static int take_threads(struct taking *t, struct subject *s, struct err *e)
{
	CLEANUP(rows_fini) struct rows tids = { 0 };
	char path[PROC_PATH];
	size_t before = t->out->threads.count;
	int rc;

	snprintf(path, sizeof path, PROC "/%u/task", s->pid);
	rc = proc_numbers(path, &tids) == -ENOMEM ? err_nomem(e) : 0;
	for (size_t i = 0; rc == 0 && i < tids.count; i++) {
		show_progress(t, s->pid);
		rc = take_thread(t, s, (uint32_t)((const int *)tids.data)[i], e);
	}
	t->out->process_count += t->out->threads.count > before;
	return rc;
}

/* Its mappings. When one of their files has CPython, they are shown again to what reads that. */
static int prepare(struct taking *t, const struct subject *s, struct err *e)
{
	struct synthesize_sink to = synthesize_to_ingest(t->ingest);
	int64_t end_ns = clock_mono_ns() + PYTHON_NS;
	int rc;

	if (!s->has_memory || s->is_kernel)
		return 0;
	rc = synthesize_process(&to, PROC, s->pid);
	while (rc == 0 && python_is_asking(t->python) && clock_mono_ns() < end_ns)
		rc = python_settle(t->python);
	if (rc == 0 && python_counts(t->python).is_seen)
		rc = synthesize_process(&to, PROC, s->pid);
	return rc < 0 ? err_nomem(e) : 0;
}

static void report_missing(struct taking *t, const struct subject *s, const char *comm)
{
	if (!s->has_memory)
		log_msg(LOG_WARN, "stacks",
			"process %u (%s): its memory cannot be read now: only its states are known",
			s->pid, comm);
	else if (s->missing.code == -EPERM) /* names the process */
		log_msg(s->stack_count ? LOG_INFO : LOG_WARN, "stacks", "%s", s->missing.msg);
	else if (s->missing.code)
		log_msg(s->stack_count ? LOG_INFO : LOG_WARN, "stacks", "process %u (%s): %s",
			s->pid, comm, s->missing.msg);
	if (!s->stack_count && s->missing.code == -EPERM && !t->refused.code)
		t->refused = s->missing;
	t->stack_count += s->stack_count;
}

static int take_process(struct taking *t, pid_t pid, struct err *e)
{
	struct subject s = { .pid = (uint32_t)proc_status_number(pid, "Tgid", 10, (uint64_t)pid) };
	struct proc_stat stat;
	int rc;

	if (!proc_stat_read(&stat, (pid_t)s.pid)) {
		log_msg(LOG_WARN, "stacks", "process %d does not exist", (int)pid);
		return 0;
	}
	if (s.pid == (uint32_t)getpid()) {
		log_msg(LOG_WARN, "stacks", "process %d is this command", (int)pid);
		return 0;
	}
	s.is_kernel = stat.is_kernel;
	show_progress(t, s.pid);
	s.has_memory = s.is_kernel || replies_within(read_maps, &s.pid, -1, MEMORY_MS) == 0;
	rc = prepare(t, &s, e);
	if (rc == 0)
		rc = take_threads(t, &s, e);
	if (rc == 0)
		report_missing(t, &s, stat.comm);
	return rc;
}

static int take_all(struct taking *t, struct err *e)
{
	const pid_t *pids = t->opts->pids;
	size_t count = t->opts->count;
	CLEANUP(map_fini) struct map seen = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		uint32_t *known = map_at(&seen, (uint64_t)pids[i]);

		if (!known)
			return err_nomem(e);
		if (*known == MAP_NONE)
			rc = take_process(t, pids[i], e);
		*map_at(&seen, (uint64_t)pids[i]) = 1;
	}
	if (rc < 0)
		return rc;
	if (!t->out->threads.count)
		return err_set(e, -ESRCH, count == 1 ? "no such process" : "no such processes");
	if (!t->stack_count && t->refused.code)
		return err_set(e, -EPERM, "%s: run auger as root, or as its user", t->refused.msg);
	return 0;
}

/* The stack of each thread: the sample with its label. */
static int find_nodes(struct thread_stacks *s, struct err *e)
{
	CLEANUP(map_fini) struct map by_tid = { 0 };
	const struct profile *p = s->profile;

	for (size_t i = 0; i < s->threads.count; i++)
		if (map_put(&by_tid, thread_at(s, i)->tid, (uint32_t)i) < 0)
			return err_nomem(e);
	for (size_t i = 0; i < profile_sample_count(p); i++) {
		struct sample sample = profile_get_sample(p, i);
		const struct label *tid = profile_find_label(p, sample.labels, "tid");
		uint32_t row = tid ? map_get(&by_tid, (uint64_t)tid->num) : MAP_NONE;

		if (row != MAP_NONE)
			thread_at(s, row)->node = sample.node;
	}
	return 0;
}

static int name(struct taking *t, struct err *e)
{
	struct symbolize_opts o = { 0 };

	if (ingest_finish(t->ingest) < 0)
		return err_nomem(e);
	if (profile_check(t->out->profile, e) < 0)
		return e->code;
	o.files = dsos_files(ingest_dsos(t->ingest));
	if (!o.files)
		return err_nomem(e);
	return profile_symbolize(t->out->profile, &o, e) < 0 ? e->code : find_nodes(t->out, e);
}

static size_t file_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 256;
}

static int begin(struct taking *t, struct err *e)
{
	static const struct ingest_event event = { "threads", "count", 1 };
	const struct python_opts python = { .has_no_bpf = true };
	struct ingest_opts o = {
		.dsos = { .profile = t->out->profile, .proc = PROC, .fd_limit = file_limit() },
		.machine = user_stack_machine(),
		.leaf = leaf_of,
		.leaf_context = t,
	};

	if (!t->out->profile || !t->strings || !t->capturer.stack ||
	    strtab_intern(t->strings, "", 0) == STRTAB_NONE)
		return err_nomem(e);
	t->names.files.strings = t->strings;
	if (python_new(&python, &t->python, e) < 0)
		return e->code;
	t->capturer.python = t->python;
	python_use(t->python, t->out->profile);
	python_begin(t->python);
	o.interp = python_source(t->python);
	t->ingest = ingest_new(&o, &event, 1);
	return t->ingest ? 0 : err_nomem(e);
}

int thread_stacks_take(const struct thread_stacks_opts *o, struct thread_stacks *ret, struct err *e)
{
	struct thread_stacks s = { .profile = profile_new() };
	struct taking t = { .out = &s,
			    .opts = o,
			    .strings = strtab_new(),
			    .capturer.stack = pages_new(CAPTURE_STACK_BYTES) };
	int rc = begin(&t, e);

	if (rc == 0)
		rc = take_all(&t, e);
	capturer_fini(&t.capturer);
	if (rc == 0)
		rc = name(&t, e);
	ingest_free(t.ingest);
	python_free(t.python);
	call_names_fini(&t.names);
	strtab_free(t.strings);
	thread_state_fini(&t.state);
	buf_fini(&t.reason);
	pages_free(t.capturer.stack, CAPTURE_STACK_BYTES);
	if (rc < 0) {
		thread_stacks_fini(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

void thread_stacks_fini(struct thread_stacks *s)
{
	profile_free(s->profile);
	rows_fini(&s->threads);
}

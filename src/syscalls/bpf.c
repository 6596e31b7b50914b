/* SPDX-License-Identifier: MIT */
/*
 * The BPF method. bpf/syscalls.bpf.c sums calls in maps; for single calls, files and paths it
 * writes each call to a ring, with the memory that it refers to.
 */
#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syscalls.skel.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/syscalls.h"
#include "sample/bpf.h"
#include "syscalls/backends.h"
#include "syscalls/bpf_event.h"
#include "syscalls/bpf_sums.h"
#include "syscalls/names.h"
#include "syscalls/sink.h"
#include "target/proc.h"
#include "target/runloop.h"

#define TICK_NS INT64_C(100000000)
#define TRACE_TICK_NS INT64_C(10000000) /* calls are printed as they happen */
#define RING_BYTES (32u << 20)
#define INFO_MISSES 26 /* words before recursion_misses in struct bpf_prog_info; Linux 5.12 */

static_assert(CALLS_NUMBERS == SYSCALL_NAMES, "numbers");
static_assert(CALLS_32BIT == SYSCALL_32BIT, "numbers");
static_assert(CALLS_FETCHES == SYSCALL_FETCHES, "parts of memory");
static_assert(CALLS_FETCH_BYTES == SYSCALL_FETCH_BYTES, "parts of memory");
static_assert((int)CALLS_FETCH_STRING == (int)FETCH_STRING, "kinds");
static_assert((int)CALLS_FETCH_BY_NEXT == (int)FETCH_BY_NEXT, "kinds");
static_assert((int)CALLS_FETCH_BY_RET == (int)FETCH_BY_RET, "kinds");
static_assert((int)CALLS_FETCH_STRINGS == (int)FETCH_STRINGS, "kinds");
static_assert((int)CALLS_FETCH_COUNT == (int)FETCH_COUNT, "kinds");
static_assert((int)CALLS_FETCH_VECTORS == (int)FETCH_VECTORS, "kinds");
static_assert((int)CALLS_FETCH_MESSAGE == (int)FETCH_MESSAGE, "kinds");
static_assert(CALLS_STRING_BYTES == SYSCALL_STRING_BYTES, "strings");
static_assert(sizeof(struct calls_vector) == sizeof(struct syscall_iovec), "vectors");
static_assert(CALLS_MAX_ERROR == SYSCALL_MAX_ERROR, "errors");
static_assert(CALLS_COMM == SYSCALL_COMM_LEN, "names");

struct bpf_tracer {
	const struct syscall_opts *opts;
	struct syscall_result *result;
	struct syscall_sink sink;
	struct syscalls_bpf *bpf;
	struct ring_buffer *ring; /* NULL: sums only */
	struct runloop loop;
	enum calls_mode mode;
};

static enum calls_mode mode_of(const struct syscall_opts *o)
{
	if (o->selection && o->selection->longer_ns)
		return CALLS_EVENTS; /* sums do not have single calls */
	if (o->on_path_count)
		return CALLS_EVENTS;
	switch (o->tally->by) {
	case SYSCALLS_BY_THREAD:
	case SYSCALLS_BY_PROCESS:
		return CALLS_THREADS;
	case SYSCALLS_BY_FILE:
	case SYSCALLS_BY_PATH:
	case SYSCALLS_BY_FD:
		return CALLS_EVENTS;
	case SYSCALLS_BY_CALL:
	case SYSCALLS_BY_ERRNO:
	case SYSCALLS_BYS:
		break;
	}
	return o->on_call ? CALLS_EVENTS : CALLS_TOTALS;
}

static void take_signal(struct bpf_tracer *w, const struct calls_event *ev, size_t bytes)
{
	siginfo_t info = { 0 };

	if (bytes < CALLS_SIGINFO_BYTES)
		return;
	memcpy(&info, ev->memory.bytes, CALLS_SIGINFO_BYTES);
	syscall_sink_signal(&w->sink, ev->tid, &info, (int64_t)ev->end_ns);
}

static int take_record(void *context, void *data, size_t len)
{
	struct bpf_tracer *w = context;
	const struct calls_event *ev = data;
	size_t head = offsetof(struct calls_event, memory.bytes);
	struct syscall c;
	int64_t now;

	if (len < head)
		return 0;
	now = (int64_t)ev->end_ns;
	switch ((enum calls_record)ev->kind) {
	case CALLS_CALL:
		syscall_bpf_event_get(ev, len - head, &c);
		syscall_sink_call(&w->sink, &c);
		break;
	case CALLS_FORK:
		syscall_sink_add_thread(&w->sink, ev->pid, ev->tid, ev->nr, now);
		break;
	case CALLS_EXEC:
		syscall_sink_exec(&w->sink, ev->pid, ev->nr, now);
		break;
	case CALLS_EXIT:
		if (ev->nr)
			break;
		syscall_sink_status(&w->sink, ev->tid, (int)ev->ret, now);
		syscall_sink_exit(&w->sink, ev->tid, now);
		break;
	case CALLS_SIGNAL:
		take_signal(w, ev, len - head);
		break;
	}
	if (ev->kind == CALLS_FORK || ev->kind == CALLS_EXEC)
		syscall_sink_set_comm(&w->sink, ev->tid, ev->memory.bytes,
				      strnlen(ev->memory.bytes, CALLS_COMM));
	return 0;
}

/* What to read of a call: of all calls, or of the slowest, whose descriptors nobody follows. */
static struct calls_plan plan_of(const struct bpf_tracer *w, uint32_t nr)
{
	struct syscall_fetch fetches[SYSCALL_FETCHES] = { 0 };
	struct calls_plan plan = { .is_unwanted = !syscall_is_wanted(w->opts, nr) };
	bool is_slowest = w->mode != CALLS_EVENTS && w->opts->tally->wants_slowest;
	const char *signature = syscall_signature(nr);

	if (syscall_wants_paths(w->opts) || is_slowest)
		plan.count = (uint32_t)syscall_fetches(nr, syscall_wants_memory(w->opts), fetches);
	for (uint32_t i = 0; i < plan.count; i++)
		plan.fetches[i] = (struct calls_fetch){
			.arg = fetches[i].arg,
			.kind = fetches[i].kind,
			.unit = fetches[i].unit,
			.limit = fetches[i].limit,
		};
	plan.at_entry = plan.count && syscall_fetches_at_entry(nr);
	/* That of close(2) may be another file's at its exit. */
	for (uint8_t arg = 0; is_slowest && nr != SYS_close && signature[arg]; arg++)
		if ((signature[arg] == ARG_FD || signature[arg] == ARG_DIRFD) &&
		    plan.fd_count < CALLS_FDS)
			plan.fds[plan.fd_count++] = arg;
	return plan;
}

static int put_plans(const struct bpf_tracer *w, struct err *e)
{
	int fd = bpf_map__fd(w->bpf->maps.plans);

	for (uint32_t nr = 0; nr < SYSCALL_NAMES; nr++) {
		struct calls_plan plan = plan_of(w, nr);

		if (bpf_map_update_elem(fd, &nr, &plan, BPF_ANY) < 0)
			return err_errno(e, "a map of BPF");
	}
	return 0;
}

static int put_seeds(const struct bpf_tracer *w, struct err *e)
{
	int fd = bpf_map__fd(w->bpf->maps.seeds);
	const uint8_t one = 1;

	for (size_t i = 0; i < w->opts->pid_count; i++) {
		uint32_t pid = (uint32_t)w->opts->pids[i];

		if (kill(w->opts->pids[i], 0) < 0 && errno == ESRCH)
			return err_set(e, -ESRCH, "process %u does not exist", pid);
		if (bpf_map_update_elem(fd, &pid, &one, BPF_ANY) < 0)
			return err_errno(e, "a map of BPF");
	}
	return 0;
}

static int set_up(struct bpf_tracer *w, struct err *e)
{
	if (put_plans(w, e) < 0 || put_seeds(w, e) < 0)
		return e->code;
	w->bpf->bss->command_tgid = (uint32_t)runloop_pid(&w->loop);
	if (w->mode != CALLS_EVENTS)
		return 0;
	w->ring = ring_buffer__new(bpf_map__fd(w->bpf->maps.ring), take_record, w, NULL);
	if (!w->ring)
		return err_errno(e, "the ring of BPF");
	return runloop_add_fd(&w->loop, ring_buffer__epoll_fd(w->ring), RUNLOOP_READABLE, e);
}

/* Runs on_task for each thread. */
static int walk(const struct bpf_tracer *w, enum calls_phase phase, struct err *e)
{
	char none[64];
	int fd = bpf_iter_create(bpf_link__fd(w->bpf->links.on_task));

	if (fd < 0)
		return err_errno(e, "walking over threads by BPF");
	w->bpf->bss->phase = phase;
	while (read(fd, none, sizeof none) > 0)
		;
	close(fd);
	return 0;
}

static int start(struct bpf_tracer *w, struct err *e)
{
	const struct launch_opts o = { .argv = w->opts->argv, .owns_stdout = w->opts->owns_stdout };
	int rc = o.argv ? runloop_prepare(&w->loop, &o, e) : 0;

	if (rc == 0)
		rc = set_up(w, e);
	for (size_t i = 0; rc == 0 && i < w->opts->pid_count; i++)
		rc = runloop_add_pid(&w->loop, w->opts->pids[i], e);
	if (rc < 0)
		return rc;
	rc = syscalls_bpf__attach(w->bpf);
	if (rc < 0)
		return bpf_explain(rc, "the programs for system calls", e);
	w->sink.start_ns = clock_mono_ns();
	if (!o.argv)
		return walk(w, CALLS_SEED, e);
	rc = runloop_start(&w->loop, e);
	w->result->is_no_exec = runloop_exec_error(&w->loop) != 0;
	return rc;
}

static void read_until_end(struct bpf_tracer *w)
{
	bool is_over = false;

	if (w->opts->duration_ns)
		w->loop.end_ns = w->sink.start_ns + w->opts->duration_ns;
	while (!is_over) {
		is_over = !runloop_step(&w->loop, w->opts->on_call ? TRACE_TICK_NS : TICK_NS);
		if (w->ring)
			ring_buffer__consume(w->ring);
	}
	runloop_reap(&w->loop, 0);
	w->result->status = runloop_status(&w->loop);
}

/* A program that interrupts itself does nothing. */
static uint64_t missed(const struct bpf_tracer *w)
{
	struct bpf_program *p;
	uint64_t sum = 0;

	bpf_object__for_each_program(p, w->bpf->obj)
	{
		uint64_t info[INFO_MISSES + 1] = { 0 };
		uint32_t len = sizeof info;

		if (bpf_obj_get_info_by_fd(bpf_program__fd(p), info, &len) == 0)
			sum += info[INFO_MISSES];
	}
	return sum;
}

static void detach(struct bpf_tracer *w)
{
	struct bpf_link **links[] = { &w->bpf->links.on_enter,      &w->bpf->links.on_exit,
				      &w->bpf->links.on_slow_exit,  &w->bpf->links.on_fork,
				      &w->bpf->links.on_exec,       &w->bpf->links.on_end,
				      &w->bpf->links.on_traced_end, &w->bpf->links.on_signal };

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		bpf_link__destroy(*links[i]);
		*links[i] = NULL;
	}
}

static int finish(struct bpf_tracer *w, struct err *e)
{
	int64_t now = clock_mono_ns();
	const struct syscall_bpf_sums maps = {
		.totals = bpf_map__fd(w->bpf->maps.totals),
		.failures = bpf_map__fd(w->bpf->maps.failures),
		.by_thread = bpf_map__fd(w->bpf->maps.by_thread),
		.threads = bpf_map__fd(w->bpf->maps.threads),
		.sums = bpf_map__fd(w->bpf->maps.sums),
		.slowest = bpf_map__fd(w->bpf->maps.slowest),
	};

	detach(w);
	w->bpf->bss->now_ns = (uint64_t)now;
	if (walk(w, CALLS_FINISH, e) < 0)
		return e->code;
	if (w->ring)
		ring_buffer__consume(w->ring);
	if (syscall_bpf_sums_lost(&maps, &w->opts->tally->lost, e) < 0)
		return e->code;
	w->opts->tally->lost += missed(w);
	if (w->mode == CALLS_EVENTS) {
		syscall_sink_end(&w->sink, now);
		return 0;
	}
	w->opts->tally->start_ns = w->sink.start_ns;
	w->opts->tally->duration_ns = now - w->sink.start_ns;
	syscall_sink_skip_files(&w->sink);
	return syscall_bpf_sums_read(&maps, &w->sink, now, e);
}

static int run(void *self, const struct syscall_opts *o, struct syscall_result *ret, struct err *e)
{
	struct bpf_tracer w = { .opts = o, .result = ret, .mode = mode_of(o), .bpf = self };
	int rc;

	syscall_sink_init(&w.sink, o, clock_mono_ns());
	rc = runloop_open(&w.loop, e);
	if (rc == 0)
		rc = start(&w, e);
	if (rc == 0) {
		read_until_end(&w);
		rc = finish(&w, e);
	}
	if (rc == 0 && syscall_sink_error(&w.sink) < 0)
		rc = err_nomem(e);
	ring_buffer__free(w.ring);
	syscalls_bpf__destroy(w.bpf);
	runloop_close(&w.loop);
	syscall_sink_fini(&w.sink);
	return rc;
}

/* Each map is as large as the mode needs: the kernel clears all of it. */
static int size_maps(struct syscalls_bpf *bpf, enum calls_mode mode, bool wants_slowest)
{
	uint32_t ring_bytes = mode == CALLS_EVENTS ? RING_BYTES : (uint32_t)getpagesize();
	int rc = bpf_map__set_max_entries(bpf->maps.ring, ring_bytes);

	if (rc == 0 && mode != CALLS_THREADS)
		rc = bpf_map__set_max_entries(bpf->maps.by_thread, 1);
	if (rc == 0 && mode != CALLS_THREADS)
		rc = bpf_map__set_max_entries(bpf->maps.threads, 1);
	if (rc == 0 && !wants_slowest)
		rc = bpf_map__set_max_entries(bpf->maps.slowest, 1);
	return rc;
}

static int load(const struct syscall_opts *o, struct syscalls_bpf **ret, struct err *e)
{
	struct syscalls_bpf *bpf = syscalls_bpf__open();
	bool is_slowest = o->tally->wants_slowest && mode_of(o) != CALLS_EVENTS;
	int rc;

	if (!bpf)
		return bpf_explain(-errno, "BPF programs", e);
	bpf->rodata->mode = mode_of(o);
	bpf->rodata->own_tgid = (uint32_t)getpid();
	bpf->rodata->is_all = o->is_all;
	bpf->rodata->has_links = syscall_wants_memory(o);
	bpf->rodata->wants_slowest = is_slowest;
	bpf->rodata->wants_failed = o->selection && o->selection->is_failed;
	bpf_program__set_autoload(is_slowest ? bpf->progs.on_exit : bpf->progs.on_slow_exit, false);
	bpf_program__set_autoload(bpf->progs.on_signal, o->on_call);
	bpf_program__set_autoload(o->on_call ? bpf->progs.on_end : bpf->progs.on_traced_end, false);
	rc = size_maps(bpf, mode_of(o), is_slowest);
	if (rc == 0)
		rc = syscalls_bpf__load(bpf);
	if (rc < 0) {
		syscalls_bpf__destroy(bpf);
		return bpf_explain(rc, "BPF programs", e);
	}
	*ret = bpf;
	return 0;
}

/* Loading shows whether BPF is permitted. */
static int open_method(const struct syscall_opts *o, void **ret_self, struct err *e)
{
	struct syscalls_bpf *bpf = NULL;
	int rc;

	if (o->stacks)
		return err_set(e, -ENOTSUP, "its stacks end at code without frame pointers");
	if (!proc_has_kernel_pids())
		return err_set(e, -ENOTSUP, "processes have other numbers in this container");
	bpf_begin();
	rc = load(o, &bpf, e);
	if (rc == 0)
		*ret_self = bpf;
	return rc;
}

const struct syscall_backend syscall_bpf = { SYSCALL_BPF, open_method, run };

/* SPDX-License-Identifier: MIT */
/*
 * The ptrace(2) method: needs no privileges, and stops the program twice a call.
 *
 * Threads are seized (PTRACE_SEIZE), so they can be detached at any time and run on, also when we
 * are killed. opts.is_filtered: a seccomp filter stops the command at calls with paths alone. A
 * filter cannot be removed, and without a tracer those calls fail with ENOSYS.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "base/log.h"
#include "base/privilege.h"
#include "syscalls/backends.h"
#include "syscalls/filter.h"
#include "syscalls/names.h"
#include "syscalls/ptrace_internal.h"
#include "syscalls/ticker.h"
#include "target/proc.h"

#define SYSCALL_STOP (SIGTRAP | 0x80)
#define STOP_NS (3 * NS_PER_S) /* without a stop of a thread that is to stop */

struct tracee *tracer_find(const struct tracer *t, pid_t tid)
{
	uint32_t i = map_get(&t->by_tid, (uint32_t)tid);

	return i == MAP_NONE ? NULL : ((struct tracee **)t->tracees.data)[i];
}

struct tracee *tracer_add(struct tracer *t, pid_t tid)
{
	struct tracee *new = calloc(1, sizeof *new), **row = NULL;

	if (new)
		row = rows_add(&t->tracees, sizeof *row);
	if (!row || map_put(&t->by_tid, (uint32_t)tid, (uint32_t)(t->tracees.count - 1)) < 0) {
		t->sink->tally->bad = true;
		if (!row)
			free(new);
		else
			*row = new;
		return NULL;
	}
	*row = new;
	new->tid = (uint32_t)tid;
	new->pid = (uint32_t)proc_status_number(tid, "Tgid", 10, (uint64_t)tid);
	t->alive++;
	return new;
}

static void drop(struct tracer *t, struct tracee *tracee)
{
	uint32_t i = map_get(&t->by_tid, tracee->tid);

	if (i != MAP_NONE) {
		((struct tracee **)t->tracees.data)[i] = NULL;
		if (map_put(&t->by_tid, tracee->tid, MAP_NONE) < 0)
			t->sink->tally->bad = true;
	}
	free(tracee);
	t->alive--;
}

void tracer_follow(struct tracer *t, struct tracee *tracee, uint32_t parent)
{
	tracee->is_followed = true;
	syscall_sink_add_thread(t->sink, tracee->pid, tracee->tid, parent, clock_mono_ns());
}

/* Reports a call whose thread or recording ended before it. */
static void cut_call(struct tracer *t, struct tracee *tracee)
{
	if (tracee->is_followed && tracee->is_in_call)
		syscall_sink_call(t->sink, &tracee->call);
	tracee->is_in_call = false;
}

static void fetch_all(struct tracer *t, struct tracee *tracee, bool at_entry)
{
	syscall_read_memory(&tracee->call, syscall_wants_memory(t->opts), at_entry, tracee->memory);
}

static void begin_call(struct tracer *t, struct tracee *tracee, const uint64_t *args, uint64_t nr)
{
	cut_call(t, tracee); /* its exit was not seen */
	tracee->is_in_call = true;
	tracee->call = (struct syscall){
		.pid = tracee->pid,
		.tid = tracee->tid,
		.nr = (uint32_t)nr,
		.has_start = true,
	};
	memcpy(tracee->call.args, args, sizeof tracee->call.args);
	if (tracee->is_followed && (t->wants_args || t->opts->tally->wants_slowest))
		fetch_all(t, tracee, true);
	if (tracee->is_followed && t->opts->traces_stacks &&
	    syscall_is_wanted(t->opts, (uint32_t)nr))
		tracee->call.stack = syscall_stacks_get(t->stacks, &tracee->call);
	else if (tracee->is_followed && t->stacks && syscall_is_shown(t->opts, (uint32_t)nr, 0, -1))
		syscall_stacks_begin(t->stacks, &tracee->call,
				     syscalls_text(t->opts->tally,
						   syscall_sink_call_name(t->sink, (uint32_t)nr)));
	tracee->call.start_ns = clock_mono_ns();
}

static void end_call(struct tracer *t, struct tracee *tracee, int64_t now, int64_t ret)
{
	struct syscall *c = &tracee->call;

	tracee->is_in_call = false;
	c->has_end = true;
	c->end_ns = now;
	c->ret = ret;
	if (!tracee->is_followed)
		return;
	if (t->wants_args || (c->has_start && syscalls_is_slow(t->opts->tally, now - c->start_ns)))
		fetch_all(t, tracee, false);
	syscall_sink_call(t->sink, c);
	if (t->stacks)
		syscall_stacks_end(t->stacks, c);
}

/* Will the kernel restart the call after the signal? Source: linux/errno.h. */
static bool is_restarted(int64_t ret)
{
	return ret <= -512 && ret >= -516;
}

/* At entry or exit of a call. */
static void take_call(struct tracer *t, struct tracee *tracee)
{
	struct __ptrace_syscall_info info = { 0 };
	int64_t now = clock_mono_ns();
	uint32_t bit;

	if (compat_syscall_info((pid_t)tracee->tid, tracee->is_in_call, &info) < 0)
		return;
	bit = info.arch == AUDIT_ARCH_I386 || info.arch == AUDIT_ARCH_ARM ? SYSCALL_32BIT : 0;
	switch (info.op) {
	case PTRACE_SYSCALL_INFO_ENTRY:
		begin_call(t, tracee, (const uint64_t *)info.entry.args, info.entry.nr | bit);
		break;
	case PTRACE_SYSCALL_INFO_SECCOMP:
		begin_call(t, tracee, (const uint64_t *)info.seccomp.args, info.seccomp.nr | bit);
		break;
	case PTRACE_SYSCALL_INFO_EXIT:
		if (t->is_leaving && is_restarted(info.exit.rval))
			break; /* PTRACE_INTERRUPT broke it off: the kernel restarts it */
		if (!tracee->is_in_call)
			tracee->call =
				(struct syscall){ .pid = tracee->pid,
						  .tid = tracee->tid,
						  .nr = compat_syscall_number((pid_t)tracee->tid) |
							bit };
		end_call(t, tracee, now, info.exit.rval);
		break;
	default:
		break;
	}
}

static void let_go_on(struct tracer *t, struct tracee *tracee, int signal)
{
	bool to_end = !t->has_filter || (tracee->is_in_call && tracee->is_followed);
	long request = to_end ? PTRACE_SYSCALL : PTRACE_CONT;

	if (t->is_leaving && !t->has_filter) {
		cut_call(t, tracee);
		ptrace(PTRACE_DETACH, (pid_t)tracee->tid, NULL, (void *)(intptr_t)signal);
		drop(t, tracee);
		return;
	}
	/* -ESRCH: it was killed meanwhile; waitpid() reports its end. */
	ptrace((enum __ptrace_request)request, (pid_t)tracee->tid, NULL, (void *)(intptr_t)signal);
}

static void take_child(struct tracer *t, struct tracee *parent)
{
	unsigned long tid = 0;
	struct tracee *child;

	if (ptrace(PTRACE_GETEVENTMSG, (pid_t)parent->tid, NULL, &tid) < 0)
		return;
	child = tracer_find(t, (pid_t)tid);
	if (!child)
		child = tracer_add(t, (pid_t)tid);
	if (child && parent->is_followed && !child->is_followed)
		tracer_follow(t, child, parent->tid);
	if (child && parent->is_followed && t->stacks)
		syscall_stacks_fork(t->stacks, child->pid, child->tid, parent->pid, parent->tid);
	/* Its first stop may come before the event of its parent. */
	if (child && child->is_stopped) {
		child->is_stopped = false;
		let_go_on(t, child, 0);
	}
}

/* The kernel gives a program that is traced no rights that its tracer does not have. */
static void warn_of_set_id(struct tracer *t, pid_t pid)
{
	if (t->has_warned || !proc_is_set_id(pid) || privilege_capabilities() >> CAP_SYS_PTRACE & 1)
		return;
	t->has_warned = true;
	log_msg(LOG_WARN, "ptrace",
		"a program that is setuid runs without its rights while it is traced; as root it "
		"keeps them");
}

/* In a process with several threads the one that calls exec takes the tid of the first. */
static void take_exec(struct tracer *t, struct tracee *tracee)
{
	unsigned long old = 0;
	struct tracee *caller;
	bool is_first = !tracee->is_followed;

	ptrace(PTRACE_GETEVENTMSG, (pid_t)tracee->tid, NULL, &old);
	caller = old != tracee->tid ? tracer_find(t, (pid_t)old) : NULL;
	if (caller) {
		cut_call(t, tracee);
		tracee->call = caller->call;
		memcpy(tracee->memory, caller->memory, sizeof tracee->memory);
		for (size_t i = 0; i < tracee->call.memory_count; i++)
			tracee->call.memory[i].bytes = tracee->memory[i];
		tracee->call.tid = tracee->tid;
		tracee->is_in_call = caller->is_in_call;
		drop(t, caller);
	}
	warn_of_set_id(t, (pid_t)tracee->tid);
	if (is_first) {
		tracer_follow(t, tracee, 0);
		tracee->is_in_call = false; /* the exec that starts the command: its exit counts */
		if (t->has_filter) {
			tracee->is_in_call = true;
			tracee->call.has_start = false;
		}
	}
	syscall_sink_exec(t->sink, tracee->pid, (uint32_t)old, clock_mono_ns());
	if (t->stacks)
		syscall_stacks_exec(t->stacks, tracee->pid);
}

static void take_stop(struct tracer *t, struct tracee *tracee, int status)
{
	int signal = WSTOPSIG(status);
	siginfo_t info;

	switch (status >> 16) {
	case 0:
		if (signal == SYSCALL_STOP) {
			take_call(t, tracee);
			signal = 0;
		} else if (tracee->is_followed &&
			   ptrace(PTRACE_GETSIGINFO, (pid_t)tracee->tid, NULL, &info) == 0) {
			syscall_sink_signal(t->sink, tracee->tid, &info, clock_mono_ns());
		}
		let_go_on(t, tracee, signal);
		return;
	case PTRACE_EVENT_STOP:
		if (signal != SIGTRAP &&
		    !t->is_leaving) { /* a group-stop: the thread stays stopped */
			ptrace(PTRACE_LISTEN, (pid_t)tracee->tid, NULL, NULL);
			return;
		}
		break;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		take_child(t, tracee);
		break;
	case PTRACE_EVENT_EXEC:
		take_exec(t, tracee);
		break;
	case PTRACE_EVENT_SECCOMP:
		take_call(t, tracee);
		break;
	default:
		break;
	}
	let_go_on(t, tracee, 0);
}

static void take_end(struct tracer *t, pid_t tid, int status)
{
	struct tracee *tracee = tracer_find(t, tid);

	if (tracee) {
		cut_call(t, tracee);
		if (tracee->is_followed)
			syscall_sink_status(t->sink, tracee->tid, status, clock_mono_ns());
		syscall_sink_exit(t->sink, tracee->tid, clock_mono_ns());
		if (t->stacks)
			syscall_stacks_exit(t->stacks, tracee->pid, tracee->tid);
		drop(t, tracee);
	}
	if (tid != t->command)
		return;
	t->command = 0;
	launch_take_status(&t->loop.commands[0], status);
}

static void take_news(struct tracer *t, pid_t tid, int status)
{
	struct tracee *tracee;

	if (!WIFSTOPPED(status)) {
		take_end(t, tid, status);
		return;
	}
	tracee = tracer_find(t, tid);
	if (tracee) {
		take_stop(t, tracee, status);
		return;
	}
	/* A child whose stop came before its parent's event. */
	tracee = tracer_add(t, tid);
	if (tracee)
		tracee->is_stopped = true;
	else
		ptrace(PTRACE_DETACH, tid, NULL, NULL); /* out of memory: it runs on untraced */
}

/* Lets children run on that have been stopped since the last tick: their parents were killed before
 * the event that does it. */
static void let_orphans_go_on(struct tracer *t)
{
	for (size_t i = 0; i < t->tracees.count; i++) {
		struct tracee *child = ((struct tracee **)t->tracees.data)[i];

		if (child && child->is_stopped && child->is_overdue) {
			child->is_stopped = false;
			tracer_follow(t, child, 0);
			let_go_on(t, child, 0);
		} else if (child) {
			child->is_overdue = child->is_stopped;
		}
	}
}

/* Interrupts all threads; each is detached at its stop. */
static void leave(struct tracer *t)
{
	struct tracee **all = t->tracees.data;

	if (t->is_leaving)
		return;
	t->is_leaving = true;
	t->news_ns = clock_mono_ns();
	for (size_t i = 0; i < t->tracees.count; i++) {
		struct tracee *tracee = all[i];

		if (tracee && tracee->is_stopped) {
			tracee->is_stopped = false;
			let_go_on(t, tracee, 0);
		} else if (tracee && !t->has_filter) {
			ptrace(PTRACE_INTERRUPT, (pid_t)tracee->tid, NULL, NULL);
		}
	}
}

/* Do threads that are to stop wait for storage that does not reply? Our end detaches them; under
 * the filter they must not run then. */
static bool is_stuck(struct tracer *t)
{
	if (!t->is_leaving || t->has_filter || clock_mono_ns() - t->news_ns < STOP_NS)
		return false;
	if (t->command)
		t->loop.commands[0].is_left = true;
	return true;
}

/* The tracees wait meanwhile. */
static int name_stacks(struct tracer *t, bool is_end, struct err *e)
{
	bool is_done;
	int rc = syscall_stacks_name(t->stacks, is_end, &is_done, e);

	if (rc == 0 && is_done)
		t->opts->on_names(t->opts->context);
	return rc;
}

static void trace(struct tracer *t)
{
	bool had_command = t->command != 0;
	int64_t next_ns = 0;
	struct err ignored;

	while (t->alive) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid > 0)
			take_news(t, tid, status);
		else if (errno == ECHILD || is_stuck(t))
			break;
		if (tid > 0)
			t->news_ns = clock_mono_ns();
		if ((had_command && !t->command) || (t->sink->tally->bad && !had_command))
			leave(t);
		if (clock_mono_ns() < next_ns)
			continue;
		next_ns = clock_mono_ns() + SYSCALL_TICK_NS / 2;
		let_orphans_go_on(t);
		if (t->opts->traces_stacks && name_stacks(t, false, &ignored) < 0)
			t->sink->tally->bad = true;
		if (!runloop_step(&t->loop, 0))
			leave(t);
	}
	t->result->status = runloop_status(&t->loop);
}

static int install_filter(void *context)
{
	(void)context;
	return syscall_filter_install();
}

static int start_command(struct tracer *t, struct err *e)
{
	const struct launch_opts o = { .argv = t->opts->argv,
				       .owns_stdout = t->opts->owns_stdout,
				       .prepare = t->has_filter ? install_filter : NULL };
	int rc;

	t->loop.waits_itself = true;
	/* With the filter it cannot run without a tracer. */
	t->loop.second_signal = t->has_filter ? RUNLOOP_KILL : RUNLOOP_DETACH;
	rc = runloop_prepare(&t->loop, &o, e);
	if (rc < 0)
		return rc;
	t->command = runloop_pid(&t->loop);
	rc = tracer_seize(t, t->command, e);
	return rc < 0 ? rc : launch_go(&t->loop.commands[0], e);
}

static int run_all(struct tracer *t, struct err *e)
{
	int64_t duration = t->opts->duration_ns;
	struct syscall_ticker ticker;
	int rc = runloop_open(&t->loop, e);

	if (rc == 0 && t->opts->argv)
		rc = start_command(t, e);
	for (size_t i = 0; rc == 0 && i < t->opts->pid_count; i++)
		rc = tracer_seize_process(t, t->opts->pids[i], e);
	syscall_ticker_start(&ticker);
	if (rc < 0)
		leave(t);
	t->loop.end_ns = duration ? clock_mono_ns() + duration : 0;
	trace(t);
	syscall_ticker_stop(&ticker);
	if (rc < 0 || !t->opts->argv)
		return rc;
	rc = launch_exec_result(&t->loop.commands[0], e);
	t->result->is_no_exec = runloop_exec_error(&t->loop) != 0;
	return rc;
}

static void tracer_fini(struct tracer *t)
{
	struct tracee **all = t->tracees.data;

	for (size_t i = 0; i < t->tracees.count; i++)
		free(all[i]);
	rows_fini(&t->tracees);
	map_fini(&t->by_tid);
	runloop_close(&t->loop);
}

static int run(void *self, const struct syscall_opts *o, struct syscall_result *ret, struct err *e)
{
	struct syscall_sink sink;
	struct tracer t = { .opts = o, .sink = &sink, .result = ret };
	int rc;

	(void)self;
	syscall_sink_init(&sink, o, clock_mono_ns());
	t.wants_args = syscall_wants_paths(o);
	t.has_filter = o->is_filtered;
	rc = o->stacks ? syscall_stacks_new(o->stacks, o->traces_stacks, &t.stacks, e) : 0;
	if (rc == 0)
		rc = run_all(&t, e);
	if (rc == 0 && o->traces_stacks)
		rc = name_stacks(&t, true, e);
	else if (rc == 0 && t.stacks)
		rc = syscall_stacks_finish(t.stacks, e);
	syscall_sink_end(&sink, clock_mono_ns());
	if (rc == 0 && syscall_sink_error(&sink) < 0)
		rc = err_nomem(e);
	tracer_fini(&t);
	syscall_stacks_free(t.stacks);
	syscall_sink_fini(&sink);
	return rc;
}

static int open_method(const struct syscall_opts *o, void **ret_self, struct err *e)
{
	*ret_self = NULL;
	if (o->is_all)
		return err_set(e, -ENOTSUP, "cannot trace the whole machine");
	return 0;
}

const struct syscall_backend syscall_ptrace = { SYSCALL_PTRACE, open_method, run };

/* SPDX-License-Identifier: MIT */
/* ptrace_internal: what the source files of the ptrace method share. */
#ifndef SYSCALLS_PTRACE_INTERNAL_H
#define SYSCALLS_PTRACE_INTERNAL_H

#include "base/map.h"
#include "base/rows.h"
#include "syscalls/memory.h"
#include "syscalls/sink.h"
#include "syscalls/stacks.h"
#include "target/runloop.h"

struct tracee {
	uint32_t pid, tid;
	bool is_followed; /* its calls count; false before the command's exec */
	bool is_stopped;  /* waits for PTRACE_SYSCALL or a detach */
	bool is_overdue;  /* was stopped at the last tick */
	bool is_in_call;  /* between entry and exit */
	struct syscall call;
	char memory[SYSCALL_FETCHES][SYSCALL_FETCH_BYTES];
};

struct tracer {
	const struct syscall_opts *opts;
	struct syscall_sink *sink;
	struct syscall_result *result;
	struct syscall_stacks *stacks; /* NULL: none are wanted */
	struct runloop loop;
	struct rows tracees; /* struct tracee *; NULL: ended; owned */
	struct map by_tid;
	size_t alive;
	pid_t command; /* 0: none, or ended */
	bool has_filter;
	bool is_leaving; /* threads are detached at their next stop */
	int64_t news_ns; /* when the last one stopped or ended, or leaving began */
	bool wants_args;
	bool has_warned; /* of a setuid program */
};

/* NULL: it is not traced. */
struct tracee *tracer_find(const struct tracer *t, pid_t tid);
/* NULL: out of memory. */
struct tracee *tracer_add(struct tracer *t, pid_t tid);
/* From now on its calls count. parent: the thread that made it; 0: unknown. */
void tracer_follow(struct tracer *t, struct tracee *tracee, uint32_t parent);

/* Seizes a thread; it runs on. -ESRCH: it has ended. */
int tracer_seize(struct tracer *t, pid_t tid, struct err *e) MUST_CHECK;
/* Seizes all threads of a process, and stops them. */
int tracer_seize_process(struct tracer *t, pid_t pid, struct err *e) MUST_CHECK;

#endif

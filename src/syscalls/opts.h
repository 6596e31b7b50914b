/* SPDX-License-Identifier: MIT */
/* opts: what to record and which method records it; the types that all methods share. */
#ifndef SYSCALLS_OPTS_H
#define SYSCALLS_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/profile.h"
#include "model/syscalls.h"
#include "syscalls/select.h"

enum syscall_method { SYSCALL_AUTO, SYSCALL_BPF, SYSCALL_PERF, SYSCALL_PTRACE };
extern const char *const syscall_methods[]; /* "auto", "bpf", ..., NULL: for OPT_CHOICE */

struct syscall_opts {
	enum syscall_method method;
	/* What to trace: one of the three. Borrowed. */
	char *const *argv; /* a command, ends with NULL */
	const pid_t *pids; /* [pid_count] */
	size_t pid_count;
	bool is_all;
	bool owns_stdout; /* the command's standard output goes to standard error */

	bool is_filtered; /* see ptrace.c; of a command, of which paths are summed */

	int64_t duration_ns; /* ends it; 0: no limit */

	const struct syscall_selection *selection; /* NULL: all calls */
	const char *const
		*on_paths; /* [on_path_count]: only calls on them; see on_path.h; borrowed */
	size_t on_path_count;
	struct syscalls *tally; /* gets the sums, grouped by tally->by; borrowed */
	/* Called for each call when it ends. NULL: calls are only summed. */
	void (*on_call)(void *context, const struct syscall_decoded *t);
	void *context;
	struct profile *stacks; /* empty: gets the calls by user stack; NULL: none; borrowed */
	/* Calls that are passed on have their stacks, and on_names is called each time when all
	 * stacks so far have their names, and at the end. */
	bool traces_stacks;
	void (*on_names)(void *context);
};

struct syscall_result {
	enum syscall_method method;
	char why[384];   /* why no better method is used; "": it is the best, or was requested */
	int status;      /* of the command: exit status, 128+N for signal N */
	bool is_no_exec; /* the command cannot be executed: that is why syscall_run() failed */
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * launch: forks a command, starts it later, and takes its exit status.
 *
 * The child waits before its exec, so that counters with enable_on_exec can be attached to it and
 * count nothing of us. Any call that
 * fails before the exec is an error, and the command is not started. Used by runloop.
 */
#ifndef TARGET_LAUNCH_H
#define TARGET_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"

/* All zero is no command. */
struct launch {
	pid_t pid;           /* of the child; 0: none, or its status is taken */
	const char *name;    /* argv[0]; borrowed */
	int go_fd;           /* writing starts the child; 0: it is started */
	int failure_fd;      /* the child writes the errno of a failed exec; 0: read */
	int pid_fd;          /* readable when the child ended; -1: it has none; 0: closed */
	bool is_left;        /* set by the caller: a pending exec is no longer waited for */
	bool has_ended;      /* its status is available, or taken */
	int exec_error;      /* errno of a failed exec; 0: none */
	int status;          /* exit status, 128+N for signal N */
	int end_signal;      /* that ended it; 0: none */
	struct rusage usage; /* of the command and the children it waited for */
	long peak_kbytes;    /* of the child before the exec; part of usage.ru_maxrss */
};

struct launch_opts {
	char *const *argv;             /* ends with NULL; borrowed until launch_close() */
	bool owns_stdout;              /* it writes to our standard error instead of output */
	int null_fd;                   /* its standard input and output; 0: ours */
	int (*prepare)(void *context); /* in the child, right before the exec; 0 or an errno */
	void *context;
};

/* Forks the child, which waits before its exec. mask: of its signals. */
int launch_prepare(struct launch *l, const struct launch_opts *o, const sigset_t *mask,
		   struct err *e) MUST_CHECK;

/* Starts it. A failed exec returns its errno (-ENOENT, -EACCES, ...), also in exec_error; then the
 * child is reaped. -EINTR: SIGINT, SIGTERM, SIGHUP or SIGQUIT, which the caller has blocked, came
 * and storage keeps the child in its exec: it is killed. */
int launch_start(struct launch *l, struct err *e) MUST_CHECK;

/* The two halves of launch_start(), for a tracer that must handle stops of the child in between:
 * start it; get the result of its exec. */
int launch_go(struct launch *l, struct err *e) MUST_CHECK;
int launch_exec_result(struct launch *l, struct err *e) MUST_CHECK;

/* Has it ended? Leaves its status. */
bool launch_has_ended(struct launch *l);

/* Takes status and usage of a command that has ended; false: it runs, or there is none. */
bool launch_reap(struct launch *l);

/* Waits for its end. */
void launch_wait(struct launch *l);

/* The same for a caller that reaped the child itself. status: as of wait(2). */
void launch_take_status(struct launch *l, int status);

/* Kills a child that was not started; leaves a running one alone. */
void launch_close(struct launch *l);

#endif

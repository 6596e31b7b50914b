/* SPDX-License-Identifier: MIT */
/*
 * runloop: the one loop in which we run commands, or observe processes or the machine, until they
 * end, the time is over, or a signal ends it.
 *
 * From runloop_open() to runloop_close() signals that ask us to end arrive in runloop_step() and
 * interrupt nothing, and SIGPIPE is blocked. Commands get the mask as it was before.
 *
 * The signal policy: without a command that runs, the first signal ends the loop. With one, the
 * first signal is passed on to it, and the second does what second_signal names. What the terminal
 * sends to its whole foreground group (SIGINT, SIGQUIT) has reached the command already.
 * SIGXCPU and SIGALRM are about us: they end the loop and leave the command running. SIGUSR1 and
 * SIGUSR2 ask for a snapshot, and end nothing.
 *
 *	runloop_open(&r), runloop_prepare(&r, ...), [attach to runloop_pid(&r)], runloop_start(&r)
 *	while (runloop_step(&r, timeout_ns))
 *		...
 *	runloop_reap(&r, 0), runloop_close(&r)
 */
#ifndef TARGET_RUNLOOP_H
#define TARGET_RUNLOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "target/launch.h"

#define RUNLOOP_FOREVER INT64_MAX

enum runloop_second {
	RUNLOOP_DETACH,  /* ends the loop, and leaves the command running */
	RUNLOOP_KILL,    /* SIGKILL to the command, whose end is waited for */
	RUNLOOP_PASS_ON, /* the command gets each signal */
};

enum runloop_fd {
	RUNLOOP_READABLE,
	RUNLOOP_FILLING, /* each time that more comes: what is in it is read at other times, too */
};

/* All zero is not open. second_signal, end_ns and waits_itself are the caller's to set, after
 * runloop_open() and before runloop_prepare(). */
struct runloop {
	bool is_open;
	int epoll_fd, signal_fd;
	sigset_t inherited_mask;
	struct launch *commands; /* [command_count]; owned */
	size_t command_count;
	int *pid_fds; /* [pid_count], of compat_pidfd_open(); owned; -1: it has ended */
	size_t pid_count;

	enum runloop_second second_signal;
	int64_t end_ns;    /* CLOCK_MONOTONIC; 0: no limit */
	bool waits_itself; /* the caller calls wait(2), and launch_take_status() for the commands */

	size_t ended_pids;     /* of pids, so far */
	int signal;            /* the last that we got; 0: none */
	unsigned signal_count; /* so far */
	bool is_cut;           /* ended by a signal, a command still runs */
	bool wants_snapshot;   /* asked for by a signal; the caller clears it */
};

int runloop_open(struct runloop *r, struct err *e) MUST_CHECK;

/* Commands that were not started end, the last first; those that run are left alone. */
void runloop_close(struct runloop *r);

/* Adds a command, which waits to be started. */
int runloop_prepare(struct runloop *r, const struct launch_opts *o, struct err *e) MUST_CHECK;

/* Of the first command; 0: there is none, or its status is taken. */
pid_t runloop_pid(const struct runloop *r);

/* All commands, in order. A program that cannot be executed is its errno, also in its
 * exec_error. */
int runloop_start(struct runloop *r, struct err *e) MUST_CHECK;

/* The errno of a command that could not be executed; 0: none. */
int runloop_exec_error(const struct runloop *r);

/* Adds a process to wait for. -ESRCH: it does not exist. */
int runloop_add_pid(struct runloop *r, pid_t pid, struct err *e) MUST_CHECK;

/* Adds a descriptor that ends a step when it becomes readable. */
int runloop_add_fd(struct runloop *r, int fd, enum runloop_fd kind, struct err *e) MUST_CHECK;

/* Waits until something happens, at most so long. False: all commands have ended (without
 * commands: all processes), the time is over, or a signal ends the loop. Each command's has_ended
 * is up to date; its status is taken by runloop_reap(). */
bool runloop_step(struct runloop *r, int64_t timeout_ns);

/* Has a signal come that ends the loop, or is passed on, and that no step has taken yet? For what
 * takes long before the first step. */
bool runloop_is_asked_to_end(void);

/* Does any command run? */
bool runloop_is_running(const struct runloop *r);

/* Takes status and usage of a command that has ended; false: it runs, or there is none. */
bool runloop_reap(struct runloop *r, size_t command);

/* For our own exit: 128+N when signal N made us leave the command, else the status of the first. */
int runloop_status(const struct runloop *r);

/* Runs a command to its end, from runloop_open() to runloop_close(). *ret_status: as of
 * runloop_status(); *ret_exec_error: as of runloop_exec_error(), NULL: not wanted. */
int runloop_run(const struct launch_opts *o, enum runloop_second second_signal, int *ret_status,
		int *ret_exec_error, struct err *e) MUST_CHECK;

/* To all commands that run. */
void runloop_signal(const struct runloop *r, int number);

/* Ends all commands that run, and waits for them. */
void runloop_kill(struct runloop *r);

#endif

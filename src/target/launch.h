/* SPDX-License-Identifier: MIT */
/*
 * launch: a command that waits to be told to start, and what became of it.
 *
 * The child is made first and executes the program when told, so that counters can be
 * attached to it that start with the program (enable_on_exec) and see nothing of us.
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
	pid_t pid;        /* of the child; 0: none, or waited for */
	int go_fd;        /* writing tells the child to start */
	int failure_fd;   /* the child writes the errno of a failed exec */
	int end_signal;   /* that ended it; 0: it ended by itself, or has not yet */
	long peak_kbytes; /* of the child before the exec, which rusage's maximum has in it */
	int pid_fd;       /* readable when the child ended; -1: kernel before 5.3 */
};

/*
 * Makes the child: with the signal mask, and the limit of open files as they are given,
 * and all else as ours, but that it writes to our standard error by both of its own when
 * stdout is ours alone. With null_fd it reads from and writes to that instead of standard input
 * and output. argv ends with NULL and stays the caller's.
 */
struct launch_opts {
	char *const *argv;
	const sigset_t *mask;
	const struct rlimit *files;
	bool owns_stdout;
	int null_fd;                   /* 0: none */
	int (*prepare)(void *context); /* in the child, right before the exec; 0 or an errno */
	void *context;
};
int launch_new(struct launch *l, const struct launch_opts *o, struct err *e) MUST_CHECK;

/* Lets it run. A program that cannot be executed is its errno (-ENOENT, -EACCES, ...), with
 * the words in e; the child is gone then. */
int launch_start(struct launch *l, const char *name, struct err *e) MUST_CHECK;

/* In parts, for who must see the child stop in between: lets it run; the errno of its exec once
 * that was done or the child has ended, 0: it runs; words for that, as launch_start has them. */
void launch_go(struct launch *l);
int launch_failure(struct launch *l);
int launch_explain(int error, const char *name, struct err *e);

/* Has it ended? Then *ret_status is its exit status (128+N for signal N), and *ret_usage
 * what it and its children used. */
bool launch_poll(struct launch *l, int *ret_status, struct rusage *ret_usage);

/* A child that was not started ends; one that runs is left alone. */
void launch_close(struct launch *l);

#endif

/* SPDX-License-Identifier: MIT */
/* on_nodes: runs a command on all nodes of a launcher, and what "cache launch" leaves for "cache
 * stop": JOB/cluster/launch.json. */
#ifndef CLI_CACHE_ON_NODES_H
#define CLI_CACHE_ON_NODES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "cachejob/launcher.h"

/* Processes that run a command, on one node or on all. */
struct on_nodes {
	pid_t *pids; /* [count]; 0: it has ended; owned */
	size_t count;
	size_t running, failed;
	uint32_t first_failed; /* index, if failed */
};
void on_nodes_fini(struct on_nodes *r); /* leaves them running */

/* Appends the command line that starts command on node i, or on all: see launcher_put(). "%r" as a
 * whole word of the command becomes i. */
void on_nodes_line(const struct launcher *l, uint32_t i, const struct words *command,
		   struct words *ret);

/* Starts command. Each process has a session of its own, and writes to log, a new or longer file.
 */
int on_nodes_start(const struct launcher *l, const struct words *command, const char *log,
		   struct on_nodes *ret, struct err *e) MUST_CHECK;

/* Reaps those that have ended. */
void on_nodes_poll(struct on_nodes *r);
/* Waits for all, for at most timeout_ns. False: some run on. */
bool on_nodes_wait(struct on_nodes *r, int64_t timeout_ns) MUST_CHECK;
void on_nodes_signal(const struct on_nodes *r, int signal);

/* Runs a command here, to its end. -EIO: it failed. */
int on_nodes_run_here(const struct words *command, const char *log, struct err *e) MUST_CHECK;

/* The last line of a log, for a message; "" if there are none. */
void on_nodes_log_end(const char *log, char ret[512]);

/* A launch, as it is noted. */
struct launch_note {
	struct launcher launcher;
	char name[128];   /* of the launch */
	char view[4096];  /* absolute */
	char auger[4096]; /* the program */
};
void launch_note_fini(struct launch_note *n);
int launch_note_write(const struct launch_note *n, const char *job, struct err *e) MUST_CHECK;
/* -ENOENT: nothing was launched into this folder, or it was stopped; -EACCES: not by this user. */
int launch_note_read(const char *job, struct launch_note *ret, struct err *e) MUST_CHECK;

/* The files of a launch below the job's folder. */
struct launch_paths {
	char folder[4200], note[4300], log[4300], stop_log[4300], book[4400], secret[4400];
};
int launch_paths_fill(const char *job, const char *name, struct launch_paths *ret,
		      struct err *e) MUST_CHECK;
/* Removes the secret, the address book and the note. */
void launch_paths_remove(const struct launch_paths *p);

/*
 * Ends the views of all nodes, and checks each. Prints on standard error which nodes had ended
 * before. 0: no view is left; -ETIMEDOUT, -EIO.
 */
int launch_stop(const char *job, const struct launch_note *n, int64_t timeout_ns,
		struct err *e) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * cacherun: a command that finds its files through a mounted view.
 *
 * Where mounts are allowed it gets bind mounts of its own, so that files keep their paths. Folders
 * that cannot be bound are reached by variables and by the paths of its program. Nothing is
 * printed: what was chosen is in struct cacherun.
 */
#ifndef CACHERUN_CACHERUN_H
#define CACHERUN_CACHERUN_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "cacherun/redirect.h"
#include "target/program.h"

/* The folders of one run. */
struct cacherun_folders {
	char top[PATH_MAX]; /* temporary; the view is in it */
	char view[PATH_MAX + 8], job[PATH_MAX + 8];
	bool has_job; /* job is the user's, and is kept */
};

/* job: NULL: a temporary one. */
int cacherun_folders_make(struct cacherun_folders *f, const char *job, struct err *e) MUST_CHECK;
int cacherun_folders_remove(const struct cacherun_folders *f, struct err *e) MUST_CHECK;

struct cacherun_opts {
	const char *target, *view;        /* of the mount; borrowed */
	const struct opt_list *variables; /* besides redirect_variables; borrowed */
	bool has_variables_only;          /* no bind mounts */
	struct sigaction pipe_action;     /* of SIGPIPE, for the command */
};

/* All zero is none. */
struct cacherun {
	char target[PATH_MAX]; /* without links */
	struct redirect redirect;
	struct err no_binds;  /* why folders could not be bound; code 0: they are */
	struct buf variables; /* changed ones: NAME=VALUE, each with its NUL */
	char **argv;          /* as it is executed; owned, but not its texts */
	size_t changed;       /* arguments of argv's start that are not the user's; 0: none */

	struct buf program, interpreter; /* texts of argv; empty: not changed */
	struct script script;
	struct sigaction pipe_action;
};

/* Chooses how argv finds the view. */
int cacherun_prepare(struct cacherun *r, const struct cacherun_opts *o, char **argv,
		     struct err *e) MUST_CHECK;

/* Runs it to its end. *ret_exec_error: errno of a program that cannot be executed, else 0. */
int cacherun_command(struct cacherun *r, int *ret_status, int *ret_exec_error,
		     struct err *e) MUST_CHECK;

void cacherun_fini(struct cacherun *r);

#endif

/* SPDX-License-Identifier: MIT */
/* stat_runs: measures commands by turns, each as often. */
#ifndef USAGE_STAT_RUNS_H
#define USAGE_STAT_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/stat.h"
#include "usage/jobstat.h"

struct stat_runs_opts {
	char *const *argv;         /* the command, ends with NULL */
	const char *title;         /* its words */
	const char *const *others; /* [other_count]: lines of sh, fewer than STAT_MAX_COMMANDS */
	size_t other_count;
	const char *prepare; /* a line of sh before each run; NULL: none */
	uint64_t runs,
		warmups; /* of each command; neither warm-ups nor preparations are measured */
};

struct stat_runs {
	struct stat_series series[STAT_MAX_COMMANDS]; /* [count]: of the command, of the others */
	size_t count;
	struct job last; /* of the command */
	int status;      /* of the command's last run that failed, or else of another command's */
	bool is_no_exec; /* the command cannot be executed */
	bool is_over;    /* a signal ended the measurement */
};

/* Fails when the command cannot be executed, with the errno, or a preparation fails. */
int stat_runs(const struct stat_runs_opts *o, struct stat_runs *ret, struct err *e) MUST_CHECK;
void stat_runs_fini(struct stat_runs *r); /* all zero is allowed */

#endif

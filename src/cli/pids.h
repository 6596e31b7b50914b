/* SPDX-License-Identifier: MIT */
/* pids: parses --pid, given once or more often: lists of process ids. */
#ifndef CLI_PIDS_H
#define CLI_PIDS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/opt.h"

#define PIDS_MAX 1024

/* Wrong usage when a text is no list of them, or there are more. */
int pids_parse(const struct opt_list *texts, pid_t pids[PIDS_MAX], size_t *ret_count,
	       struct err *e) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * urgent: while a job stands still, this process goes first, stays in memory, is not chosen
 * when memory runs out, and no signal but SIGKILL ends it. What is not allowed is left out.
 */
#ifndef RELOCATE_URGENT_H
#define RELOCATE_URGENT_H

#include <sched.h>
#include <signal.h>

struct urgent {
	sigset_t mask; /* before */
	struct sched_param param;
	int policy; /* before; -1: it was not changed */
};

/* numbers: descriptors that will be open. */
void urgent_begin(struct urgent *u, unsigned numbers);
void urgent_end(struct urgent *u);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * sysc_signals: signals to us while we wait in waitpid(2), which each of them ends; and so does a
 * timer, for what came right before it.
 */
#ifndef SYSCALLS_SIGNALS_H
#define SYSCALLS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#define SYSC_SIGNALS 4 /* SIGINT, SIGTERM, SIGHUP, and the timer's */

struct sysc_signals {
	struct sigaction old[SYSC_SIGNALS];
};

/* One at a time: handlers are the process'. */
void sysc_signals_begin(struct sysc_signals *h);
void sysc_signals_end(const struct sysc_signals *h);

/* Since the begin, without the timer's. */
int sysc_signals_count(void);
int sysc_signals_last(void);
bool sysc_signals_from_terminal(void); /* the last one: it went to the whole group */

#endif

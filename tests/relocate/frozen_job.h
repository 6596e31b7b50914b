/* SPDX-License-Identifier: MIT */
/* frozen_job: child processes that a test freezes and thaws, and that must not notice it. */
#ifndef TESTS_RELOCATE_FROZEN_JOB_H
#define TESTS_RELOCATE_FROZEN_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "inject/remote.h"

#define LIMIT_NS (10 * NS_PER_S)

/* The page that a job and the test share. */
struct shared {
	_Atomic int is_ready, stop;
	_Atomic long work;
};
extern struct shared *shared;

void nap_ms(long ms);

/* Starts body in a child and waits until it is ready. */
pid_t start(int (*body)(void));
/* Ends the child. Returns what body returned, or 128 and the signal. */
int finish(pid_t pid);
/* Waits until the job has made progress. */
bool goes_on(void);

/* Makes count remote calls of getpid, as one list. */
bool call_getpid(struct remote *r, size_t count, struct err *e);
/* Freezes pid, makes remote calls and thaws it. */
bool visit(pid_t pid, int64_t *ret_pause_ns);
/* Repeats visit() until it fails. */
bool visit_often(const char *name, pid_t pid, int times, long between_ms);

/* Jobs: threads that wait in all kinds of system calls; threads and children, also by vfork, that
 * come and go; 256 threads. */
int sleepers(void);
int churn(void);
int many_threads(void);

#endif

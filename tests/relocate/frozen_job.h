/* SPDX-License-Identifier: MIT */
/* hold_job: children of a test that are stopped and let go, and must not notice. */
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

/* Starts body in a child and waits until it says that it is ready. */
pid_t start(int (*body)(void));
/* Ends it; what it returned, or 128 and the signal. */
int finish(pid_t pid);
/* Waits until the job has done more. */
bool goes_on(void);

/* Each of count calls inside, as one list. */
bool call_getpid(struct remote *r, size_t count, struct err *e);
/* Stop, calls inside, let go. */
bool visit(pid_t pid, int64_t *ret_pause_ns);
/* So many times, as long as it goes well. */
bool visit_often(const char *name, pid_t pid, int times, long between_ms);

/* Jobs: a thread waits in each of these kinds all the time; threads and children come and go, by
 * vfork as well; 256 threads. */
int sleepers(void);
int churn(void);
int many_threads(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * companion: threads that answer one asker each, on the asker's own CPU.
 *
 * An answer by another CPU takes two wake-ups of CPUs that mostly sleep, which is longer than all
 * the rest of it. On the same CPU it takes two switches, if the scheduler lets the asker stay
 * there: it does where nothing runs but a thread of the policy SCHED_IDLE. Where it does not, the
 * companion finds nothing to read, and follows. Such a thread gets no time while others want that
 * CPU, so that somebody must watch, each one to eight milliseconds, that it gets on. Source:
 * sched(7).
 *
 * All read the same queue: one may answer another's asker. None waits for a request while its own
 * asker asks on and on, so that a request wakes up nobody.
 *
 * Nobody waits for a companion, which may get no time: there are no locks and no conditions
 * (whoever signals one may wait for those that leave it). Anybody may clear 'called'; the watcher
 * does the rest.
 */
#ifndef CACHEFS_FUSE_COMPANION_H
#define CACHEFS_FUSE_COMPANION_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define COMPANIONS_MAX 8

struct companion {
	pthread_t thread;
	int fd;              /* its own, of the session: it never waits in a read */
	sem_t wakes;         /* it is called, or it is over */
	_Atomic pid_t asker; /* the watcher's */
	_Atomic int cpu;     /* and its own */
	_Atomic bool called;
	_Atomic bool asked;        /* its own: a request is in hand, or looked for */
	_Atomic unsigned answered; /* the same: how many it has had */
	_Atomic unsigned heard;    /* requests of its asker, whoever answered */

	/* Below: the watcher's. */
	bool is_bound; /* to that CPU, at SCHED_IDLE */
	unsigned answered_seen, heard_seen;
	int64_t heard_ns; /* when that last changed */
};

struct companions {
	sem_t changed;           /* one is called no more */
	cpu_set_t cpus;          /* of the process */
	bool may_raise;          /* a priority that was lowered */
	_Atomic int64_t rest_ns; /* after a time in vain; this and the next: the watcher's */
	_Atomic int64_t due_ns;  /* they are not called before; of the monotonic clock */
	_Atomic bool closing, in_vain;
	_Atomic unsigned count;
	struct companion list[COMPANIONS_MAX]; /* [count] */
};

/* Who asked a reader of late. All zero at first. */
struct companion_askers {
	pid_t tids[COMPANIONS_MAX];
	unsigned count;
	int64_t at_ns;   /* the last request */
	unsigned in_row; /* requests of those alone */
};

void companions_init(struct companions *c);
void companions_fini(struct companions *c);

/* How many are of use. */
unsigned companions_max(const struct companions *c);

/* By a reader that answered a request of tid. True: those who ask had better be the companions'. */
bool companions_are_due(const struct companions *c, struct companion_askers *a, pid_t tid);

/* By the only reader: has companions answer those, until that is of no use any more. session_fd: to
 * see whether something waits. */
void companions_watch(struct companions *c, struct companion_askers *a, int session_fd);

/* By anybody: what comes next is the watcher's again. in_vain: so it would be soon again. */
void companions_release(struct companions *c, bool in_vain);

/* By a companion that answered a request of tid. False: that is nobody's whom one of them answers.
 */
bool companions_hear(struct companions *c, pid_t tid);

/* By a companion, just before it writes an answer: with that the asker gets the CPU, for as long
 * as it can use it. */
void companion_answers(struct companion *one);

/* By a companion, when nothing is asked: the asker may run on another CPU meanwhile, where it
 * follows. Until something is asked, or it is released. SIGUSR2 is blocked. */
void companion_await(struct companions *c, struct companion *one);

/* By a companion. False: it is over. */
bool companion_wait(struct companions *c, struct companion *one);
void companions_end(struct companions *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * companion: a thread that answers one asker, on the asker's own CPU.
 *
 * An answer by another CPU takes two wake-ups of CPUs that mostly sleep, which is longer than all
 * the rest of it. On the same CPU it takes two switches, if the scheduler lets the asker stay
 * there: it does where nothing runs but a thread of the policy SCHED_IDLE. Where it does not, the
 * companion finds nothing to read, and follows. Such a thread gets no time while others want that
 * CPU, so that somebody must watch, each one to eight milliseconds, that it gets on. Source:
 * sched(7).
 */
#ifndef CACHEFS_COMPANION_H
#define CACHEFS_COMPANION_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero at first. */
struct companion_asker {
	pid_t tid;
	int64_t at_ns;
	unsigned in_row; /* requests of it alone */
};

struct companion {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	int fd;                  /* the companion's own, of the session: it never waits in a read */
	cpu_set_t cpus;          /* of the process */
	_Atomic int64_t rest_ns; /* after a time in vain; this and the next: the watcher's */
	_Atomic int64_t due_ns;  /* it is not called before; of the monotonic clock */
	_Atomic pid_t asker;     /* changed under lock, as are the next */
	_Atomic int cpu;         /* the companion's */
	_Atomic bool called, closing, in_vain;
	_Atomic bool asked;        /* the companion's: a request is in hand */
	_Atomic unsigned answered; /* the same: how many it has had */
};

/* Who starts the thread sets thread and fd, before anybody calls it. */
void companion_init(struct companion *c);
void companion_fini(struct companion *c);

/* By a reader that answered a request of tid. True: it had better be its companion's. */
bool companion_is_due(const struct companion *c, struct companion_asker *a, pid_t tid);

/* By the only reader: has the companion answer, until that is of no use any more. session_fd: to
 * see whether something waits. */
void companion_watch(struct companion *c, pid_t asker, int session_fd);

/* By anybody: what comes next is the watcher's again. in_vain: so it would be soon again. */
void companion_release(struct companion *c, bool in_vain);

/* By the companion, just before it writes an answer: with that the asker gets the CPU, for as long
 * as it can use it. */
void companion_answers(struct companion *c);

/* By the companion, when nothing is asked: the asker may run on another CPU meanwhile, where it
 * follows. Until something is asked, or it is released. SIGUSR2 is blocked. */
void companion_await(struct companion *c);

/* By the companion. False: it is over. */
bool companion_wait(struct companion *c);
void companion_end(struct companion *c);

#endif

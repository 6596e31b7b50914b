/* SPDX-License-Identifier: MIT */
/*
 * spin: locks for inside of malloc: no memory, no system call while nobody waits.
 *
 * While the process has one thread nothing is locked. A lock that is not released for a long time
 * (its owner left by longjmp out of a signal handler) is taken nevertheless: the program must not
 * stop. What it guards may then be wrong by one event.
 */
#ifndef PRELOAD_HEAP_SPIN_H
#define PRELOAD_HEAP_SPIN_H

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SPIN_YIELDS 1000 /* before a waiter sleeps */
#define SPIN_NAPS 10000  /* of a millisecond, before a lock counts as abandoned: 10 s */

/* glibc 2.32; absent: never single. */
extern char __libc_single_threaded __attribute__((weak)); // NOLINT

static inline bool spin_is_single(void)
{
	return &__libc_single_threaded && __libc_single_threaded;
}

static inline bool spin_try(uint32_t *lock)
{
	return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);
}

/* false: it is abandoned. The owner may have no CPU for a while. errno is kept. */
static inline bool spin_wait(uint32_t *lock)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	int saved = errno;

	for (int i = 0; i < SPIN_YIELDS + SPIN_NAPS; i++) {
		if (!__atomic_load_n(lock, __ATOMIC_RELAXED) && spin_try(lock))
			return true;
		if (i < SPIN_YIELDS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
		errno = saved;
	}
	return false;
}

static inline void spin_lock(uint32_t *lock)
{
	if (spin_is_single())
		*lock = 1;
	else if (__builtin_expect(__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE), 0))
		spin_wait(lock);
}

static inline void spin_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * replies: calls into storage that may never return.
 *
 * A call on a file whose server is gone (NFS, FUSE) blocks its thread, and only SIGKILL ends it, if
 * anything does. So it is first made by a process that can be left behind. A busy machine is no
 * such storage: what is ready to run gets more time.
 */
#ifndef BASE_STORAGE_REPLIES_H
#define BASE_STORAGE_REPLIES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Waits for a task that may be blocked. All zero: it is looked at for the first time. */
struct replies_progress {
	int64_t cpu_ns;  /* that the task had used, */
	int64_t from_ns; /* since this time of CLOCK_MONOTONIC; 0: it was not looked at */
};

/*
 * Makes the call in a forked process, which has no descriptors but keep (-1: none), and may call
 * what is safe after fork(2) in a process with threads. Returns what the call returned, 0 to 255;
 * -1: it was blocked for ms milliseconds; the process is killed, and left if that does not end it.
 * The call is made here when no process can be forked.
 */
int replies_within(unsigned char (*call)(const void *arg), const void *arg, int keep, int ms);

/* Is a task, with this clock of its CPU time, blocked for ms by now? To be asked now and then. */
bool replies_is_blocked(struct replies_progress *p, pid_t tid, clockid_t clock, int ms);

/* waitpid(2), for a process that was killed, for at most ms: 0: it did not end; else its number, or
 * -1 and errno. */
pid_t replies_wait_end(pid_t pid, int *ret_status, int ms);

#endif

/* SPDX-License-Identifier: MIT */
/* asker: who waits for an answer. */
#ifndef CACHEFS_STORE_ASKER_H
#define CACHEFS_STORE_ASKER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Is the thread gone, or about to be ended by a signal? For a request that a signal has
 * interrupted: a file system must not fail for those that a program handles, which expects EINTR
 * of no file (signal(7)), and least of all for the timers of profilers. False: unknown, such as
 * in another PID name space (0).
 *
 * Source: proc(5), /proc/pid/status.
 */
bool asker_is_ending(pid_t thread);

/*
 * Has it the capability (CAP_...), of those in effect, over a file of that owner and group? In a
 * user name space of its own it has it only where both are mapped. False: unknown. Source: the
 * same, and user_namespaces(7).
 */
bool asker_can(pid_t thread, int capability, uid_t owner, gid_t group);

#endif

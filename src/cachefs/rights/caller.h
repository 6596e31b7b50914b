/* SPDX-License-Identifier: MIT */
/*
 * caller: the thread that made a request.
 *
 * Both functions read /proc, and return false when the thread is in another PID namespace (0).
 * Source: proc(5), /proc/pid/status.
 */
#ifndef CACHEFS_RIGHTS_CALLER_H
#define CACHEFS_RIGHTS_CALLER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Has the thread ended, or is a signal about to end it? For a request that a signal interrupted: a
 * file system must not fail with EINTR for a signal that the program handles, such as the timer of
 * a profiler. Source: signal(7).
 */
bool caller_is_dying(pid_t thread);

/*
 * Has the thread this effective capability (CAP_...) over a file of that owner and group? A thread
 * in a user namespace of its own has it only where both are mapped. Source: user_namespaces(7).
 */
bool caller_has_capability(pid_t thread, int capability, uid_t owner, gid_t group);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * safepoint: stops a thread of a running process where a function can be called in it.
 *
 * No thread of the process is in the dynamic linker at that time, as far as one after the other can
 * be looked at, because it might wait for what the stopped thread has. The others run on.
 */
#ifndef HEAP_SAFEPOINT_H
#define HEAP_SAFEPOINT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "heap/process_code.h"
#include "inject/freeze.h"

/* Tries for limit_ns. -EBUSY, with the reason: no thread came there. -ESRCH, -EPERM: as of
 * freeze_begin_thread(). *ret_code: the process' code at that time; owned by the caller. */
int safepoint_freeze(pid_t pid, int64_t limit_ns, struct freeze **ret,
		     struct process_code **ret_code, struct err *e) MUST_CHECK;

#endif

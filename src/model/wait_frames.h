/* SPDX-License-Identifier: MIT */
/*
 * wait_frames: charges off-CPU time to the function that waits, with the system call as reason.
 *
 * The stack of a wait ends in the scheduler. Its kernel frames become one frame that names the
 * reason: the system call ("[futex]"), "[page fault]", or the state of a thread that could run
 * ("[preempted]", "[runnable]"). Wrappers of libc and libstdc++ that only lock, sleep or make
 * this system call are left out. Stacks of kernel threads lose the scheduler's frames alone.
 * CPU samples and other sample types stay as they are.
 */
#ifndef MODEL_WAIT_FRAMES_H
#define MODEL_WAIT_FRAMES_H

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

/* The frame at the end of a wait's stack. */
enum wait_leaf {
	WAIT_LEAF_REASON, /* "[futex]" */
	WAIT_LEAF_NAMED, /* "worker [futex]", of worker's module and line: for lists of functions */
};

/* Replaces *p when it has the sample type "offcpu". On failure *p is still valid. */
int profile_charge_waits(struct profile **p, enum wait_leaf leaf, struct err *e) MUST_CHECK;

#endif

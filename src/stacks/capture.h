/* SPDX-License-Identifier: MIT */
/* capture: the registers, stack and Python frames of one thread, of one moment if it can be
 * stopped. */
#ifndef STACKS_CAPTURE_H
#define STACKS_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "inject/brief_stop.h"
#include "perf/user_stack.h"
#include "sample/python/python.h"
#include "stacks/kernel_regs.h"
#include "stacks/thread_call.h"

#define CAPTURE_STOP_NS (5 * NS_PER_MS)       /* then a thread goes on, whatever was read */
#define CAPTURE_STACK_BYTES ((size_t)1 << 20) /* of a stack, at most */

/* What reads threads. All zero but for python and stack; capturer_fini() ends its helpers. */
struct capturer {
	struct brief_stop stop;
	struct kernel_regs kernel_regs;
	struct python *python; /* borrowed */
	unsigned char *stack;  /* [CAPTURE_STACK_BYTES]; borrowed */
};

void capturer_fini(struct capturer *c);

/* A thread. */
struct capture {
	uint64_t regs[USER_STACK_REGS_MAX]; /* in perf's order */
	uint64_t mask;                      /* which; 0: there are none, and no stack */
	size_t stack_len;                   /* bytes of the capturer's stack */
	uint64_t time_ns;                   /* of its Python frames */
	struct thread_call call;
	int64_t stopped_ns; /* 0: it was not stopped */
	struct err missing; /* code 0: nothing is missing; else why it was not stopped */
};

/* Stops the thread and reads it; three times, where it runs on before all is read. wchan: of the
 * wait before that. 0, -ESRCH: it has ended, -ENOMEM. */
int capture_stopped(struct capturer *c, uint32_t pid, uint32_t tid, const char *wchan,
		    struct capture *ret) MUST_CHECK;

/* Without a stop, by the registers that it entered the kernel with (kernel_regs.h), or by the two
 * that /proc has of a thread that waits. 0 or -ENOMEM. */
int capture_waiting(struct capturer *c, uint32_t pid, uint32_t tid, const char *wchan,
		    struct capture *ret) MUST_CHECK;

#endif

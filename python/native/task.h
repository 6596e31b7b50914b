/* SPDX-License-Identifier: MIT */
/*
 * task: gives each thread and each asyncio task its own nesting of stages. Other schedulers work,
 * too, if they run each task in a contextvars context of its own.
 *
 * A task is the value of a context variable. A copied context first has the task of its original;
 * its first stage creates its own task, which nests in the stages that are open in the original
 * then.
 *
 * Source: PEP 567.
 */
#ifndef NATIVE_TASK_H
#define NATIVE_TASK_H

#include "native/core.h"

struct task; /* a Python object */

/* Once, when the module is loaded. False: an exception is set. */
bool task_setup(void);

/* The running task; borrowed, valid as long as its context. NULL: an exception is set. */
struct task *task_current(void);

/* Its context for an open profiler. NULL: out of memory, or the profiler is off. */
struct auger_context *task_context(struct task *task, struct core *core);

#endif

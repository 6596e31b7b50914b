/* SPDX-License-Identifier: MIT */
/*
 * flow: what runs one thing after the other and thus nests its stages: a thread, or a task of
 * asyncio (or of anything else that runs tasks in contextvars contexts of their own).
 *
 * A flow is the value of a context variable. A context that was copied has its original's; the
 * first stage that begins in it makes its own, which nests in what is open in the original then.
 *
 * Source: PEP 567.
 */
#ifndef NATIVE_FLOW_H
#define NATIVE_FLOW_H

#include "native/core.h"

struct flow; /* a Python object */

/* Once, when the module is loaded. False: an exception is set. */
bool flow_setup(void);

/* The flow that runs now; borrowed, valid as long as its context. NULL: an exception is set. */
struct flow *flow_current(void);

/* Its nesting for a profiler that is open. NULL: out of memory, or the profiler is off. */
struct auger_context *flow_context(struct flow *flow, struct core *core);

#endif

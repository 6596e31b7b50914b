/* SPDX-License-Identifier: MIT */
/* reason: why a thread waits, in a few words: the innermost frame of its stack. */
#ifndef STACKS_REASON_H
#define STACKS_REASON_H

#include <stdbool.h>

#include "base/buf.h"
#include "stacks/thread_call.h"
#include "stacks/thread_state.h"

/* was_stopped: call is of a stop by us. words: of the call ("read /a"), or "". Appends
 * "[read /a]", "[running]", "[read /a: D state in nfs_wait_bit]". */
void reason_put(struct buf *out, const struct thread_state *s, const struct thread_call *call,
		bool was_stopped, const char *words);

#endif

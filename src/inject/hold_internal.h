/* SPDX-License-Identifier: MIT */
/* hold_inside: the threads of a hold, for those who make calls in them. The folder's own. */
#ifndef INJECT_HOLD_INTERNAL_H
#define INJECT_HOLD_INTERNAL_H

#include "inject/hold.h"
#include "inject/hold_thread.h"

/* All threads that are held, those of a process one after the other; borrowed. */
struct hold_thread *hold_threads(struct hold *h, size_t *ret_count);

#endif

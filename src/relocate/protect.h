/* SPDX-License-Identifier: MIT */
/*
 * protect: keeps this process alive and fast around a pause.
 *
 * Its memory is locked and preallocated, and the OOM killer spares it; during the pause only
 * SIGKILL ends it. Steps that need a missing right are skipped. Real-time priority belongs to
 * freeze, because before the pause it would keep the job off a CPU.
 *
 * Source: mlock(2), proc(5) on oom_score_adj, mallopt(3).
 */
#ifndef RELOCATE_PROTECT_H
#define RELOCATE_PROTECT_H

#include <signal.h>

/* descriptors: how many the pause will open. */
void protect_begin(unsigned descriptors);
void protect_end(void);

void protect_block_signals(sigset_t *ret_before);
void protect_unblock_signals(const sigset_t *before);

#endif

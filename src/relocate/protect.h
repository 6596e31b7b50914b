/* SPDX-License-Identifier: MIT */
/*
 * urgent: around a pause this process stays in memory and is not chosen when memory runs out; in it
 * no signal but SIGKILL ends it. What is not allowed is left out. That it goes first is hold's:
 * before the pause that would keep the job off a CPU.
 */
#ifndef RELOCATE_PROTECT_H
#define RELOCATE_PROTECT_H

#include <signal.h>

/* numbers: descriptors that will be open. */
void protect_begin(unsigned numbers);
void protect_end(void);

void protect_block_signals(sigset_t *ret_before);
void protect_unblock_signals(const sigset_t *before);

#endif

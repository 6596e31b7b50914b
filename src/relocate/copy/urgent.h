/* SPDX-License-Identifier: MIT */
/*
 * urgent: around a pause this process stays in memory and is not chosen when memory runs out; in it
 * no signal but SIGKILL ends it. What is not allowed is left out. That it goes first is hold's:
 * before the pause that would keep the job off a CPU.
 */
#ifndef RELOCATE_COPY_URGENT_H
#define RELOCATE_COPY_URGENT_H

#include <signal.h>

/* numbers: descriptors that will be open. */
void urgent_begin(unsigned numbers);
void urgent_end(void);

void urgent_block(sigset_t *ret_before);
void urgent_unblock(const sigset_t *before);

#endif

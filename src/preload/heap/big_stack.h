/* SPDX-License-Identifier: MIT */
/* big_stack: runs what needs more stack than a hook may take: threads have 16 KiB and less. */
#ifndef PRELOAD_HEAP_BIG_STACK_H
#define PRELOAD_HEAP_BIG_STACK_H

#include <stdbool.h>

/* Runs run(arg) on a stack of our own, without signals. One caller at a time: others wait. errno is
 * kept. false: it did not run, for lack of memory, or because another caller does not end. */
bool big_stack_run(void (*run)(void *arg), void *arg);

/* For a child: nobody else uses the stack. */
void big_stack_forget(void);

/* Gives it back, where no thread uses it. */
void big_stack_release(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * capture: the call stack of the calling thread, as a node of the trie.
 *
 * The stack that a thread showed last is kept. A walk goes from the innermost frame outwards until
 * it comes to a frame that was there, with the same return address, stack and frame pointer. The
 * frames outside of it are then the known ones if memory still has their return addresses and
 * saved frame pointers: each frame determines the next one, so nothing is assumed. Frames that
 * depend on more than that (CODE_SPECIAL) are always walked.
 *
 * Only memory that is known to be readable stack is read directly. On other stacks (coroutines,
 * sigaltstack) the kernel reads it.
 */
#ifndef PRELOAD_HEAP_CAPTURE_H
#define PRELOAD_HEAP_CAPTURE_H

#include <stdint.h>

#include "preload/heap/thread.h"

/* frame: __builtin_frame_address(0) of the function that the program called: its caller is the
 * innermost frame. TRIE_FULL: the file has no space for it. errno is kept. */
uint32_t capture_stack(struct thread *t, const uint64_t *frame);

#endif

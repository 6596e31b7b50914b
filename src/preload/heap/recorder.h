/* SPDX-License-Identifier: MIT */
/*
 * recorder: the life of the recording: its start by the environment (wire/heap.h) or from outside,
 * children, its end; and the way into it from a hook.
 */
#ifndef PRELOAD_HEAP_RECORDER_H
#define PRELOAD_HEAP_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/heap/file.h"
#include "preload/heap/thread.h"

struct recorder {
	bool is_on;
	bool is_tried;       /* it is on, or the environment never makes it so */
	bool is_attached;    /* it was begun by recorder_attach() */
	uint32_t count;      /* of recordings that were begun from outside */
	uint32_t *fork_word; /* 0: this process is a child that has no file yet */
};
extern struct recorder recorder;

/* In a running process, by what is called from outside (wire/heap.h). 0 or -errno. */
int recorder_attach(const struct heap_attach *options);
/* The program's modules call the hooks from now on. */
void recorder_mark_attached(void);
/* Then takes back all memory, but a little for each thread. */
int recorder_detach(void);

/* Once the environment is there; a program's libraries may allocate before that. */
void recorder_start(void);

/* In a hook: the stack of a thread ends, if it is of this recording. */
void recorder_end_stack(struct thread_stack *s, struct thread *t);

/* Makes a child's own file. false: it is not recorded. */
bool recorder_begin_child(void);

static inline void recorder_leave(void)
{
	if (__builtin_expect(thread_tls.is_counted, 0))
		thread_end_counted();
	__atomic_store_n(&thread_tls.is_inside, false, __ATOMIC_RELEASE);
}

/* May the hook record? Then thread_tls.is_inside is set, and recorder_leave() must follow. Nothing
 * of the recording is touched before the second look, from which on its end waits for us. */
static inline bool recorder_enter(void)
{
	if (__builtin_expect(!recorder.is_on, 0)) {
		if (!recorder.is_tried)
			recorder_start();
		if (!recorder.is_on)
			return false;
	}
	if (__builtin_expect(thread_tls.is_inside, 0))
		return false;
	thread_enter();
	if (__builtin_expect(!thread_tls.self, 0))
		thread_begin_counted();
	if (__builtin_expect(!__atomic_load_n(&recorder.is_on, __ATOMIC_RELAXED), 0) ||
	    (__builtin_expect(*recorder.fork_word == 0, 0) && !recorder_begin_child())) {
		recorder_leave();
		return false;
	}
	if (__builtin_expect(!thread_tls.self, 0))
		thread_start();
	return true;
}

#endif

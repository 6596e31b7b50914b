/* SPDX-License-Identifier: MIT */
/*
 * thread: what a thread keeps for itself: the stack it showed last, counts that are not in the
 * file yet. In memory of its own, which a later thread takes over when it ends.
 */
#ifndef PRELOAD_HEAP_THREAD_H
#define PRELOAD_HEAP_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

#define FRAMES_MAX 8192 /* of a stack that is kept whole */
#define FRAMES_CUT 128  /* that are recorded of a deeper one */
#define SITES_KEPT 256
#define NODES_KEPT 1024
#define WALK_SLOTS 256
#define WINDOW_SIZE 8192
#define SHARDS 16

/* A frame of the last stack. */
struct frame {
	uint64_t pc, sp, fp;     /* as in struct unwind_frame, and the frame pointer there */
	const uint64_t *fp_slot; /* where fp was loaded from; else the slot of the return address */
	uint64_t fp_value;       /* what it had */
	uint32_t node, mapping;
};

struct kept_node {
	uint64_t pc;
	uint32_t parent, node; /* node 0: empty */
};

struct kept_site {
	uint32_t node, site; /* node 0: empty */
};

struct thread_tls;

struct thread {
	struct thread *next;            /* all threads, under the list's lock */
	uint32_t is_used;               /* by a living thread; under the list's lock */
	struct thread_tls *tls;         /* of that thread; under the list's lock */
	uint32_t shard;                 /* of its sites */
	uint64_t code_version;          /* that frames are of */
	uint32_t count;                 /* frames of the last stack */
	int64_t pending;                /* bytes that are not in the header's live yet */
	const void *recent[2];          /* the last two allocations, the last one first */
	int64_t sample_left;            /* bytes until the next sample */
	uint64_t random;                /* state of the generator; 0: not seeded */
	uint64_t stack_low, stack_high; /* known to be readable: [low..high) */
	uint32_t endings;               /* runs of its destructor */
	struct unwind_walker walker;
	struct unwind_slot slots[WALK_SLOTS];
	struct kept_site sites[SITES_KEPT]; /* direct-mapped by node */
	struct kept_node nodes[NODES_KEPT]; /* direct-mapped by pc and parent; of code_version */
	unsigned char window[WINDOW_SIZE];
	struct frame frames[FRAMES_MAX]; /* [count], outermost first */
	struct frame fresh[FRAMES_MAX];  /* scratch of a walk */
};

/* Of a thread that was created while mappings were recorded. */
struct thread_stack {
	uint64_t bytes;     /* 0: it is not recorded */
	uint32_t site;      /* that created the thread, */
	uint32_t recording; /* in this one (recorder.count) */
};

/* initial-exec: no allocation behind our back on first use in a thread. */
struct thread_tls {
	struct thread *self; /* NULL: none yet, or none any more */
	bool is_inside;      /* of a hook; set by hooks */
	bool is_counted;     /* it is inside, but in no list */
	bool has_ended;      /* its memory was given back */
	bool is_forking;     /* it has all locks of blocks and mappings */
	struct thread_stack stack;
};
extern _Thread_local struct thread_tls thread_tls __attribute__((tls_model("initial-exec")));

/* From now on it is inside of a hook, for itself and for other threads: what it reads after this is
 * no older. */
static inline void thread_enter(void)
{
	__atomic_store_n(&thread_tls.is_inside, true, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* of the processor: see thread_wait_outside() */
}

/* A thread that is inside and in no list, because it has no memory yet or no more. */
void thread_begin_counted(void);
void thread_end_counted(void);

/* Makes the calling thread's. NULL: there is no memory, or the thread is ending. errno is kept. */
struct thread *thread_start(void);

/* Can [sp..stack_high) be read? Looks at pages that were not needed before. errno is kept. */
bool thread_extend_stack(struct thread *t, uint64_t sp);

static inline bool thread_knows_stack(struct thread *t, uint64_t sp)
{
	if (__builtin_expect(sp >= t->stack_low && sp < t->stack_high, 1))
		return true;
	return thread_extend_stack(t, sp);
}

/* For a child: of all threads only the calling one is there. Its stack and counts are as if it had
 * none yet. */
void thread_forget(void);

/* ended: called for a thread that ends, before its memory is given back. false: the ends of threads
 * will not be seen. */
bool thread_init(void (*ended)(struct thread *t));

/* After recorder.is_on was cleared: waits until no thread but the calling one is in a hook. false:
 * one is still there after 10 seconds. */
bool thread_wait_outside(void);

/* Then, for all threads: calls last (may be NULL), and takes their memory back, but for a page. */
void thread_release(void (*last)(struct thread *t));

#endif

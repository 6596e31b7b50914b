/* SPDX-License-Identifier: MIT */
/*
 * wait: the types that bpf/wait.bpf.c and sample/offcpu_bpf.c share.
 *
 * A wait has a key: a hash of its stack and its thread. The kernel sums the times of a key; the
 * stack is sent once. When a key waited is sent in pieces: waits of WAIT_PIECE_NS together.
 */
#ifndef BPF_WAIT_H
#define BPF_WAIT_H

#include <linux/types.h>

#define WAIT_KERNEL_MAX 64      /* addresses of the kernel's part */
#define WAIT_USER_MAX 1024      /* of the chain of frame pointers */
#define WAIT_STACK_MAX 16384    /* bytes of the user's stack */
#define WAIT_STACK_BLOCK 64     /* bytes that are hashed at once */
#define WAIT_KEYS_MAX 32768     /* between two reads of the sums */
#define WAIT_OVERFLOW_MAX 65536 /* entries of the overflow map */
#define WAIT_FOLLOWED_MAX 65536
#define WAIT_RING_BYTES (16 << 20)
#define WAIT_RING_LEAST (256 << 10)
#define WAIT_RING_FULL 4   /* part of it that wakes user space */
#define WAIT_PIECES_PART 4 /* part of its bytes for the ring of pieces */
#define WAIT_PIECE_NS 10000000

/* When to begin to follow a process. */
enum wait_follow {
	WAIT_FOLLOW_NOW = 1,
	WAIT_FOLLOW_FROM_EXEC, /* the command, which waits before its exec */
};

/* How a wait began. */
enum wait_kind {
	WAIT_LEFT,    /* the thread left its CPU */
	WAIT_NEW,     /* it was created, and has not run yet */
	WAIT_INITIAL, /* it was off the CPU when the recording began */
};

/* The same as enum offcpu_state. */
enum wait_state {
	WAIT_UNKNOWN,
	WAIT_SLEEPING,
	WAIT_BLOCKED,
	WAIT_IOWAIT,
	WAIT_STOPPED,
	WAIT_PREEMPTED,
	WAIT_RUNNABLE,
	WAIT_DEAD,
};

/* Waits of a key that follow each other. The last one ends at end_ns. */
struct wait_times {
	__u64 begin_ns; /* of the first */
	__u64 end_ns;   /* 0: there are none */
	__u64 waited_ns, runnable_ns;
};

/* The times of a key. */
struct wait_sum {
	__u32 pid, tid;
	__u8 kind, state;
	__u8 has_rest;     /* a wait is unfinished at the end: not in count */
	__u8 is_sent;      /* struct wait_stack was sent since the map was made */
	__u64 count;       /* of waits */
	__u64 waited_ns;   /* in state */
	__u64 runnable_ns; /* from the wakeup until the thread ran */
	__u64 rest_waited_ns, rest_runnable_ns; /* of a wait that is unfinished at the end */
	struct wait_times unsent;               /* what was not sent as a piece */
};

/* When a key waited; counted in its sum, too. */
struct wait_piece {
	__u64 key;
	struct wait_times times;
	__u32 tid;
	__u8 state, zero[3];
};

/* The thread and stack of a key; the ring has only its used part. */
struct wait_stack {
	__u64 key;
	__u64 time_ns;
	__u32 pid, tid, cpu;
	__u8 kind, state;
	__u8 has_registers;
	__u8 is_32bit;
	__u64 ip, sp, bp, di;
	__u32 kernel_count, user_count; /* addresses */
	__u32 stack_len;                /* bytes */
	__u32 zero;
	__u64 kernel[WAIT_KERNEL_MAX]; /* [kernel_count], leaf first */
	union {
		unsigned char stack[WAIT_STACK_MAX]; /* [stack_len], from sp up; or */
		__u64 user[WAIT_USER_MAX];           /* [user_count], leaf first */
	};
	__u64 behind[WAIT_USER_MAX]; /* instead of user when stack is full */
};

/* Key of the overflow map; has the size of a key. */
struct wait_overflow_key {
	__u32 tid, state;
};

#endif

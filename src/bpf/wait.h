/* SPDX-License-Identifier: MIT */
/*
 * waits: what bpf/waits.bpf.c and sample/waiting share.
 *
 * A wait has a key: a hash of all that its stack can be told from, and of whose it is. The key's
 * times are summed in the kernel; the stack itself is told once.
 */
#ifndef BPF_WAIT_H
#define BPF_WAIT_H

#include <linux/types.h>

#define WAIT_KERNEL_MAX 64      /* addresses of the kernel's part */
#define WAIT_USER_MAX 1024      /* of the chain of frame pointers */
#define WAIT_STACK_MAX 16384    /* bytes of the user's stack */
#define WAIT_STACK_BLOCK 64     /* it is read and hashed in pieces of so many */
#define WAIT_KEYS_MAX 32768     /* between two looks at the sums */
#define WAIT_OVERFLOW_MAX 65536 /* besides, when these were full */
#define WAIT_FOLLOWED_MAX 65536
#define WAIT_RING_BYTES (16 << 20)
#define WAIT_RING_FULL (4 << 20) /* then user space is woken */

/* From when on a process is followed. */
enum wait_follow {
	WAIT_FOLLOW_NOW = 1,
	WAIT_FOLLOW_FROM_EXEC, /* it is a command that waits to be executed */
};

/* How a wait began. */
enum wait_kind {
	WAIT_LEFT,    /* the thread left its CPU */
	WAIT_NEW,     /* it was made, and has not run yet */
	WAIT_INITIAL, /* it waited when the recording began */
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

/* The times of a key. */
struct wait_sum {
	__u32 pid, tid;
	__u8 kind, state;
	__u8 is_sent;      /* struct wait_stack was sent since the map was made */
	__u64 count;       /* of waits */
	__u64 waited_ns;   /* in the state */
	__u64 runnable_ns; /* then, until the thread was on a CPU */
};

/* Whose a key is, and its stack; in the ring, cut behind what is used of it. */
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
	__u64 behind[WAIT_USER_MAX]; /* in place of user when stack is full */
};

/* Instead of a key, when the map was full; as large as one. */
struct wait_overflow_key {
	__u32 tid, state;
};

#endif

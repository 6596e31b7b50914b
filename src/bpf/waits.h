/* SPDX-License-Identifier: MIT */
/*
 * waits: what bpf/waits.bpf.c and sample/waiting share.
 *
 * A wait has a key: a hash of all that its stack can be told from, and of whose it is. The key's
 * times are summed in the kernel; the stack itself is told once.
 */
#ifndef BPF_WAITS_H
#define BPF_WAITS_H

#include <linux/types.h>

#define WAITS_KERNEL_MAX 64   /* addresses of the kernel's part */
#define WAITS_USER_MAX 1024   /* of the chain of frame pointers */
#define WAITS_STACK_MAX 16384 /* bytes of the user's stack */
#define WAITS_STACK_BLOCK 64  /* it is read and hashed in pieces of so many */
#define WAITS_KEYS_MAX 32768  /* between two looks at the sums */
#define WAITS_REST_MAX 65536  /* besides, when these were full */
#define WAITS_WANTED_MAX 65536
#define WAITS_RING_BYTES (16 << 20)
#define WAITS_RING_FULL (4 << 20) /* then user space is woken */

/* From when on a process is followed. */
enum waits_wanted {
	WAITS_WANTED_NOW = 1,
	WAITS_WANTED_BY_EXEC, /* it is a command that waits to be executed */
};

/* How a wait began. */
enum waits_kind {
	WAITS_LEFT,  /* the thread left its CPU */
	WAITS_NEW,   /* it was made, and has not run yet */
	WAITS_FOUND, /* it waited when the recording began */
};

/* The same as enum offcpu_state. */
enum waits_state {
	WAITS_UNKNOWN,
	WAITS_SLEEPING,
	WAITS_BLOCKED,
	WAITS_IOWAIT,
	WAITS_STOPPED,
	WAITS_PREEMPTED,
	WAITS_RUNNABLE,
	WAITS_DEAD,
};

/* The times of a key. */
struct waits_sum {
	__u32 pid, tid;
	__u8 kind, state;
	__u8 is_told;      /* struct waits_stack was sent since the map was made */
	__u64 count;       /* of waits */
	__u64 waited_ns;   /* in the state */
	__u64 runnable_ns; /* then, until the thread was on a CPU */
};

/* Whose a key is, and its stack; in the ring, cut behind what is used of it. */
struct waits_stack {
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
	__u64 kernel[WAITS_KERNEL_MAX]; /* [kernel_count], leaf first */
	union {
		unsigned char stack[WAITS_STACK_MAX]; /* [stack_len], from sp up; or */
		__u64 user[WAITS_USER_MAX];           /* [user_count], leaf first */
	};
	__u64 behind[WAITS_USER_MAX]; /* in place of user when stack is full */
};

/* Instead of a key, when the map was full; as large as one. */
struct waits_rest {
	__u32 tid, state;
};

#endif

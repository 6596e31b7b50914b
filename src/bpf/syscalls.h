/* SPDX-License-Identifier: MIT */
/*
 * syscalls: the keys and values of maps and the records of the ring, shared by syscalls.bpf.c and
 * syscalls/bpf.c.
 */
#ifndef BPF_SYSCALLS_H
#define BPF_SYSCALLS_H

#include <linux/types.h>

/* As of model/latency.h and syscalls/args.h; static_asserts of syscalls/bpf.c hold these to them.
 */
#define CALLS_SUB_BITS 3
#define CALLS_LOW_BITS 4
#define CALLS_HIGH_BITS 40
#define CALLS_SLOTS (1 + ((CALLS_HIGH_BITS - CALLS_LOW_BITS) << CALLS_SUB_BITS))
#define CALLS_NUMBERS 512
#define CALLS_32BIT 0x20000000u /* in the number of a call of 32-bit code */
#define CALLS_FETCHES 4
#define CALLS_FETCH_BYTES 512
#define CALLS_MAX_ERROR 4095
#define CALLS_COMM 16 /* bytes of a name, with the NUL */

enum calls_mode {
	CALLS_TOTALS,  /* sums by call and error */
	CALLS_THREADS, /* and by thread */
	CALLS_EVENTS,  /* each call is a record */
};

/* What on_task does. */
enum calls_phase { CALLS_SEED, CALLS_FINISH };

/* Calls of one kind. */
struct calls_cell {
	__u64 count, timed; /* timed: with entry and exit */
	__u64 total_ns, min_ns, max_ns;
	__u64 slots[CALLS_SLOTS];
};

/* A thread: the kernel reuses tids, but not with the same start. */
struct calls_thread_id {
	__u64 start; /* task_struct.start_time */
	__u32 tid, pid;
};

struct calls_key {
	struct calls_thread_id thread; /* CALLS_TOTALS: 0 */
	__u32 nr;
	__s32 error; /* errno, positive */
};

struct calls_thread {
	__u64 start_ns, end_ns; /* end_ns 0: it runs */
	__u64 process_start;    /* task_struct.start_time of its process' first thread */
	char comm[CALLS_COMM];
};

/* Sums over all threads at their end or at the end of recording; and losses. */
struct calls_sums {
	__u64 wall_ns, threads;
	__u64 lost; /* calls whose map or ring was full */
};

/* enum syscall_fetch_kind; other kinds read limit bytes */
#define CALLS_FETCH_STRING 0
#define CALLS_FETCH_BY_NEXT 2
#define CALLS_FETCH_BY_RET 3
#define CALLS_FETCH_STRINGS 4
#define CALLS_FETCH_COUNT 5
#define CALLS_FETCH_VECTORS 6
#define CALLS_FETCH_MESSAGE 7

/* Of paths of descriptors. */
#define CALLS_FDS 2
#define CALLS_PATH_NAMES 24  /* with the mounts that it crosses */
#define CALLS_NAME_BYTES 256 /* of a file, with the NUL */

#define CALLS_STRING_BYTES 128 /* of each of CALLS_FETCH_STRINGS */
#define CALLS_STRINGS 32
#define CALLS_COUNT_MAX 512
#define CALLS_VECTORS 4

/* struct syscall_iovec */
struct calls_vector {
	__u64 len, got;
	char bytes[48];
};

/* What to read of a call's memory: struct syscall_fetch. */
struct calls_fetch {
	__u8 arg, kind, unit;
	__u16 limit;
};

struct calls_plan {
	__u32 count;
	struct calls_fetch fetches[CALLS_FETCHES];
	__u8 is_unwanted; /* calls with this number are not reported */
	__u8 at_entry;    /* their memory is replaced or overwritten at exit */
	__u8 fd_count;
	__u8 fds[CALLS_FDS]; /* of the slowest calls: arguments that are open descriptors */
};

enum calls_record {
	CALLS_CALL,
	CALLS_FORK, /* pid, tid: of the child; nr: the tid of the parent */
	CALLS_EXEC, /* nr: the tid before */
	/* ret: task_struct.exit_code; nr 1: the first thread ends as another calls exec, and a
	 * CALLS_EXEC follows */
	CALLS_EXIT,
	CALLS_SIGNAL, /* the bytes are the begin of a siginfo_t */
};

struct calls_part {
	__u16 arg, len, is_cut, unused;
};

/* What was read of a call's memory. */
struct calls_memory {
	__u32 count, len; /* parts; bytes of all parts */
	struct calls_part parts[CALLS_FETCHES];
	char bytes[CALLS_FETCHES * CALLS_FETCH_BYTES]; /* of all parts, one behind the other */
};

#define CALLS_HAS_START 1u
#define CALLS_HAS_END 2u

struct calls_event {
	__u32 kind; /* enum calls_record */
	__u32 pid, tid, nr;
	__u32 has; /* CALLS_HAS_ bits */
	__u64 start_ns, end_ns;
	__s64 ret;
	__u64 args[6];
	struct calls_memory
		memory; /* its bytes are the name for CALLS_FORK and others of a thread */
};

#define CALLS_SLOWEST 10
#define CALLS_SIGINFO_BYTES 32

/* One of the slowest calls of a CPU. */
struct calls_slow {
	char comm[CALLS_COMM];
	struct calls_event event; /* both times 0: none */
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * offcpu: computes how long one thread was off the CPU from its context-switch records.
 *
 * A wait begins when a thread leaves its CPU, which several records (signals) announce, and ends
 * when it returns. Any record may be lost, so the state machine infers the missing ones. A thread
 * that runs, or that leaves again, has returned; a thread that returns without having left did so
 * after it last ran. Times are those of the recording's clock.
 */
#ifndef PERF_OFFCPU_H
#define PERF_OFFCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

/* Why a thread is not on a CPU; the value of the label "state". */
enum offcpu_state {
	OFFCPU_UNKNOWN,
	OFFCPU_SLEEPING,  /* until an event or a signal comes (S) */
	OFFCPU_BLOCKED,   /* in the kernel, no signal ends it (D) */
	OFFCPU_IOWAIT,    /* likewise, for a device */
	OFFCPU_STOPPED,   /* by a signal or a debugger (T, t) */
	OFFCPU_PREEMPTED, /* it could go on, but another thread is on the CPU */
	OFFCPU_RUNNABLE,  /* the wait is over, but no CPU is free */
	OFFCPU_STATES,
	OFFCPU_DEAD = OFFCPU_STATES /* it will not come back: no state to wait in */
};
extern const char *const offcpu_state_names[OFFCPU_STATES];

/* The state of a thread in sched:sched_switch. Source: kernel 6.18,
 * include/trace/events/sched.h, prev_state. */
enum offcpu_state offcpu_state_of(int64_t prev_state);

/* The records that announce a wait. Each comes once per wait. */
enum offcpu_signal {
	OFFCPU_EACH = 1,    /* the sample of each switch */
	OFFCPU_DEEP = 2,    /* a sample with more of the stack, of some */
	OFFCPU_OUT = 4,     /* the record of the switch itself */
	OFFCPU_NEW = 8,     /* the thread was made: it has not run yet */
	OFFCPU_INITIAL = 16 /* found waiting when the recording began */
};

struct pending_sample;

/* One thread. All zero: nothing is known of it. */
struct offcpu {
	uint64_t left_ns;     /* since when it waits; 0: it does not, as far as is known */
	uint64_t woken_ns;    /* 0: not yet */
	uint64_t last_ran_ns; /* when it last was on a CPU; 0: never */
	int64_t unsampled_ns; /* that it ran, so far as is known, less what it was sampled doing */
	uint32_t node;        /* its stack; 0: none */
	uint8_t signals;      /* of this wait */
	uint8_t state;        /* enum offcpu_state */
	bool is_cut;          /* the stack lacks its outer end */
	struct pending_sample *pending; /* the stack comes later; borrowed */
};

/* A wait that is over. */
struct offcpu_wait {
	struct offcpu before; /* as the thread was */
	uint64_t waited_ns;   /* in its state */
	uint64_t runnable_ns; /* then, until it was on a CPU */
	bool is_lost;         /* the record of its start or its end */
	bool is_unfinished;   /* the recording ended first */
};

/* Did it begin before the recording? */
bool offcpu_began_before(const struct offcpu_wait *wait);

/* All return true when they end a wait. */

/* state OFFCPU_UNKNOWN: the signal has none. */
bool offcpu_leave(struct offcpu *o, enum offcpu_signal signal, uint64_t time_ns,
		  enum offcpu_state state, struct offcpu_wait *ret) MUST_CHECK;
/* It became runnable. */
void offcpu_wake(struct offcpu *o, uint64_t time_ns);
/* start_ns: the start of the wait of a thread without earlier records; 0: unknown. */
bool offcpu_return(struct offcpu *o, uint64_t time_ns, uint64_t start_ns,
		   struct offcpu_wait *ret) MUST_CHECK;
/* A sample shows that it is on a CPU; ran_ns: the time that the sample stands for. */
bool offcpu_running(struct offcpu *o, uint64_t time_ns, uint64_t ran_ns,
		    struct offcpu_wait *ret) MUST_CHECK;
/* The recording or the thread ends. */
bool offcpu_end(struct offcpu *o, uint64_t time_ns, struct offcpu_wait *ret) MUST_CHECK;
/*
 * Then, when records of switches were lost: what it seemed to run, and was not sampled doing, it
 * waited.
 */
bool offcpu_flush(struct offcpu *o, struct offcpu_wait *ret) MUST_CHECK;

#endif

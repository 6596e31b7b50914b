/* SPDX-License-Identifier: MIT */
/*
 * attr: an event as perf_event_open(2) wants it, and what can be had of it here.
 */
#ifndef SAMPLE_ATTR_H
#define SAMPLE_ATTR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "sample/events.h"

#define ATTR_STACK_MAX 65528 /* what fits in a record, says the kernel */

/* How stacks are taken. */
enum stack_mode {
	STACK_DWARF, /* the user's part by unwinding tables, from a copy of the stack */
	STACK_FP,    /* frame pointers, by the kernel */
	STACK_NONE,  /* only the address */
};

struct attr_opts {
	uint64_t frequency_hz; /* samples a second and thread; 0: by period */
	uint64_t period;       /* of the event; 0: by frequency */
	enum stack_mode stack;
	uint32_t stack_bytes; /* STACK_DWARF: to copy; a multiple of 8, at most ATTR_STACK_MAX */
	bool is_user_only, is_kernel_only;
	bool has_inherit;       /* children are sampled, too */
	bool has_exec;          /* starts with the next exec */
	bool has_identifier;    /* samples tell which event they are of */
	bool has_no_user_chain; /* STACK_DWARF: perf shows it besides what it unwinds */
	bool has_raw;           /* samples of tracepoints bring their fields */
	bool is_raw_only;       /* and nothing else but their time; no identifier either */
	bool has_idle;          /* what a CPU does while it is idle, too */
	bool has_address;   /* samples tell the address of their data, the side band all mappings */
	bool has_data_maps; /* mappings that are not executable are told: perf unwinds with them */
};

/* A sampling event. Starts disabled. */
struct perf_event_attr attr_sampling(const struct event *event, const struct attr_opts *o);

/* Tells of processes and their mappings; samples nothing. */
struct perf_event_attr attr_side_band(const struct attr_opts *o);

/* Writes nothing: holds a ring that other events of its CPU write to. */
struct perf_event_attr attr_ring_owner(const struct attr_opts *o);

/* What tells of switches between threads. */
enum attr_switch {
	ATTR_SWITCH_EACH, /* a sample when a thread leaves its CPU, and records of each switch */
	ATTR_SWITCH_DEEP, /* a sample of some, with a larger copy of the stack */
	ATTR_SWITCH_WAKE, /* a sample when a thread may run again */
	ATTR_SWITCHES
};

/* tracepoint: its number; 0: by what needs none. stack_bytes of o: that are copied. */
struct perf_event_attr attr_switch(enum attr_switch kind, const struct attr_opts *o,
				   uint64_t tracepoint);

/* perf_event_open(2): a descriptor or -errno. What a kernel older than the attr does not
 * know is left out of *attr. */
int attr_open(struct perf_event_attr *attr, pid_t pid, int cpu);

/*
 * Can a process of ours be sampled like this? Lessens *attr until it works: less precise;
 * without the kernel's part (then *ret_no_kernel). -ENOENT: no such event on this machine;
 * else the reason and the remedy.
 */
int attr_probe(struct perf_event_attr *attr, const char *name, bool *ret_no_kernel,
	       struct err *e) MUST_CHECK;

/* Words for a failed attr_open, with the knob to turn. pid -1: all processes. Returns code. */
int attr_explain(int code, const char *name, pid_t pid, struct err *e);

/* A number in /proc/sys/kernel; fallback when it cannot be read. */
int64_t attr_sysctl(const char *name, int64_t fallback);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * attr: fills perf_event_attr, opens events, and explains why an event cannot be opened.
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

#define ATTR_STACK_MAX 65528 /* what fits in a record (kernel/events/core.c) */

/* How stacks are sampled. */
enum stack_mode {
	STACK_DWARF, /* user stack by unwinding tables, from a copy of the stack */
	STACK_FP,    /* frame pointers, by the kernel */
	STACK_NONE,  /* only the address */
};

struct attr_opts {
	uint64_t frequency_hz; /* samples a second and thread; 0: by period */
	uint64_t period;       /* of the event; 0: by frequency */
	enum stack_mode stack;
	uint32_t stack_bytes; /* STACK_DWARF: to copy; a multiple of 8, at most ATTR_STACK_MAX */
	bool is_user_only, is_kernel_only;
	bool has_inherit;       /* children inherit the event */
	bool has_exec;          /* starts with the next exec */
	bool has_identifier;    /* samples have PERF_SAMPLE_IDENTIFIER */
	bool has_no_user_chain; /* STACK_DWARF: perf would print it besides the unwound frames */
	bool has_raw;           /* samples of tracepoints have their raw data */
	bool is_raw_only;       /* raw data, ABI and time only, without an identifier */
	bool has_idle;          /* samples of idle CPUs, too */
	bool has_address;   /* samples have data addresses; side-band events have all mappings */
	bool wakes_each;    /* each sample wakes the reader up */
	bool has_data_maps; /* side-band events have data mappings: perf unwinds with them */
};

/* A sampling event. Starts disabled. */
struct perf_event_attr attr_sampling(const struct event *event, const struct attr_opts *o);

/* Records side-band events (processes and mappings); samples nothing. */
struct perf_event_attr attr_side_band(const struct attr_opts *o);

/* A dummy event: owns a ring that other events of its CPU write to. */
struct perf_event_attr attr_ring_owner(const struct attr_opts *o);

/* Events that record context switches. */
enum attr_switch {
	ATTR_SWITCH_EACH, /* a sample when a thread leaves its CPU, and PERF_RECORD_SWITCH */
	ATTR_SWITCH_DEEP, /* a sample of some switches, with a larger copy of the stack */
	ATTR_SWITCH_WAKE, /* a sample when a thread becomes runnable */
	ATTR_SWITCHES
};

/* tracepoint: its number; 0: a software event. Copies stack_bytes of o. */
struct perf_event_attr attr_switch(enum attr_switch kind, const struct attr_opts *o,
				   uint64_t tracepoint);

/* perf_event_open(2): a descriptor or -errno. Clears bits of *attr that an older kernel rejects. */
int attr_open(struct perf_event_attr *attr, pid_t pid, int cpu);

/*
 * Tries *attr on this process, and weakens it until it works: less precise, then without the
 * kernel (*ret_no_kernel). -ENOENT: no such event on this machine; else the reason and the remedy.
 */
int attr_probe(struct perf_event_attr *attr, const char *name, bool *ret_no_kernel,
	       struct err *e) MUST_CHECK;

/* Explains a failed attr_open() and names the setting to change. pid -1: all processes. Returns
 * code. */
int attr_explain(int code, const char *name, pid_t pid, struct err *e);

/* A number in /proc/sys/kernel; fallback when it cannot be read. */
int64_t attr_sysctl(const char *name, int64_t fallback);

#endif

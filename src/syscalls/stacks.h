/* SPDX-License-Identifier: MIT */
/*
 * sysc_stacks: calls by user stack, of threads that are stopped in them by ptrace(2).
 *
 * Stacks are read and unwound as those of perf's samples: by ingest, which is told what the
 * kernel's records would tell it. Failure is lack of memory only, and remembered.
 */
#ifndef SYSCALLS_STACKS_H
#define SYSCALLS_STACKS_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"
#include "syscalls/call.h"

struct sysc_stacks;

/* Adds the sample types to the profile, which must be empty and outlive it. */
int sysc_stacks_new(struct profile *p, struct sysc_stacks **ret, struct err *e) MUST_CHECK;
void sysc_stacks_free(struct sysc_stacks *s);

/* Of processes and threads; what was not told of is asked of /proc. */
void sysc_stacks_fork(struct sysc_stacks *s, uint32_t pid, uint32_t tid, uint32_t ppid,
		      uint32_t ptid);
void sysc_stacks_exec(struct sysc_stacks *s, uint32_t pid);
void sysc_stacks_exit(struct sysc_stacks *s, uint32_t pid, uint32_t tid);

/* A call begins, and its thread is stopped there. name: of the call. */
void sysc_stacks_begin(struct sysc_stacks *s, const struct sysc_call *c, const char *name);
/* It has ended: perhaps it mapped code. */
void sysc_stacks_end(struct sysc_stacks *s, const struct sysc_call *c);

/* Completes the profile and names what is in it. */
int sysc_stacks_finish(struct sysc_stacks *s, struct err *e) MUST_CHECK;

#endif

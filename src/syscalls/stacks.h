/* SPDX-License-Identifier: MIT */
/*
 * syscall_stacks: calls by user stack, of threads that are stopped in them by ptrace(2).
 *
 * Stacks are read and unwound as those of perf's samples: by ingest, which is decoded what the
 * kernel's records would report_call it. Failure is lack of memory only, and remembered.
 */
#ifndef SYSCALLS_STACKS_H
#define SYSCALLS_STACKS_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"
#include "syscalls/call.h"

struct syscall_stacks;

/* Adds the sample types to the profile, which must be empty and outlive it. */
int syscall_stacks_new(struct profile *p, struct syscall_stacks **ret, struct err *e) MUST_CHECK;
void syscall_stacks_free(struct syscall_stacks *s);

/* Of processes and threads; what was not decoded of is asked of /proc. */
void syscall_stacks_fork(struct syscall_stacks *s, uint32_t pid, uint32_t tid, uint32_t ppid,
			 uint32_t ptid);
void syscall_stacks_exec(struct syscall_stacks *s, uint32_t pid);
void syscall_stacks_exit(struct syscall_stacks *s, uint32_t pid, uint32_t tid);

/* A call begins, and its thread is stopped there. name: of the call. */
void syscall_stacks_begin(struct syscall_stacks *s, const struct syscall *c, const char *name);
/* It has ended: perhaps it mapped code. */
void syscall_stacks_end(struct syscall_stacks *s, const struct syscall *c);

/* Completes the profile and names what is in it. */
int syscall_stacks_finish(struct syscall_stacks *s, struct err *e) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * stacks: adds calls to a profile by user stack, for threads that ptrace(2) has stopped in them; or
 * tells the stack of each call.
 *
 * perf/ingest unwinds the stacks: it gets the records that the kernel's sampling would write. The
 * only failure is lack of memory; syscall_stacks_finish() or syscall_stacks_name() returns it.
 * Python functions are read from the memory of the stopped thread, and are exact.
 */
#ifndef SYSCALLS_STACKS_H
#define SYSCALLS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"
#include "syscalls/call.h"

struct syscall_stacks;

/* Adds the sample types to the profile, which must be empty and outlive it. is_trace: for
 * syscall_stacks_get(), else for syscall_stacks_begin(). */
int syscall_stacks_new(struct profile *p, bool is_trace, struct syscall_stacks **ret,
		       struct err *e) MUST_CHECK;
void syscall_stacks_free(struct syscall_stacks *s);

/* Is the command, or one of the running processes, a Python program? Its file is looked at. */
bool syscall_stacks_is_python(char *const *argv, const pid_t *pids, size_t pid_count);

/* Report processes and threads; /proc is read for those that were not reported. */
void syscall_stacks_fork(struct syscall_stacks *s, uint32_t pid, uint32_t tid, uint32_t ppid,
			 uint32_t ptid);
void syscall_stacks_exec(struct syscall_stacks *s, uint32_t pid);
void syscall_stacks_exit(struct syscall_stacks *s, uint32_t pid, uint32_t tid);

/* A call begins, and its thread is stopped at entry. name: of the call. */
void syscall_stacks_begin(struct syscall_stacks *s, const struct syscall *c, const char *name);
/* Likewise; returns its stack, a node of the profile. 0: the thread was killed meanwhile. */
uint32_t syscall_stacks_get(struct syscall_stacks *s, const struct syscall *c);
/* A call has ended: it may have mapped code. */
void syscall_stacks_end(struct syscall_stacks *s, const struct syscall *c);

/* Names what is new in the profile; *ret_done: all has its names. Naming is put off as long as it
 * took the last time, unless this is the end. */
int syscall_stacks_name(struct syscall_stacks *s, bool is_end, bool *ret_done,
			struct err *e) MUST_CHECK;

/* Completes the profile and symbolizes it. */
int syscall_stacks_finish(struct syscall_stacks *s, struct err *e) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * thread_call: the system call that a thread waits in, its file or peer, and where its stack is.
 *
 * Source: proc(5), /proc/PID/task/TID/syscall; restart_syscall(2).
 */
#ifndef STACKS_THREAD_CALL_H
#define STACKS_THREAD_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/strtab.h"
#include "syscalls/call.h"
#include "syscalls/files.h"
#include "target/connections.h"

/* All zero: nothing is known. */
struct thread_call {
	bool is_known;   /* the following hold */
	bool is_running; /* on a CPU, or ready to: the rest is not known */
	bool is_in_call; /* call.nr and call.args; else it is in a page fault, or in no call */
	uint64_t sp, pc; /* 0: unknown */
	struct syscall call;
};

/* A line of that file. wchan: the function of the kernel that waits, or "": restarted calls have
 * the number of restart_syscall(2), and it tells which call that is. */
struct thread_call thread_call_parse(const char *line, const char *wchan);

/* Of a thread; unreadable: unknown. */
struct thread_call thread_call_read(uint32_t pid, uint32_t tid, const char *wchan);

/* Names calls and what they are about. All zero but for strings is empty. */
struct call_names {
	struct syscall_files files; /* its strings are the caller's */
	struct connections connections;
	struct buf call;   /* "read(3</a>, 0x7f..., 5)" */
	struct buf object; /* "/a", "10.0.0.1:22 - 10.0.0.2:80", "pipe:[5]"; empty: none */
	struct buf reason; /* "read /a", "recvfrom 10.0.0.2:80", "read pipe" */
};

void call_names_fini(struct call_names *n);

/* Fills the texts for a call of a thread; reads what it points to from the process where may_read.
 * -ENOMEM. */
int call_names_put(struct call_names *n, const struct syscall *call, bool may_read,
		   struct err *e) MUST_CHECK;

#endif

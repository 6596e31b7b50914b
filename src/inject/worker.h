/* SPDX-License-Identifier: MIT */
/*
 * worker: one held thread that runs code of ours, and finds home again. The folder's own.
 *
 * Between worker_enter_*() and worker_leave() its registers lead into a slot (arch.h). Whenever it
 * is let go there, by the death of this process as well, it runs its lists to their end and goes on
 * with what it did before. A restartable sequence that it was stopped in is aborted, as by the
 * kernel after any stop.
 *
 * Source: ptrace(2), rseq(2); ../shared/spec/relocate.md 2.3, 2.10.
 */
#ifndef INJECT_WORKER_H
#define INJECT_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "inject/arch.h"

struct worker {
	pid_t pid, tid;        /* as we name them */
	struct arch_home home; /* settled registers, mask, ids */
	struct arch_regs was;  /* registers to put back: the kernel makes its call again */
	int memory;            /* /proc/PID/mem; borrowed */
	uint64_t slot;         /* address of its slot; 0: none yet */
	bool is_away;          /* its registers lead into a slot */
	bool is_masked;        /* its signals are blocked */
	bool got_signal;       /* home.signal came from elsewhere, too */
};

/* tid is stopped. -ENOTSUP: it runs 32-bit code. */
int worker_init(struct worker *ret, pid_t pid, pid_t tid, int memory, int signal,
		struct err *e) MUST_CHECK;

/* What the code of the slot is for this thread. */
void worker_fill_slot(const struct worker *w, unsigned char *slot);

/* One call by the slot at address, whose result comes back; the thread stays there. */
int worker_call_once(struct worker *w, uint64_t address, long nr, const uint64_t arg[6],
		     int64_t *ret_result, struct err *e) MUST_CHECK;

/* From now on it runs the lists of head when it is let go. */
int worker_enter_lists(struct worker *w, uint64_t address, uint64_t head, struct err *e) MUST_CHECK;

/* Runs until the slot stops it. -ESRCH: it was killed. -EFAULT: the slot went wrong. */
int worker_run(struct worker *w, struct err *e) MUST_CHECK;

/* Mask and registers as they were. */
void worker_leave(struct worker *w);

/* A signal that pid ignores also when nobody traces it, to stop its threads for us. */
int worker_choose_signal(pid_t pid);

#endif

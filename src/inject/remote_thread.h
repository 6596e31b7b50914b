/* SPDX-License-Identifier: MIT */
/*
 * worker: one held thread that runs code of ours, and finds home again. The folder's own.
 *
 * Between worker_enter_*() and remote_thread_restore() its registers lead into a slot (arch.h).
 * Whenever it is let go there, by the death of this process as well, it runs its lists to their end
 * and goes on with what it did before. A restartable sequence that it was stopped in is aborted, as
 * by the kernel after any stop.
 *
 * Source: ptrace(2), rseq(2); ../shared/spec/relocate.md 2.3, 2.10.
 */
#ifndef INJECT_REMOTE_THREAD_H
#define INJECT_REMOTE_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/macros.h"
#include "inject/arch.h"

struct remote_thread {
	pid_t pid, tid;            /* as we name them */
	struct arch_resume resume; /* settled registers, mask, ids */
	struct arch_regs saved;    /* registers to put back: the kernel makes its call again */
	int memory;                /* /proc/PID/mem; borrowed */
	uint64_t trampoline;       /* address of its slot; 0: none yet */
	bool is_diverted;          /* its registers lead into a slot */
	bool is_masked;            /* its signals are blocked */
	bool got_signal;           /* home.signal came from elsewhere, too */
};

/* tid is stopped. -ENOTSUP: it runs 32-bit code. */
int remote_thread_init(struct remote_thread *ret, pid_t pid, pid_t tid, int memory, int signal,
		       struct err *e) MUST_CHECK;

/* What the code of the slot is for this thread. */
void remote_thread_fill_trampoline(const struct remote_thread *w, unsigned char *trampoline);

/* One call by the slot at address, whose result comes back; the thread stays there. */
int remote_thread_call_once(struct remote_thread *w, uint64_t address, long nr,
			    const uint64_t arg[6], int64_t *ret_result, struct err *e) MUST_CHECK;

/* From now on it runs the lists of head when it is let go. */
int remote_thread_enter_lists(struct remote_thread *w, uint64_t address, uint64_t control,
			      struct err *e) MUST_CHECK;

/* Runs until the slot stops it. -ESRCH: it was killed. -EFAULT: the slot went wrong. */
int remote_thread_run(struct remote_thread *w, struct err *e) MUST_CHECK;

/* Mask and registers as they were. */
void remote_thread_restore(struct remote_thread *w);

/* A signal that pid ignores also when nobody traces it, to stop its threads for us. */
int remote_thread_choose_signal(pid_t pid);

#endif

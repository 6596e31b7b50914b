/* SPDX-License-Identifier: MIT */
/*
 * arch: the processor-specific part of system calls that a stopped thread makes for us.
 *
 * A trampoline is position-independent code followed by data words, copied into the memory of the
 * process, one for each thread. It makes calls and stops for the tracer by a signal that the
 * process ignores when nobody traces it. At the end it restores the registers, the signal mask and
 * the scheduling policy of its thread by itself. So a tracer may die at any time: the thread
 * returns to its program.
 *
 * Source: ptrace(2), syscall(2); Linux arch/x86/entry and arch/arm64/kernel/signal.c for the
 * registers of an interrupted call.
 */
#ifndef INJECT_ARCH_H
#define INJECT_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

struct arch_regs {
	uint64_t word[104]; /* the layout is private to arch_*.c */
};

/* tid is in a ptrace stop. 0 or -errno. -ENOTSUP: aarch64: it computes with SVE, whose registers
 * would be lost. */
int arch_read(pid_t tid, struct arch_regs *ret) MUST_CHECK;
int arch_write(pid_t tid, const struct arch_regs *regs) MUST_CHECK;

/* Does the thread run code of the processor of this build (not 32-bit code)? */
bool arch_is_native(const struct arch_regs *regs);
/* Is it known to be in a system call, not in the code of the program? */
bool arch_is_in_call(const struct arch_regs *regs);
uint64_t arch_ip(const struct arch_regs *regs);
/* By its DWARF number, of the general ones. false: the processor has no such register. */
bool arch_get(const struct arch_regs *regs, unsigned number, uint64_t *ret);
void arch_set_ip(struct arch_regs *regs, uint64_t ip);

/* True: the stop ended a wait with EINTR that the kernel does not restart. Then regs restart it. */
bool arch_restart_call(struct arch_regs *regs);

/* Makes the registers alone restart an interrupted call. The trampoline needs that: when it
 * returns, the kernel does not know of the interruption. */
void arch_prepare_restart(struct arch_regs *regs);

/* One call in the layout that the code of the trampoline reads. */
struct arch_call {
	int64_t nr; /* or ARCH_RESUME, ARCH_SET_FLAG, ARCH_FUNCTION */
	uint64_t arg[6];
	uint64_t arg0_from; /* address of a word that holds arg[0]; with bit 0 set, of an int; 0:
			       none */
	uint64_t arg4_from; /* address of a word that holds arg[4]; 0: none */
	uint64_t may_fail;  /* 1: the list continues after a failure */
	int64_t result;     /* the thread writes it; -errno on failure */
};

#define ARCH_RESUME (-1)   /* the thread resumes its program */
#define ARCH_SET_FLAG (-2) /* sets the commit flag to arg[0] */
/* Calls the function at arg[0] with arg[1], arg[2], arg[3] on the stack below arg[4], a multiple of
 * 64, above which the registers of numbers and vectors are saved meanwhile. It cannot fail. */
#define ARCH_FUNCTION (-4)
#define ARCH_LISTS 3

/* Of clone(2): CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM. */
#define ARCH_CLONE_FLAGS (0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000)

/* The control block of a thread, in memory that the process can write. */
struct arch_control {
	uint64_t flag;           /* address of the commit flag: the index of the list to run */
	uint64_t at[ARCH_LISTS]; /* address of the next call of each list */
	uint64_t failed;         /* address of the last call that failed; 0: none */
	uint64_t own_flag;       /* a commit flag for this thread alone */
	uint64_t is_applied;     /* its first int is 1 after the calls of REMOTE_APPLY */
	uint64_t spare;
};

/* The state to which a trampoline restores its thread. */
struct arch_resume {
	struct arch_regs regs; /* after arch_prepare_restart() */
	uint64_t mask;         /* blocked signals of the thread */
	pid_t pid, tid;        /* ids in the pid namespace of the thread, for tgkill(2) */
	int signal;            /* stops the thread for the tracer */
	int policy;            /* of sched_setscheduler(2), with priority 0; -1: not restored */
};

/* What ARCH_FUNCTION saves above its stack, which is zeroes before the first call. 0: this
 * processor has no such calls. */
size_t arch_function_state_bytes(void);

size_t arch_trampoline_bytes(void);
void arch_trampoline_fill(unsigned char *trampoline, const struct arch_resume *resume);
/* The reverse: sets regs, which are those of the thread in it, mask and policy. False: that is no
 * trampoline. */
bool arch_trampoline_read(const unsigned char *trampoline, struct arch_resume *resume);

/* Makes regs run the trampoline at address: one call, a stop, then the return to the program. */
void arch_enter_once(struct arch_regs *regs, uint64_t address, long nr, const uint64_t arg[6]);
/* The same with a clone(2) that adds a thread to the process. The new thread ends at once, unless
 * the tracer sets its registers before it runs. */
void arch_enter_clone(struct arch_regs *regs, uint64_t address);
int64_t arch_once_result(const struct arch_regs *regs);
/* Makes regs run the call lists of the control block. */
void arch_enter_lists(struct arch_regs *regs, uint64_t address, uint64_t control);

#endif

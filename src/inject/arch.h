/* SPDX-License-Identifier: MIT */
/*
 * arch: what differs between processors when calls are made inside a stopped thread.
 *
 * A slot is position-independent code with a few words behind it, put into the memory of the job,
 * one for each thread that runs it. It makes calls, stops for the tracer by a signal that is
 * ignored where no tracer lives, and at its end puts the thread's own registers and signal mask
 * back without help. So a tracer may die at any time: the thread finds its way home.
 *
 * Source: ptrace(2), syscall(2); Linux arch/x86/entry, arch/arm64/kernel/signal.c for what is in
 * the registers of an interrupted call.
 */
#ifndef INJECT_ARCH_H
#define INJECT_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

struct arch_regs {
	uint64_t word[104]; /* as the file of the processor has them */
};

/* tid is in a ptrace stop. 0 or -errno. */
int arch_read(pid_t tid, struct arch_regs *ret) MUST_CHECK;
int arch_write(pid_t tid, const struct arch_regs *regs) MUST_CHECK;

/* Does the thread run code of the processor this is built for (not 32-bit)? */
bool arch_is_native(const struct arch_regs *regs);
/* Is it known to be in a system call, not in the program's code? */
bool arch_is_in_call(const struct arch_regs *regs);
uint64_t arch_ip(const struct arch_regs *regs);
void arch_set_ip(struct arch_regs *regs, uint64_t ip);

/* The stop ended a wait with EINTR that the kernel does not make again by itself: true, and regs
 * make it again. */
bool arch_restart_call(struct arch_regs *regs);

/* What the thread is to have when it runs on without the kernel looking at an interrupted call:
 * the call is made again by the registers alone. */
void arch_prepare_restart(struct arch_regs *regs);

/* One call as the slot's code reads it. */
struct arch_call {
	int64_t nr; /* or ARCH_RESUME, ARCH_SET_FLAG */
	uint64_t arg[6];
	uint64_t arg0_from; /* address of the word that is arg[0], one more: of an int; 0: arg[0]
			       itself */
	uint64_t arg4_from; /* address of the word that is arg[4]; 0: arg[4] itself */
	uint64_t may_fail;  /* 1: a failure does not stop the list */
	int64_t result;     /* written by the job; -errno on failure */
};

#define ARCH_RESUME (-1)   /* the thread goes home */
#define ARCH_SET_FLAG (-2) /* the gate is set to arg[0] */
#define ARCH_LISTS 3

/* The head of a thread's lists, in memory that the job can write. */
struct arch_control {
	uint64_t flag;           /* address of the word that says which list goes on */
	uint64_t at[ARCH_LISTS]; /* address of the next call of each list */
	uint64_t failed;         /* address of the call that failed last; 0: none */
	uint64_t own_flag;       /* a gate for this thread alone */
	uint64_t is_applied;     /* its first int: the calls of go were made */
	uint64_t spare;
};

/* What a slot is filled with. */
struct arch_resume {
	struct arch_regs regs; /* settled */
	uint64_t mask;         /* signals that are blocked at home */
	pid_t pid, tid;        /* the thread as it names itself, to send itself a signal */
	int signal;            /* what stops it for the tracer */
};

size_t arch_trampoline_bytes(void);
void arch_trampoline_fill(unsigned char *trampoline, const struct arch_resume *resume);

/* regs to run the slot at address: one call, then the stop, then home. */
void arch_enter_once(struct arch_regs *regs, uint64_t address, long nr, const uint64_t arg[6]);
int64_t arch_once_result(const struct arch_regs *regs);
/* The lists of head. */
void arch_enter_lists(struct arch_regs *regs, uint64_t address, uint64_t control);

#endif

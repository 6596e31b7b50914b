/* SPDX-License-Identifier: MIT */
#include "inject/arch.h"

#include <asm/sigcontext.h>
#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "base/macros.h"

/* Missing in older libc headers. */
#ifndef NT_ARM_SVE
#define NT_ARM_SVE 0x405
#endif

/* The layout of arch_regs.word. */
struct stop_regs {
	struct user_regs_struct user;
	uint64_t call; /* the system call that the stop interrupted; -1: none */
	uint64_t is_32_bit;
	uint64_t vector[66]; /* struct user_fpsimd_struct */
};

static_assert(sizeof(struct stop_regs) <= sizeof(struct arch_regs), "arch_regs can hold them");
static_assert(sizeof(struct arch_call) == 88 && offsetof(struct arch_call, arg0_from) == 56 &&
		      offsetof(struct arch_call, may_fail) == 72 &&
		      offsetof(struct arch_call, result) == 80,
	      "the code of the trampoline uses these offsets");
static_assert(offsetof(struct arch_control, at) == 8 && offsetof(struct arch_control, failed) == 32,
	      "the code of the trampoline uses these offsets");

/* The data words after the code. No register is free for the last jump. So the thread returns by
 * rt_sigreturn, with a frame that no signal has pushed. */
struct words {
	uint64_t pid, tid, signal;
	int64_t policy;
	struct {
		unsigned char info[128]; /* siginfo_t; its 0 is the struct sched_param, too */
		struct {
			uint64_t flags, link;
			uint64_t stack[3];
			uint64_t mask;
			unsigned char unused[120];
			uint64_t pad;
			struct {
				uint64_t fault_address, regs[31], sp, pc, pstate, pad;
				struct {
					uint32_t magic, size, fpsr, fpcr;
					__uint128_t vregs[32];
				} vector;
				struct {
					uint32_t magic, size;
				} end;
			} context;
		} user;
	} frame;
};

static_assert(offsetof(struct words, frame) == 32, "the code of the trampoline uses this offset");
static_assert(offsetof(struct words, frame.user.context) == 32 + 128 + 176,
	      "struct rt_sigframe of the kernel");

extern const unsigned char auger_trampoline[];
/* Offsets in auger_trampoline: the loop over calls, the data words. */
extern const uint64_t auger_trampoline_lists_at, auger_trampoline_words_at;

/*
 * The first instruction makes the single call; x20 is 0 if that is a clone(2), which returns 0 to
 * the new thread. Label 1 begins the loop over calls. x19 is the control block, x20 the call, x21
 * the address of the next call's address. Calls preserve all registers but x0. Only rt_sigreturn
 * needs the stack pointer.
 */
__asm__(".pushsection .rodata\n"
	".macro auger_stop\n"
	"	ldr x0, 11f\n"
	"	ldr x1, 11f+8\n"
	"	ldr x2, 11f+16\n"
	"	mov x8, #131\n" /* tgkill */
	"	svc #0\n"
	".endm\n"
	".balign 16\n"
	".globl auger_trampoline, auger_trampoline_lists_at, auger_trampoline_words_at\n"
	".hidden auger_trampoline, auger_trampoline_lists_at, auger_trampoline_words_at\n"
	"auger_trampoline:\n"
	"	svc #0\n"
	"	mov x19, x0\n"
	"	orr x6, x0, x20\n"
	"	cbz x6, 6f\n"
	"	auger_stop\n"
	"	b 9f\n"
	"6:	mov x8, #93\n" /* exit: a new thread */
	"	svc #0\n"
	"1:	ldr x6, [x19]\n"
	"	ldr x6, [x6]\n"
	"	add x21, x19, x6, lsl #3\n"
	"	add x21, x21, #8\n"
	"	ldr x20, [x21]\n"
	"	ldr x8, [x20]\n"
	"	cmn x8, #1\n"
	"	b.eq 9f\n"
	"	ldr x0, [x20, #8]\n"
	"	cmn x8, #2\n"
	"	b.eq 5f\n"
	"	ldr x6, [x20, #56]\n"
	"	cbz x6, 2f\n"
	"	tbnz x6, #0, 4f\n"
	"	ldr x0, [x6]\n"
	"	b 2f\n"
	"4:	ldursw x0, [x6, #-1]\n"
	"2:	ldp x1, x2, [x20, #16]\n"
	"	ldp x3, x4, [x20, #32]\n"
	"	ldr x5, [x20, #48]\n"
	"	ldr x6, [x20, #64]\n"
	"	cbz x6, 3f\n"
	"	ldr x4, [x6]\n"
	"3:	add x6, x20, #88\n"
	"	str x6, [x21]\n" /* before the call: the tracer may change it while the call stops
				    this thread */
	"	svc #0\n"
	"	str x0, [x20, #80]\n"
	"	cmn x0, #4095\n"
	"	b.lo 1b\n"
	"	ldr x6, [x20, #72]\n"
	"	cbnz x6, 1b\n"
	"	str x20, [x19, #32]\n"
	"	auger_stop\n"
	"	b 1b\n"
	"5:	add x6, x20, #88\n"
	"	str x6, [x21]\n"
	"	ldr x6, [x19]\n"
	"	str x0, [x6]\n"
	"	b 1b\n"
	"9:	ldr x1, 11f+24\n"
	"	tbnz x1, #63, 10f\n"
	"	mov x0, #0\n"
	"	adr x2, 11f+32\n"
	"	mov x8, #119\n" /* sched_setscheduler */
	"	svc #0\n"
	"10:	adr x0, 11f+32\n"
	"	mov sp, x0\n"
	"	mov x8, #139\n" /* rt_sigreturn */
	"	svc #0\n"
	".balign 16\n"
	"11:\n"
	"auger_trampoline_lists_at:	.quad 1b - auger_trampoline\n"
	"auger_trampoline_words_at:	.quad 11b - auger_trampoline\n"
	".purgem auger_stop\n"
	".popsection\n");

size_t arch_function_state_bytes(void)
{
	return 0; /* its trampoline has no ARCH_FUNCTION */
}

size_t arch_trampoline_bytes(void)
{
	return auger_trampoline_words_at + sizeof(struct words);
}

static struct stop_regs *stop_regs(struct arch_regs *regs)
{
	return (struct stop_regs *)(void *)regs->word;
}

static int get_set(pid_t tid, int set, void *bytes, size_t len)
{
	struct iovec v = { bytes, len };

	return ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)set, &v) ? -errno : 0;
}

static int put_set(pid_t tid, int set, void *bytes, size_t len)
{
	struct iovec v = { bytes, len };

	return ptrace(PTRACE_SETREGSET, tid, (void *)(uintptr_t)set, &v) ? -errno : 0;
}

/* Has it vectors of which NT_PRFPREG has only the first 128 bits? None that waits in a call has.
 * Linux Documentation/arch/arm64/sve.rst: struct user_sve_header. */
static bool has_wide_vectors(pid_t tid)
{
	struct {
		uint32_t size, max_size;
		uint16_t length, max_length, flags, reserved;
	} head = { 0 };

	return get_set(tid, NT_ARM_SVE, &head, sizeof head) == 0 && (head.flags & 1);
}

/* True: the kernel has set pc back to a call that it restarts. */
static bool is_at_call(pid_t tid, uint64_t pc)
{
	const uint32_t svc = 0xd4000001;
	long code;

	errno = 0;
	code = ptrace(PTRACE_PEEKTEXT, tid, (void *)(uintptr_t)(pc & ~UINT64_C(7)), NULL);
	return !errno && (uint32_t)((uint64_t)code >> (pc & 4 ? 32 : 0)) == svc;
}

/* Calls that the kernel restarts with the time that is left. */
static bool has_restart_block(int nr)
{
	return nr == SYS_nanosleep || nr == SYS_clock_nanosleep || nr == SYS_futex;
}

int arch_read(pid_t tid, struct arch_regs *ret)
{
	struct iovec v = { ret->word, sizeof(struct user_regs_struct) };
	struct stop_regs *n;
	int call = -1, rc;

	memset(ret, 0, sizeof *ret);
	n = stop_regs(ret);
	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &v))
		return -errno;
	n->is_32_bit = v.iov_len != sizeof n->user;
	if (n->is_32_bit)
		return 0;
	rc = get_set(tid, NT_PRFPREG, n->vector, sizeof n->vector);
	if (rc == 0)
		rc = get_set(tid, NT_ARM_SYSTEM_CALL, &call, sizeof call);
	if (rc < 0)
		return rc;
	n->call = (uint64_t)(int64_t)call;
	if (call < 0 && has_wide_vectors(tid))
		return -ENOTSUP;
	/* The kernel does the same, but forgets it when the thread runs from another pc in between.
	 */
	if (has_restart_block(call) && is_at_call(tid, n->user.pc))
		n->user.regs[8] = SYS_restart_syscall;
	return 0;
}

int arch_write(pid_t tid, const struct arch_regs *regs)
{
	struct arch_regs copy = *regs;
	int call = (int)stop_regs(&copy)->call;
	int rc = put_set(tid, NT_PRSTATUS, &stop_regs(&copy)->user, sizeof stop_regs(&copy)->user);

	return rc < 0 ? rc : put_set(tid, NT_ARM_SYSTEM_CALL, &call, sizeof call);
}

bool arch_is_native(const struct arch_regs *regs)
{
	struct arch_regs copy = *regs;

	return !stop_regs(&copy)->is_32_bit;
}

/* The registers do not show it. */
bool arch_is_in_call(const struct arch_regs *regs)
{
	(void)regs;
	return false;
}

uint64_t arch_ip(const struct arch_regs *regs)
{
	struct arch_regs copy = *regs;

	return stop_regs(&copy)->user.pc;
}

bool arch_get(const struct arch_regs *regs, unsigned number, uint64_t *ret)
{
	struct arch_regs copy = *regs;
	const struct user_regs_struct *user = &stop_regs(&copy)->user;

	if (number > 31)
		return false;
	*ret = number == 31 ? user->sp : user->regs[number];
	return true;
}

void arch_set_ip(struct arch_regs *regs, uint64_t ip)
{
	stop_regs(regs)->user.pc = ip;
	stop_regs(regs)->call = UINT64_MAX;
}

/* The result has overwritten the first argument: here these waits end with EINTR. */
bool arch_restart_call(struct arch_regs *regs)
{
	(void)regs;
	return false;
}

void arch_prepare_restart(struct arch_regs *regs)
{
	stop_regs(regs)->call = UINT64_MAX;
}

void arch_trampoline_fill(unsigned char *trampoline, const struct arch_resume *resume)
{
	struct arch_regs copy = resume->regs;
	const struct stop_regs *n = stop_regs(&copy);
	struct words w = { .pid = (uint64_t)resume->pid,
			   .tid = (uint64_t)resume->tid,
			   .signal = (uint64_t)resume->signal,
			   .policy = resume->policy };

	w.frame.user.mask = resume->mask;
	memcpy(w.frame.user.context.regs, n->user.regs, sizeof w.frame.user.context.regs);
	w.frame.user.context.sp = n->user.sp;
	w.frame.user.context.pc = n->user.pc;
	w.frame.user.context.pstate = n->user.pstate;
	w.frame.user.context.vector.magic = FPSIMD_MAGIC;
	w.frame.user.context.vector.size = sizeof w.frame.user.context.vector;
	memcpy(w.frame.user.context.vector.vregs, n->vector,
	       sizeof w.frame.user.context.vector.vregs);
	memcpy(&w.frame.user.context.vector.fpsr, &n->vector[64],
	       8); /* and fpcr, which follows it */
	memcpy(trampoline, auger_trampoline, auger_trampoline_words_at);
	memcpy(trampoline + auger_trampoline_words_at, &w, sizeof w);
}

bool arch_trampoline_read(const unsigned char *trampoline, struct arch_resume *resume)
{
	struct stop_regs *n = stop_regs(&resume->regs);
	struct words w;

	if (memcmp(trampoline, auger_trampoline, auger_trampoline_words_at) != 0)
		return false;
	memcpy(&w, trampoline + auger_trampoline_words_at, sizeof w);
	resume->mask = w.frame.user.mask;
	resume->policy = (int)w.policy;
	memcpy(n->user.regs, w.frame.user.context.regs, sizeof w.frame.user.context.regs);
	n->user.sp = w.frame.user.context.sp;
	n->user.pstate = w.frame.user.context.pstate;
	memcpy(n->vector, w.frame.user.context.vector.vregs,
	       sizeof w.frame.user.context.vector.vregs);
	memcpy(&n->vector[64], &w.frame.user.context.vector.fpsr, 8);
	arch_set_ip(&resume->regs, w.frame.user.context.pc);
	return true;
}

void arch_enter_once(struct arch_regs *regs, uint64_t address, long nr, const uint64_t arg[6])
{
	struct stop_regs *n = stop_regs(regs);

	memcpy(n->user.regs, arg, 6 * sizeof *arg);
	n->user.regs[8] = (uint64_t)nr;
	n->user.regs[20] = 1;
	arch_set_ip(regs, address);
}

void arch_enter_clone(struct arch_regs *regs, uint64_t address)
{
	arch_enter_once(regs, address, SYS_clone, (uint64_t[6]){ ARCH_CLONE_FLAGS });
	stop_regs(regs)->user.regs[20] = 0;
}

int64_t arch_once_result(const struct arch_regs *regs)
{
	struct arch_regs copy = *regs;

	return (int64_t)stop_regs(&copy)->user.regs[19];
}

void arch_enter_lists(struct arch_regs *regs, uint64_t address, uint64_t control)
{
	stop_regs(regs)->user.regs[19] = control;
	arch_set_ip(regs, address + auger_trampoline_lists_at);
}

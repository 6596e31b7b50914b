/* SPDX-License-Identifier: MIT */
#include "inject/arch.h"

#include <assert.h>
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "base/compat/compat.h"
#include "base/macros.h"

static_assert(sizeof(struct user_regs_struct) <= sizeof(struct arch_regs),
	      "arch_regs can hold them");
static_assert(sizeof(struct arch_call) == 88 && offsetof(struct arch_call, arg0_from) == 56 &&
		      offsetof(struct arch_call, may_fail) == 72 &&
		      offsetof(struct arch_call, result) == 80,
	      "the code of the trampoline uses these offsets");
static_assert(offsetof(struct arch_control, at) == 8 && offsetof(struct arch_control, failed) == 32,
	      "the code of the trampoline uses these offsets");

/* The data words after the code. */
struct words {
	uint64_t mask, pid, tid, signal, flags, sp, ip;
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	int64_t policy;
	uint64_t priority; /* 0: struct sched_param */
};

extern const unsigned char auger_trampoline[];
/* Offsets in auger_trampoline: the loop over calls, the data words, the end. */
extern const uint64_t auger_trampoline_lists_at, auger_trampoline_words_at, auger_trampoline_bytes;

/*
 * The first instruction makes the single call; rbp is 0 if that is a clone(2), which returns 0 to
 * the new thread. Label 1 begins the loop over calls. rbx is the control block, rbp the call, r12
 * the address of the next call's address. Calls preserve all registers but rax, rcx, r11. The code
 * never uses the stack: popf reads the flags from the data words, while signals are blocked.
 * Label 7 calls a function on a stack of our own.
 */
__asm__(".pushsection .rodata\n"
	".macro auger_stop\n"
	"	mov 11f+8(%rip), %rdi\n"
	"	mov 11f+16(%rip), %rsi\n"
	"	mov 11f+24(%rip), %rdx\n"
	"	mov $234, %eax\n" /* tgkill */
	"	syscall\n"
	".endm\n"
	".balign 16\n"
	".globl auger_trampoline, auger_trampoline_lists_at\n"
	".globl auger_trampoline_words_at, auger_trampoline_bytes\n"
	".hidden auger_trampoline, auger_trampoline_lists_at\n"
	".hidden auger_trampoline_words_at, auger_trampoline_bytes\n"
	"auger_trampoline:\n"
	"	syscall\n"
	"	mov %rax, %r12\n"
	"	or %rbp, %rax\n"
	"	jz 6f\n"
	"	auger_stop\n"
	"	jmp 9f\n"
	"6:	mov $60, %eax\n" /* exit: a new thread */
	"	xor %edi, %edi\n"
	"	syscall\n"
	"1:	mov 0(%rbx), %rax\n"
	"	mov (%rax), %rax\n"
	"	lea 8(%rbx,%rax,8), %r12\n"
	"	mov (%r12), %rbp\n"
	"	mov 0(%rbp), %rax\n"
	"	cmp $-1, %rax\n"
	"	je 9f\n"
	"	mov 8(%rbp), %rdi\n"
	"	cmp $-2, %rax\n"
	"	je 5f\n"
	"	cmp $-4, %rax\n"
	"	je 7f\n"
	"	mov 56(%rbp), %rcx\n"
	"	test %rcx, %rcx\n"
	"	jz 2f\n"
	"	test $1, %cl\n"
	"	jnz 4f\n"
	"	mov (%rcx), %rdi\n"
	"	jmp 2f\n"
	"4:	movslq -1(%rcx), %rdi\n"
	"2:	mov 16(%rbp), %rsi\n"
	"	mov 24(%rbp), %rdx\n"
	"	mov 32(%rbp), %r10\n"
	"	mov 40(%rbp), %r8\n"
	"	mov 64(%rbp), %rcx\n"
	"	test %rcx, %rcx\n"
	"	jz 3f\n"
	"	mov (%rcx), %r8\n"
	"3:	mov 48(%rbp), %r9\n"
	"	lea 88(%rbp), %rcx\n"
	"	mov %rcx, (%r12)\n" /* before the call: the tracer may change it while the call
				       stops this thread */
	"	syscall\n"
	"	mov %rax, 80(%rbp)\n"
	"	cmp $-4095, %rax\n"
	"	jb 1b\n"
	"	cmpq $0, 72(%rbp)\n"
	"	jne 1b\n"
	"	mov %rbp, 32(%rbx)\n"
	"	auger_stop\n"
	"	jmp 1b\n"
	"5:	lea 88(%rbp), %rcx\n"
	"	mov %rcx, (%r12)\n"
	"	mov 0(%rbx), %rax\n"
	"	mov %rdi, (%rax)\n"
	"	jmp 1b\n"
	"7:	lea 88(%rbp), %rcx\n"
	"	mov %rcx, (%r12)\n"
	"	mov 40(%rbp), %rsp\n"
	"	cld\n"
	"	mov $-1, %eax\n"
	"	mov $-1, %edx\n"
	"	xsave64 (%rsp)\n"
	"	mov 16(%rbp), %rdi\n"
	"	mov 24(%rbp), %rsi\n"
	"	mov 32(%rbp), %rdx\n"
	"	call *8(%rbp)\n"
	"	mov %rax, 80(%rbp)\n"
	"	mov $-1, %eax\n"
	"	mov $-1, %edx\n"
	"	xrstor64 (%rsp)\n"
	"	jmp 1b\n"
	"9:	mov 11f+176(%rip), %rsi\n"
	"	test %rsi, %rsi\n"
	"	js 10f\n"
	"	xor %edi, %edi\n"
	"	lea 11f+184(%rip), %rdx\n"
	"	mov $144, %eax\n" /* sched_setscheduler */
	"	syscall\n"
	"10:	lea 11f+32(%rip), %rsp\n"
	"	popfq\n"
	"	mov 11f+40(%rip), %rsp\n"
	"	mov $2, %edi\n" /* SIG_SETMASK */
	"	lea 11f(%rip), %rsi\n"
	"	mov $0, %edx\n"
	"	mov $8, %r10d\n"
	"	mov $14, %eax\n" /* rt_sigprocmask */
	"	syscall\n"
	"	mov 11f+56(%rip), %r15\n"
	"	mov 11f+64(%rip), %r14\n"
	"	mov 11f+72(%rip), %r13\n"
	"	mov 11f+80(%rip), %r12\n"
	"	mov 11f+88(%rip), %rbp\n"
	"	mov 11f+96(%rip), %rbx\n"
	"	mov 11f+104(%rip), %r11\n"
	"	mov 11f+112(%rip), %r10\n"
	"	mov 11f+120(%rip), %r9\n"
	"	mov 11f+128(%rip), %r8\n"
	"	mov 11f+136(%rip), %rax\n"
	"	mov 11f+144(%rip), %rcx\n"
	"	mov 11f+152(%rip), %rdx\n"
	"	mov 11f+160(%rip), %rsi\n"
	"	mov 11f+168(%rip), %rdi\n"
	"	jmp *11f+48(%rip)\n"
	".balign 16\n"
	"11:	.skip 192\n"
	"12:\n"
	"auger_trampoline_lists_at:	.quad 1b - auger_trampoline\n"
	"auger_trampoline_words_at:	.quad 11b - auger_trampoline\n"
	"auger_trampoline_bytes:	.quad 12b - auger_trampoline\n"
	".purgem auger_stop\n"
	".popsection\n");

static_assert(sizeof(struct words) == 192 && offsetof(struct words, ip) == 48 &&
		      offsetof(struct words, rax) == 136 && offsetof(struct words, policy) == 176,
	      "the code of the trampoline uses these offsets");

/* Source: Intel SDM 1, 13.2: CPUID leaf 0DH has the size for what the kernel has enabled. */
size_t arch_function_state_bytes(void)
{
	unsigned a, bytes, c, d;

	if (!__get_cpuid(1, &a, &bytes, &c, &d) || !(c & bit_OSXSAVE) ||
	    !__get_cpuid_count(0xd, 0, &a, &bytes, &c, &d))
		return 0;
	return bytes;
}

size_t arch_trampoline_bytes(void)
{
	return auger_trampoline_bytes;
}

static struct user_regs_struct *user_regs(struct arch_regs *regs)
{
	return (struct user_regs_struct *)(void *)regs->word;
}

int arch_read(pid_t tid, struct arch_regs *ret)
{
	struct iovec v = { ret->word, sizeof ret->word };

	return ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &v) ? -errno : 0;
}

int arch_write(pid_t tid, const struct arch_regs *regs)
{
	struct arch_regs copy = *regs;
	struct iovec v = { copy.word, sizeof(struct user_regs_struct) };

	return ptrace(PTRACE_SETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &v) ? -errno : 0;
}

bool arch_is_native(const struct arch_regs *regs)
{
	struct arch_regs copy = *regs;

	return user_regs(&copy)->cs == 0x33;
}

bool arch_is_in_call(const struct arch_regs *regs)
{
	struct arch_regs copy = *regs;

	return (long long)user_regs(&copy)->orig_rax >= 0;
}

uint64_t arch_ip(const struct arch_regs *regs)
{
	struct arch_regs copy = *regs;

	return user_regs(&copy)->rip;
}

bool arch_get(const struct arch_regs *regs, unsigned number, uint64_t *ret)
{
	struct arch_regs copy = *regs;
	const struct user_regs_struct *r = user_regs(&copy);
	const unsigned long long values[] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
					      r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
					      r->r12, r->r13, r->r14, r->r15 };

	if (number >= ARRAY_LEN(values))
		return false;
	*ret = values[number];
	return true;
}

void arch_set_ip(struct arch_regs *regs, uint64_t ip)
{
	user_regs(regs)->rip = ip;
	user_regs(regs)->orig_rax = (unsigned long long)-1; /* no call is interrupted there */
}

/* Waits that the kernel ends with EINTR after a stop although no signal came (signal(7)). Without
 * calls that may have done part of their work, and without connect and close. */
static bool is_wait(unsigned long long nr)
{
	static const unsigned short waits[] = {
		SYS_epoll_wait,   SYS_epoll_pwait,   SYS_epoll_pwait2,
		SYS_semop,        SYS_semtimedop,    SYS_rt_sigtimedwait,
		SYS_io_getevents, SYS_io_pgetevents, SYS_recvfrom,
		SYS_recvmsg,      SYS_recvmmsg,      SYS_accept,
		SYS_accept4,      SYS_read,          SYS_io_uring_enter,
	};

	for (size_t i = 0; i < ARRAY_LEN(waits); i++)
		if (waits[i] == nr)
			return true;
	return false;
}

static void restart_call(struct user_regs_struct *r, unsigned long long nr)
{
	r->rax = nr;
	r->rip -= 2; /* length of the syscall instruction */
	r->orig_rax = (unsigned long long)-1;
}

bool arch_restart_call(struct arch_regs *regs)
{
	struct user_regs_struct *r = user_regs(regs);

	if ((long long)r->rax != -EINTR || !is_wait(r->orig_rax))
		return false;
	restart_call(r, r->orig_rax);
	return true;
}

void arch_prepare_restart(struct arch_regs *regs)
{
	enum { RESTARTSYS = -512, RESTARTNOINTR = -513, RESTARTNOHAND = -514, RESTARTBLOCK = -516 };
	struct user_regs_struct *r = user_regs(regs);

	if ((long long)r->orig_rax < 0 || arch_restart_call(regs))
		return;
	if ((long long)r->rax == RESTARTSYS || (long long)r->rax == RESTARTNOINTR ||
	    (long long)r->rax == RESTARTNOHAND)
		restart_call(r, r->orig_rax);
	else if ((long long)r->rax == RESTARTBLOCK)
		restart_call(r, SYS_restart_syscall);
}

void arch_trampoline_fill(unsigned char *trampoline, const struct arch_resume *resume)
{
	struct arch_regs copy = resume->regs;
	const struct user_regs_struct *r = user_regs(&copy);
	struct words w = {
		.mask = resume->mask,
		.pid = (uint64_t)resume->pid,
		.tid = (uint64_t)resume->tid,
		.signal = (uint64_t)resume->signal,
		.flags = r->eflags,
		.sp = r->rsp,
		.ip = r->rip,
		.r15 = r->r15,
		.r14 = r->r14,
		.r13 = r->r13,
		.r12 = r->r12,
		.rbp = r->rbp,
		.rbx = r->rbx,
		.r11 = r->r11,
		.r10 = r->r10,
		.r9 = r->r9,
		.r8 = r->r8,
		.rax = r->rax,
		.rcx = r->rcx,
		.rdx = r->rdx,
		.rsi = r->rsi,
		.rdi = r->rdi,
		.policy = resume->policy,
	};

	memcpy(trampoline, auger_trampoline, arch_trampoline_bytes());
	memcpy(trampoline + auger_trampoline_words_at, &w, sizeof w);
}

bool arch_trampoline_read(const unsigned char *trampoline, struct arch_resume *resume)
{
	struct user_regs_struct *r = user_regs(&resume->regs);
	struct words w;

	if (memcmp(trampoline, auger_trampoline, auger_trampoline_words_at) != 0)
		return false;
	memcpy(&w, trampoline + auger_trampoline_words_at, sizeof w);
	resume->mask = w.mask;
	resume->policy = (int)w.policy;
	r->eflags = w.flags;
	r->rsp = w.sp;
	r->r15 = w.r15;
	r->r14 = w.r14;
	r->r13 = w.r13;
	r->r12 = w.r12;
	r->rbp = w.rbp;
	r->rbx = w.rbx;
	r->r11 = w.r11;
	r->r10 = w.r10;
	r->r9 = w.r9;
	r->r8 = w.r8;
	r->rax = w.rax;
	r->rcx = w.rcx;
	r->rdx = w.rdx;
	r->rsi = w.rsi;
	r->rdi = w.rdi;
	arch_set_ip(&resume->regs, w.ip);
	return true;
}

void arch_enter_once(struct arch_regs *regs, uint64_t address, long nr, const uint64_t arg[6])
{
	struct user_regs_struct *r = user_regs(regs);

	r->rax = (unsigned long long)nr;
	r->rdi = arg[0];
	r->rsi = arg[1];
	r->rdx = arg[2];
	r->r10 = arg[3];
	r->r8 = arg[4];
	r->r9 = arg[5];
	r->rbp = 1;
	arch_set_ip(regs, address);
}

void arch_enter_clone(struct arch_regs *regs, uint64_t address)
{
	arch_enter_once(regs, address, SYS_clone, (uint64_t[6]){ ARCH_CLONE_FLAGS });
	user_regs(regs)->rbp = 0;
}

int64_t arch_once_result(const struct arch_regs *regs)
{
	struct arch_regs copy = *regs;

	return (int64_t)user_regs(&copy)->r12;
}

void arch_enter_lists(struct arch_regs *regs, uint64_t address, uint64_t control)
{
	user_regs(regs)->rbx = control;
	arch_set_ip(regs, address + auger_trampoline_lists_at);
}

/* SPDX-License-Identifier: MIT */
/* Runs a trampoline without a tracer: it must return to the program by itself. */
#include "inject/arch.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../tap.h"

static sigjmp_buf back_in_c;

static void landed(void)
{
	siglongjmp(back_in_c, 1);
}

/* Indices in the kernel's NT_PRSTATUS. */
#if defined(__x86_64__)
enum { AT_IP = 16, AT_FLAGS = 18, AT_SP = 19 };
#define SP_OF_CALL 8 /* as after pushing a return address */
#elif defined(__aarch64__)
enum { AT_SP = 31, AT_IP = 32, AT_FLAGS = 33 };
#define SP_OF_CALL 0
#endif

static void go(uint64_t at, uint64_t control)
{
#if defined(__x86_64__)
	__asm__ volatile("mov %1, %%rbx; jmp *%0" : : "r"(at), "r"(control) : "rbx", "memory");
#elif defined(__aarch64__)
	__asm__ volatile("mov x19, %1; br %0" : : "r"(at), "r"(control) : "x19", "memory");
#endif
}

/* The address of the loop in a trampoline. */
static uint64_t loop_of(uint64_t trampoline)
{
	struct arch_regs regs = { { 0 } };

	arch_enter_lists(&regs, trampoline, 0);
	return arch_ip(&regs);
}

static void test_returns_to_program(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	static int word = -1;
	static uint64_t slow;
	struct arch_resume h = { .pid = getpid(), .tid = getpid(), .signal = SIGURG };
	struct arch_call lists[2][4] = { { { 0 } } };
	struct arch_control control = { .flag = (uint64_t)(uintptr_t)&control.own_flag,
					.own_flag = 1 };
	unsigned char *trampoline = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigset_t now;

	if (!CHECK(trampoline != MAP_FAILED))
		return;
	h.regs.word[AT_IP] = (uint64_t)(uintptr_t)landed;
	h.regs.word[AT_SP] = (uint64_t)(uintptr_t)(stack + sizeof stack - 4096 - SP_OF_CALL);
#if defined(__x86_64__)
	h.regs.word[AT_FLAGS] = 0x202;
#endif
	h.mask = UINT64_C(1) << (SIGUSR1 - 1);
	arch_trampoline_fill(trampoline, &h);
	__builtin___clear_cache((char *)trampoline, (char *)trampoline + arch_trampoline_bytes());
	lists[1][0] = (struct arch_call){ .nr = SYS_getpid, .arg = { 1, 2, 3, 4, 5, 6 } };
	lists[1][1] =
		(struct arch_call){ .nr = SYS_close, .arg0_from = (uint64_t)(uintptr_t)&word | 1 };
	lists[1][2] = (struct arch_call){ .nr = ARCH_SET_FLAG, .arg = { 0 } };
	lists[0][0] = (struct arch_call){ .nr = SYS_dup, .arg0_from = (uint64_t)(uintptr_t)&slow };
	lists[0][1] = (struct arch_call){ .nr = SYS_close, .may_fail = 1, .arg = { 1 << 20 } };
	lists[0][2] = (struct arch_call){ .nr = ARCH_RESUME };
	control.at[0] = (uint64_t)(uintptr_t)lists[0];
	control.at[1] = (uint64_t)(uintptr_t)lists[1];
	slow = 1;
	if (sigsetjmp(back_in_c, 0) == 0)
		go(loop_of((uint64_t)(uintptr_t)trampoline), (uint64_t)(uintptr_t)&control);
	CHECK_INT(lists[1][0].result, getpid());
	CHECK_INT(lists[1][1].result, -9); /* EBADF */
	CHECK(control.failed == (uint64_t)(uintptr_t)&lists[1][1]);
	CHECK(lists[0][0].result > 2);
	CHECK_INT(lists[0][1].result, -9);
	CHECK(control.at[0] == (uint64_t)(uintptr_t)&lists[0][2]);
	close((int)lists[0][0].result);
	sigprocmask(SIG_SETMASK, NULL, &now);
	CHECK(sigismember(&now, SIGUSR1) && !sigismember(&now, SIGUSR2));
	munmap(trampoline, 65536);
}

int main(void)
{
	TAP_CASE(test_returns_to_program);
	return tap_done();
}

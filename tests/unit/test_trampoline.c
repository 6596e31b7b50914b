/* SPDX-License-Identifier: MIT */
/* Runs a trampoline without a tracer: it must return to the program by itself. */
#include "inject/arch.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../tap.h"

static sigjmp_buf back_in_c;
static uint64_t last; /* registers of the program after the return */
#if defined(__aarch64__)
static uint64_t vector[2];
#endif

static void landed(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mov %%r15, %0" : "=m"(last));
#elif defined(__aarch64__)
	__asm__ volatile("str x28, %0" : "=m"(last));
	__asm__ volatile("str q17, [%0]" : : "r"(vector) : "memory");
#endif
	siglongjmp(back_in_c, 1);
}

/* Indices in arch_regs.word; AT_LAST: of a register that functions preserve. */
#if defined(__x86_64__)
enum { AT_LAST = 0, AT_IP = 16, AT_FLAGS = 18, AT_SP = 19 };
#define SP_OF_CALL 8 /* as after pushing a return address */
#elif defined(__aarch64__)
enum { AT_LAST = 28, AT_SP = 31, AT_IP = 32, AT_FLAGS = 33, AT_V17 = 70 };
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
	struct arch_resume h = {
		.pid = getpid(), .tid = getpid(), .signal = SIGURG, .policy = SCHED_BATCH
	};
	struct arch_resume back = { .policy = -1 };
	struct arch_call lists[2][4] = { { { 0 } } };
	struct arch_control control = { .flag = (uint64_t)(uintptr_t)&control.own_flag,
					.own_flag = 1 };
	unsigned char *trampoline = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct sched_param none = { 0 };
	int before = sched_getscheduler(0);
	sigset_t now;

	if (!CHECK(trampoline != MAP_FAILED))
		return;
	h.regs.word[AT_IP] = (uint64_t)(uintptr_t)landed;
	h.regs.word[AT_SP] = (uint64_t)(uintptr_t)(stack + sizeof stack - 4096 - SP_OF_CALL);
	h.regs.word[AT_LAST] = 0x123456789abcdef0;
#if defined(__x86_64__)
	h.regs.word[AT_FLAGS] = 0x202;
#elif defined(__aarch64__)
	h.regs.word[AT_V17] = 17;
	h.regs.word[AT_V17 + 1] = 18;
#endif
	h.mask = UINT64_C(1) << (SIGUSR1 - 1);
	arch_trampoline_fill(trampoline, &h);
	CHECK(arch_trampoline_read(trampoline, &back));
	CHECK(arch_ip(&back.regs) == h.regs.word[AT_IP] && back.mask == h.mask);
	CHECK(back.regs.word[AT_SP] == h.regs.word[AT_SP] &&
	      back.regs.word[AT_LAST] == h.regs.word[AT_LAST]);
	CHECK_INT(back.policy, SCHED_BATCH);
	CHECK(!arch_trampoline_read(trampoline + 1, &back));
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
	CHECK(last == h.regs.word[AT_LAST]);
#if defined(__aarch64__)
	CHECK(vector[0] == 17 && vector[1] == 18);
#endif
	CHECK_INT(lists[1][0].result, getpid());
	CHECK_INT(lists[1][1].result, -9); /* EBADF */
	CHECK(control.failed == (uint64_t)(uintptr_t)&lists[1][1]);
	CHECK(lists[0][0].result > 2);
	CHECK_INT(lists[0][1].result, -9);
	CHECK(control.at[0] == (uint64_t)(uintptr_t)&lists[0][2]);
	close((int)lists[0][0].result);
	sigprocmask(SIG_SETMASK, NULL, &now);
	CHECK(sigismember(&now, SIGUSR1) && !sigismember(&now, SIGUSR2));
	CHECK_INT(sched_getscheduler(0), SCHED_BATCH);
	(void)sched_setscheduler(0, before, &none);
	munmap(trampoline, 65536);
}

#if defined(__x86_64__)
static uint64_t number_after;

static void landed_with_number(void)
{
	__asm__ volatile("movq %%xmm9, %0" : "=r"(number_after));
	siglongjmp(back_in_c, 1);
}

static uint64_t add_and_clobber(uint64_t a, uint64_t b, uint64_t c)
{
	__asm__ volatile("pxor %%xmm9, %%xmm9" : : : "xmm9");
	return a + b * 10 + c * 100;
}

static void go_with_number(uint64_t at, uint64_t control, uint64_t number)
{
	__asm__ volatile("movq %2, %%xmm9; mov %1, %%rbx; jmp *%0"
			 :
			 : "r"(at), "r"(control), "r"(number)
			 : "rbx", "xmm9", "memory");
}

static void test_calls_function(void)
{
	static char stack[65536] __attribute__((aligned(64)));
	static char called[131072] __attribute__((aligned(64)));
	struct arch_resume h = { .pid = getpid(), .tid = getpid(), .signal = SIGURG, .policy = -1 };
	struct arch_call list[] = { { .nr = ARCH_FUNCTION,
				      .arg = { (uintptr_t)add_and_clobber, 1, 2, 3,
					       (uintptr_t)(called + sizeof called / 2) } },
				    { .nr = ARCH_RESUME } };
	struct arch_control control = { .flag = (uintptr_t)&control.own_flag,
					.at = { (uintptr_t)list } };
	unsigned char *trampoline = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!arch_function_state_bytes() || arch_function_state_bytes() > sizeof called / 2) {
		SKIP("this processor has no such calls");
		return;
	}
	if (!CHECK(trampoline != MAP_FAILED))
		return;
	h.regs.word[AT_IP] = (uintptr_t)landed_with_number;
	h.regs.word[AT_SP] = (uintptr_t)(stack + sizeof stack - 4096 - SP_OF_CALL);
	h.regs.word[AT_FLAGS] = 0x202;
	arch_trampoline_fill(trampoline, &h);
	if (sigsetjmp(back_in_c, 0) == 0)
		go_with_number(loop_of((uintptr_t)trampoline), (uintptr_t)&control, 4711);
	CHECK_INT(list[0].result, 321);
	CHECK_INT((int64_t)number_after, 4711);
	CHECK_INT((int64_t)control.failed, 0);
	munmap(trampoline, 65536);
}
#else
static void test_calls_function(void)
{
	SKIP("functions are called on x86-64 only");
}
#endif

/* What the tracer sets before the thread runs. */
static void test_encodes(void)
{
	const uint64_t arg[6] = { 1, 2, 3, 4, 5, 6 };
	struct arch_regs once = { { 0 } }, clone = { { 0 } }, lists = { { 0 } };

	arch_enter_once(&once, 0x10000, SYS_getpid, arg);
	arch_enter_clone(&clone, 0x10000);
	arch_enter_lists(&lists, 0x10000, 0x20000);
	CHECK(arch_ip(&once) == 0x10000 && arch_ip(&clone) == 0x10000);
	CHECK(arch_ip(&lists) > 0x10000 && arch_ip(&lists) < 0x10000 + arch_trampoline_bytes());
	CHECK(memcmp(&once, &clone, sizeof once) != 0);
	arch_set_ip(&lists, 0x30000);
	CHECK(arch_ip(&lists) == 0x30000);
	once = lists;
	arch_prepare_restart(&lists);
	CHECK(arch_ip(&lists) == arch_ip(&once) && !arch_restart_call(&once));
}

int main(void)
{
	TAP_CASE(test_encodes);
	TAP_CASE(test_returns_to_program);
	TAP_CASE(test_calls_function);
	return tap_done();
}

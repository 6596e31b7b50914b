/* SPDX-License-Identifier: MIT */
#include "preload/heap/big_stack.h"

#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#include "preload/heap/pages.h"
#include "preload/heap/spin.h"

#define STACK_BYTES (512U << 10)

/* All under lock. */
static struct {
	uint32_t lock;
	bool has_run; /* not in a register: getcontext() returns like setjmp() */
	void *stack;
	ucontext_t here, there;
	void (*run)(void *arg);
	void *arg;
} big;

static void run_given(void)
{
	big.run(big.arg);
}

/* A handler would use this stack, too, and may wait for other threads. */
static void switch_to(void)
{
	big.has_run = false;
	/* cppcheck-suppress getcontextCalled */
	if (!big.stack || getcontext(&big.there) < 0)
		return;
	sigfillset(&big.there.uc_sigmask);
	big.there.uc_stack.ss_sp = big.stack;
	big.there.uc_stack.ss_size = STACK_BYTES;
	big.there.uc_link = &big.here;
	/* cppcheck-suppress makecontextCalled */
	makecontext(&big.there, run_given, 0);
	/* cppcheck-suppress swapcontextCalled */
	big.has_run = swapcontext(&big.here, &big.there) == 0;
}

bool big_stack_run(void (*run)(void *arg), void *arg)
{
	int saved = errno;
	bool has_run;

	if (!spin_try(&big.lock) && !spin_wait(&big.lock))
		return false;
	if (!big.stack)
		big.stack = pages_new(STACK_BYTES);
	big.run = run;
	big.arg = arg;
	switch_to();
	has_run = big.has_run;
	spin_unlock(&big.lock);
	errno = saved;
	return has_run;
}

void big_stack_forget(void)
{
	big.lock = 0;
}

void big_stack_release(void)
{
	if (big.stack)
		pages_free(big.stack, STACK_BYTES);
	big.stack = NULL;
	big.lock = 0;
}

/* SPDX-License-Identifier: MIT */
/* Raw system calls: glibc before 2.34 has timer_create(2) in librt. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "syscalls/ticker.h"

#define TICK_SIGNAL SIGVTALRM

static void interrupt_wait(int number)
{
	(void)number;
}

void syscall_ticker_start(struct syscall_ticker *k)
{
	const struct sigaction action = { .sa_handler = interrupt_wait };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = TICK_SIGNAL };
	const struct itimerspec every = { { 0, SYSCALL_TICK_NS }, { 0, SYSCALL_TICK_NS } };

	k->timer = -1;
	sigaction(TICK_SIGNAL, &action, &k->old);
	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &k->timer) == 0)
		syscall(SYS_timer_settime, k->timer, 0, &every, NULL);
}

void syscall_ticker_stop(const struct syscall_ticker *k)
{
	if (k->timer >= 0)
		syscall(SYS_timer_delete, k->timer);
	sigaction(TICK_SIGNAL, &k->old, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * ticker: a timer whose signal interrupts wait(2), so that the signals of the run loop and the time
 * are checked. The signal is not SIGALRM, which ends the recording (target/runloop.h).
 */
#ifndef SYSCALLS_TICKER_H
#define SYSCALLS_TICKER_H

#include <signal.h>
#include <stdint.h>

#define SYSCALL_TICK_NS INT64_C(100000000)

struct syscall_ticker {
	struct sigaction old;
	int timer; /* -1: none: signals and the time are checked at stops only */
};

/* Of the process: one at a time. */
void syscall_ticker_start(struct syscall_ticker *k);
void syscall_ticker_stop(const struct syscall_ticker *k);

#endif

/* SPDX-License-Identifier: MIT */
#include "syscalls/signals.h"

#include <stddef.h>
#include <sys/time.h>

#define LOOK_US 100000 /* between looks at the time and at signals that came in between */

static volatile sig_atomic_t signal_seen, signal_count, is_from_terminal;

static void take_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (number == SIGALRM)
		return;
	signal_seen = number;
	signal_count = signal_count + 1;
	is_from_terminal = number == SIGINT && info->si_code == SI_KERNEL;
}

static const int signals[SYSC_SIGNALS] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };

/* Without SA_RESTART: waiting ends with each. */
void sysc_signals_begin(struct sysc_signals *h)
{
	const struct sigaction action = { .sa_sigaction = take_signal, .sa_flags = SA_SIGINFO };
	const struct itimerval look = { { 0, LOOK_US }, { 0, LOOK_US } };

	signal_seen = 0;
	signal_count = 0;
	for (size_t i = 0; i < SYSC_SIGNALS; i++)
		sigaction(signals[i], &action, &h->old[i]);
	setitimer(ITIMER_REAL, &look, NULL);
}

void sysc_signals_end(const struct sysc_signals *h)
{
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	for (size_t i = 0; i < SYSC_SIGNALS; i++)
		sigaction(signals[i], &h->old[i], NULL);
}

int sysc_signals_count(void)
{
	return signal_count;
}

int sysc_signals_last(void)
{
	return signal_seen;
}

bool sysc_signals_from_terminal(void)
{
	return is_from_terminal;
}

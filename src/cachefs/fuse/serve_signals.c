/* SPDX-License-Identifier: MIT */
/* serve_signals: what comes to a server, and what does not end it. */
#include "cachefs/fuse/serve.h"

#include <pthread.h>

static void wake_up(int signal)
{
	(void)signal;
}

/* Also SIGUSR1: a thread ended, or is to look up from its read. What is larger than files may be
 * for us is an error as others are. */
void serve_block_signals(sigset_t *ret)
{
	struct sigaction action = { .sa_handler = wake_up }, hangup;

	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGUSR1);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(ret, SIGHUP);
	pthread_sigmask(SIG_BLOCK, ret, NULL);
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

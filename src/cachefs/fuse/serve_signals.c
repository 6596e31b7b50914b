/* SPDX-License-Identifier: MIT */
/* serve_signals: the signal mask and handlers of a daemon. */
#include "cachefs/fuse/serve.h"

#include <pthread.h>

#include "cachefs/fuse/unmount.h"

static void wake_up(int signal)
{
	(void)signal;
}

/* SIGUSR1 interrupts a thread's read, or reports that a thread has ended. With SIGXFSZ ignored, a
 * write beyond RLIMIT_FSIZE fails with EFBIG. */
void serve_block_signals(sigset_t *ret)
{
	struct sigaction action = { .sa_handler = wake_up }, hangup;

	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGUSR1);
	sigaddset(ret, SIGCHLD);
	sigaddset(ret, UNMOUNT_IF_HANGING);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(ret, SIGHUP);
	pthread_sigmask(SIG_BLOCK, ret, NULL);
	sigaction(SIGUSR1, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

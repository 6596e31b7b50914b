/* SPDX-License-Identifier: MIT */
#include "stage/sigterm.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "stage/output.h"
#include "stage/registry.h"

static sem_t signals;
static struct sigaction before; /* action action of the program */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_installed; /* under lock */

static void write_all_out(void)
{
	registry_lock();
	for (unsigned i = 0; i < PROFILERS_MAX; i++) {
		struct auger_profiler *p = registry_get(i);

		if (p && p->opts.on_sigterm)
			output_write_out(p, true);
	}
	registry_unlock();
}

static void *write_on_signal(void *unused)
{
	(void)unused;
	for (;;) {
		if (sem_wait(&signals) < 0)
			continue;
		write_all_out();
		if (before.sa_handler == SIG_DFL) {
			sigaction(SIGTERM, &before, NULL);
			kill(getpid(), SIGTERM);
		}
	}
	return NULL;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	sem_post(&signals);
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(number, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(number);
	errno = saved;
}

/* The thread blocks all signals: the program's threads handle them. */
static int start_thread(void)
{
	sigset_t all, mask;
	pthread_t thread;
	int status;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	status = -pthread_create(&thread, NULL, write_on_signal, NULL);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (status == 0)
		pthread_detach(thread);
	return status;
}

void sigterm_install(void)
{
	struct sigaction ours = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };

	pthread_mutex_lock(&lock);
	if (!is_installed && sigaction(SIGTERM, NULL, &before) == 0 &&
	    before.sa_handler != SIG_IGN && sem_init(&signals, 0, 0) == 0 && start_thread() == 0) {
		sigaction(SIGTERM, &ours, NULL);
		is_installed = true;
	}
	pthread_mutex_unlock(&lock);
}

void sigterm_forked(void)
{
	if (is_installed && sem_init(&signals, 0, 0) == 0 && start_thread() < 0)
		sigaction(SIGTERM, &before, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "inject/brief_stop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"
#include "target/proc.h"

#define WAIT_NS (30 * NS_PER_S)
#define LIMIT_NS (30 * NS_PER_S)
#define STOPS 1000

/* A child that waits for signals; one that it catches ends it with status 7. */
static void on_signal(int number)
{
	(void)number;
	_exit(7);
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	signal(SIGUSR1, on_signal);
	for (;;)
		pause();
}

static char state_of(pid_t pid)
{
	struct proc_stat s;

	return proc_stat_read(&s, pid) ? s.state : '?';
}

static bool wait_state(pid_t pid, char state)
{
	const struct timespec tick = { .tv_nsec = NS_PER_MS };

	for (int i = 0; i < 30000 && state_of(pid) != state; i++)
		nanosleep(&tick, NULL);
	return state_of(pid) == state;
}

static bool can_trace(int rc)
{
	return rc != -EPERM && rc != -ENOTSUP;
}

static void test_stop(void)
{
	struct brief_stop s = { 0 };
	struct arch_regs regs;
	struct err e;
	pid_t pid = start_child();
	int rc, status = 0;

	CHECK(wait_state(pid, 'S'));
	rc = brief_stop_begin(&s, pid, pid, WAIT_NS, LIMIT_NS, &regs, &e);
	if (!can_trace(rc)) {
		SKIP("no ptrace here");
	} else if (CHECK_INT(rc, 0)) {
		struct brief_stop_result r;

		CHECK_INT(state_of(pid), 't');
		CHECK(arch_is_native(&regs) && arch_is_in_call(&regs) && arch_ip(&regs));
		kill(pid, SIGUSR1); /* is not lost */
		r = brief_stop_end(&s);
		CHECK(!r.was_late && r.stopped_ns > 0);
		CHECK_INT(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
		CHECK_INT(brief_stop_begin(&s, pid, pid, WAIT_NS, LIMIT_NS, &regs, &e), -ESRCH);
		pid = 0;
	}
	brief_stop_close(&s);
	if (pid > 0)
		kill(pid, SIGKILL);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals = signals + 1;
}

/* Waits for signals, which come in no other moment. Ends, with 9, when a wait did not end with the
 * first of them. */
static pid_t start_waiter(void)
{
	pid_t pid = fork();
	struct epoll_event event;
	sigset_t one, none;
	int fd, before;

	if (pid != 0)
		return pid;
	sigemptyset(&none);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigprocmask(SIG_BLOCK, &one, NULL);
	signal(SIGUSR1, count_signal);
	fd = epoll_create1(0);
	do {
		before = signals;
		epoll_pwait(fd, &event, 1, -1, &none);
	} while (signals == before + 1);
	_exit(9);
}

static pid_t start_sender(pid_t to)
{
	const struct timespec pause = { .tv_nsec = 300000 };
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	while (kill(to, SIGUSR1) == 0)
		nanosleep(&pause, NULL);
	_exit(0);
}

/* A signal ends a wait, whenever it comes. */
static void test_signals(void)
{
	struct brief_stop s = { 0 };
	struct arch_regs regs;
	struct err e;
	pid_t pid = start_waiter(), sender;
	int rc = 0;

	CHECK(wait_state(pid, 'S'));
	sender = start_sender(pid);
	for (int i = 0; i < STOPS && can_trace(rc); i++) {
		rc = brief_stop_begin(&s, pid, pid, WAIT_NS, LIMIT_NS, &regs, &e);
		if (rc == 0)
			brief_stop_end(&s);
	}
	if (!can_trace(rc))
		SKIP("no ptrace here");
	brief_stop_close(&s);
	kill(sender, SIGKILL);
	waitpid(sender, NULL, 0);
	CHECK_INT(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The thread goes on without us. */
static void test_limit(void)
{
	struct brief_stop s = { 0 };
	struct arch_regs regs;
	struct err e;
	pid_t pid = start_child();
	int rc;

	CHECK(wait_state(pid, 'S'));
	rc = brief_stop_begin(&s, pid, pid, WAIT_NS, NS_PER_MS, &regs, &e);
	if (!can_trace(rc)) {
		SKIP("no ptrace here");
	} else if (CHECK_INT(rc, 0)) {
		CHECK(wait_state(pid, 'S'));
		CHECK(brief_stop_end(&s).was_late);
	}
	brief_stop_close(&s);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A job with a stop in progress that is stopped (Ctrl-Z): the thread goes on. */
static void test_stopped_job(void)
{
	pid_t pid = start_child(), job;
	int status = 0;

	CHECK(wait_state(pid, 'S'));
	job = fork();
	if (job == 0) {
		struct brief_stop s = { 0 };
		struct arch_regs regs;
		struct err e;
		int rc;

		setpgid(0, 0);
		rc = brief_stop_begin(&s, pid, pid, WAIT_NS, NS_PER_S, &regs, &e);
		if (rc == 0)
			kill(0, SIGSTOP);
		_exit(can_trace(rc) ? 1 : 0);
	}
	CHECK_INT(waitpid(job, &status, WUNTRACED), job);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		SKIP("no ptrace here");
	else
		CHECK(WIFSTOPPED(status) && wait_state(pid, 'S') && state_of(job) == 'T');
	kill(job, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(job, NULL, 0);
	waitpid(pid, NULL, 0);
}

/* The end of the tracer, here by a close, is the end of a stop. */
static void test_close(void)
{
	struct brief_stop s = { 0 };
	struct arch_regs regs;
	struct err e;
	pid_t pid = start_child();
	int rc;

	CHECK(wait_state(pid, 'S'));
	kill(pid, SIGSTOP);
	CHECK(wait_state(pid, 'T'));
	rc = brief_stop_begin(&s, pid, pid, WAIT_NS, LIMIT_NS, &regs, &e);
	if (!can_trace(rc))
		SKIP("no ptrace here");
	else
		CHECK_INT(rc, 0);
	brief_stop_close(&s);
	CHECK(wait_state(pid, 'T'));
	kill(pid, SIGCONT);
	CHECK(wait_state(pid, 'S'));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	TAP_CASE(test_stop);
	TAP_CASE(test_signals);
	TAP_CASE(test_limit);
	TAP_CASE(test_stopped_job);
	TAP_CASE(test_close);
	return tap_done();
}

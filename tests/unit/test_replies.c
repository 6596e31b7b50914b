/* SPDX-License-Identifier: MIT */
#include "base/storage/replies.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "tap.h"

#define SHORT_MS 200
#define LONG_S 30 /* for what comes soon on an idle machine */

static unsigned char add_one(const void *arg)
{
	return (unsigned char)(*(const unsigned char *)arg + 1);
}

static unsigned char block(const void *arg)
{
	(void)arg;
	while (true)
		pause();
	return 0;
}

/* Uses CPU time for longer than a blocked call would get. */
static unsigned char work(const void *arg)
{
	int64_t end_ns = clock_mono_ns() + 3 * SHORT_MS * INT64_C(1000000);

	while (clock_mono_ns() < end_ns)
		;
	return add_one(arg);
}

static unsigned char leave(const void *arg)
{
	(void)arg;
	_exit(3);
}

/* A bit for each of these descriptors that is open. */
static unsigned char open_fds(const void *arg)
{
	const int *fds = arg;
	unsigned char bits = 0;

	for (int i = 0; i < 3; i++)
		if (fcntl(fds[i], F_GETFD) >= 0)
			bits |= (unsigned char)(1 << i);
	return bits;
}

static void test_answers(void)
{
	static const struct {
		unsigned char (*call)(const void *arg);
		int answer;
	} rows[] = { { add_one, 42 }, { block, -1 }, { work, 42 }, { leave, -1 }, { add_one, 42 } };
	const unsigned char number = 41;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_INT(replies_within(rows[i].call, &number, -1, SHORT_MS), rows[i].answer);
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left */
}

static void test_descriptors(void)
{
	int fds[3] = { STDOUT_FILENO, dup(STDOUT_FILENO), dup(STDOUT_FILENO) };

	for (int i = 0; i < 3; i++)
		CHECK_INT(replies_within(open_fds, fds, fds[i], LONG_S * 1000), 1 << i);
	CHECK_INT(replies_within(open_fds, fds, -1, LONG_S * 1000), 0);
	close(fds[1]);
	close(fds[2]);
}

static void test_wait_end(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		block(NULL);
	CHECK_INT(replies_wait_end(pid, &status, 10), 0);
	kill(pid, SIGKILL);
	CHECK_INT(replies_wait_end(pid, &status, LONG_S * 1000), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_INT(replies_wait_end(pid, &status, 10), -1);
}

/* Becomes true in time. */
static bool is_blocked_soon(pid_t pid)
{
	int64_t end_ns = clock_mono_ns() + LONG_S * NS_PER_S;
	struct replies_progress p = { 0 };
	clockid_t clock;
	bool is_blocked = false;

	while (!is_blocked && clock_mono_ns() < end_ns) {
		is_blocked = clock_getcpuclockid(pid, &clock) == 0 &&
			     replies_is_blocked(&p, pid, clock, SHORT_MS);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return is_blocked;
}

static void test_blocked(void)
{
	pid_t pid = fork();
	struct replies_progress p = { 0 };

	if (pid == 0)
		block(NULL);
	CHECK(is_blocked_soon(pid));
	kill(pid, SIGKILL);
	CHECK_INT(replies_wait_end(pid, NULL, LONG_S * 1000), pid);
	for (int i = 0; i < 3; i++) /* we run */
		CHECK(!replies_is_blocked(&p, getpid(), CLOCK_PROCESS_CPUTIME_ID, 0));
}

int main(void)
{
	TAP_CASE(test_answers);
	TAP_CASE(test_descriptors);
	TAP_CASE(test_wait_end);
	TAP_CASE(test_blocked);
	return tap_done();
}

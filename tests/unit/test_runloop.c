/* SPDX-License-Identifier: MIT */
#include "target/inherited.h"
#include "target/runloop.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

static char sh[] = "sh", dash_c[] = "-c";

static void prepare(struct runloop *r, char *line)
{
	static char *argv[4];
	struct err e = { 0 };

	argv[0] = sh;
	argv[1] = dash_c;
	argv[2] = line;
	CHECK_INT(runloop_open(r, &e), 0);
	CHECK_INT(runloop_prepare(r, &(struct launch_opts){ .argv = argv }, &e), 0);
}

static void run_to_end(struct runloop *r)
{
	while (runloop_step(r, RUNLOOP_FOREVER))
		;
}

static void test_status(void)
{
	static char exits[] = "exit 7", dies[] = "kill -TERM $$";
	char *const lines[] = { exits, dies };
	const int wanted[] = { 7, 128 + SIGTERM };

	for (int i = 0; i < 2; i++) {
		struct err e = { 0 };
		struct runloop r;

		prepare(&r, lines[i]);
		CHECK_INT(runloop_start(&r, &e), 0);
		run_to_end(&r);
		CHECK(runloop_reap(&r, 0));
		CHECK_INT(runloop_status(&r), wanted[i]);
		CHECK_INT(r.commands[0].end_signal, i ? SIGTERM : 0);
		CHECK(!runloop_reap(&r, 0));
		runloop_close(&r);
	}
}

static void test_no_program(void)
{
	char name[] = "/nowhere/at/all", *const argv[] = { name, NULL };
	struct err e = { 0 };
	struct runloop r;

	CHECK_INT(runloop_open(&r, &e), 0);
	CHECK_INT(runloop_prepare(&r, &(struct launch_opts){ .argv = argv }, &e), 0);
	CHECK_INT(runloop_start(&r, &e), -ENOENT);
	CHECK_INT(runloop_exec_error(&r), ENOENT);
	CHECK_STR(e.msg, "/nowhere/at/all: No such file or directory");
	runloop_close(&r);
}

static int fail(void *context)
{
	(void)context;
	return EPERM;
}

/* What fails between fork and exec is an error, and the program does not run. */
static void test_failed_preparation(void)
{
	char name[] = "true", *const argv[] = { name, NULL };
	struct err e = { 0 };
	struct runloop r;

	CHECK_INT(runloop_open(&r, &e), 0);
	CHECK_INT(runloop_prepare(&r, &(struct launch_opts){ .argv = argv, .prepare = fail }, &e),
		  0);
	CHECK_INT(runloop_start(&r, &e), -EPERM);
	runloop_close(&r);
}

/* A child that was killed before it was started is no program that ran. */
static void test_killed_before_start(void)
{
	static char line[] = "true";
	struct err e = { 0 };
	struct runloop r;

	prepare(&r, line);
	kill(runloop_pid(&r), SIGKILL);
	while (!launch_has_ended(&r.commands[0]))
		usleep(1000);
	CHECK(runloop_start(&r, &e) < 0);
	CHECK(e.msg[0] != '\0');
	runloop_close(&r);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void test_not_started(void)
{
	static char line[] = "true";
	struct runloop r;

	prepare(&r, line);
	runloop_close(&r);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* Our parent may ignore SIGCHLD; the command finds it so, too. */
static void test_ignored_child_signal(void)
{
	char name[] = "grep", quiet[] = "-q", regex[] = "SigIgn:.*1....$",
	     file[] = "/proc/self/status", *const argv[] = { name, quiet, regex, file, NULL };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction old;
	struct err e = { 0 };
	struct runloop r;

	sigaction(SIGCHLD, &ignore, &old);
	inherited_take();
	CHECK_INT(runloop_open(&r, &e), 0);
	CHECK_INT(runloop_prepare(&r, &(struct launch_opts){ .argv = argv }, &e), 0);
	CHECK_INT(runloop_start(&r, &e), 0);
	run_to_end(&r);
	CHECK(runloop_reap(&r, 0));
	CHECK_INT(runloop_status(&r), 0);
	runloop_close(&r);
	sigaction(SIGCHLD, &old, NULL);
}

static void test_signals_without_command(void)
{
	struct err e = { 0 };
	struct runloop r;

	CHECK_INT(runloop_open(&r, &e), 0);
	CHECK(runloop_step(&r, 0));
	kill(getpid(), SIGTERM);
	CHECK(!runloop_step(&r, RUNLOOP_FOREVER));
	CHECK_INT(r.signal, SIGTERM);
	CHECK(!r.is_cut);
	runloop_close(&r);
}

/* The first signal goes to the command; the second does as the policy says. */
static void test_second_signal(void)
{
	static char stubborn[] = "trap : TERM; while :; do sleep 0.01; done",
		    counts[] = "n=0; trap 'n=$((n+1)); [ $n = 2 ] && exit 9' TERM; "
			       "while :; do sleep 0.01; done";
	static const struct {
		enum runloop_second second;
		char *line;
		int status;
		bool is_cut;
	} rows[] = {
		{ RUNLOOP_DETACH, stubborn, 128 + SIGTERM, true },
		{ RUNLOOP_KILL, stubborn, 128 + SIGKILL, false },
		{ RUNLOOP_PASS_ON, counts, 9, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err e = { 0 };
		struct runloop r;

		prepare(&r, rows[i].line);
		r.second_signal = rows[i].second;
		CHECK_INT(runloop_start(&r, &e), 0);
		usleep(100000); /* until the trap is set */
		kill(getpid(), SIGTERM);
		CHECK(runloop_step(&r, RUNLOOP_FOREVER));
		CHECK_INT(r.signal_count, 1);
		usleep(100000);
		kill(getpid(), SIGTERM);
		run_to_end(&r);
		CHECK_INT(r.is_cut, rows[i].is_cut);
		runloop_reap(&r, 0);
		CHECK_INT(runloop_status(&r), rows[i].status);
		runloop_kill(&r);
		runloop_close(&r);
	}
}

static void test_time(void)
{
	struct err e = { 0 };
	struct runloop r;
	int64_t start = clock_mono_ns();

	CHECK_INT(runloop_open(&r, &e), 0);
	r.end_ns = start + NS_PER_S / 20;
	run_to_end(&r);
	CHECK(clock_mono_ns() - start >= NS_PER_S / 20);
	runloop_close(&r);
}

static void test_pids(void)
{
	struct err e = { 0 };
	struct runloop r;
	pid_t pids[2];

	CHECK_INT(runloop_open(&r, &e), 0);
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			pause();
			_exit(0);
		}
		CHECK_INT(runloop_add_pid(&r, pids[i], &e), 0);
	}
	CHECK(runloop_step(&r, 0));
	kill(pids[0], SIGKILL);
	CHECK(runloop_step(&r, RUNLOOP_FOREVER));
	CHECK_INT(r.ended_pids, 1);
	kill(pids[1], SIGKILL);
	CHECK(!runloop_step(&r, RUNLOOP_FOREVER));
	CHECK_INT(r.ended_pids, 2);
	for (int i = 0; i < 2; i++)
		waitpid(pids[i], NULL, 0);
	CHECK_INT(runloop_add_pid(&r, pids[0], &e), -ESRCH);
	runloop_close(&r);
}

static void test_is_asked_to_end(void)
{
	struct err e = { 0 };
	struct runloop r;

	CHECK_INT(runloop_open(&r, &e), 0);
	CHECK(!runloop_is_asked_to_end());
	kill(getpid(), SIGUSR1); /* a snapshot */
	CHECK(!runloop_is_asked_to_end());
	kill(getpid(), SIGTERM);
	CHECK(runloop_is_asked_to_end());
	CHECK(!runloop_step(&r, RUNLOOP_FOREVER));
	CHECK(!runloop_is_asked_to_end());
	CHECK(r.wants_snapshot);
	runloop_close(&r);
}

int main(void)
{
	TAP_CASE(test_status);
	TAP_CASE(test_no_program);
	TAP_CASE(test_failed_preparation);
	TAP_CASE(test_killed_before_start);
	TAP_CASE(test_not_started);
	TAP_CASE(test_ignored_child_signal);
	TAP_CASE(test_signals_without_command);
	TAP_CASE(test_second_signal);
	TAP_CASE(test_is_asked_to_end);
	TAP_CASE(test_time);
	TAP_CASE(test_pids);
	return tap_done();
}

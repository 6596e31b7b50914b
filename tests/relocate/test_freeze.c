/* SPDX-License-Identifier: MIT */
/*
 * Freezes jobs, makes remote calls in them and thaws them, again and again. Their work must not
 * notice it. Each job is a child of this program and ends with 0 if all was well.
 */
#include "inject/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "frozen_job.h"
#include "inject/freeze.h"
#include "target/proc.h"

/* A computation that goes wrong when any register or flag changes. */
static int spin(void)
{
	double x = 1;
	uint64_t a = 1, b = 1;

	shared->is_ready = 1;
	while (!shared->stop) {
		for (int i = 0; i < 1000; i++) {
			a = a * 6364136223846793005u + 1442695040888963407u;
			b ^= a >> 7;
			x = x * 1.0000001 > 2 ? 1 : x * 1.0000001;
		}
		shared->work++;
	}
	/* The same without freezes. */
	uint64_t a2 = 1, b2 = 1;
	double x2 = 1;

	for (long n = shared->work * 1000; n; n--) {
		a2 = a2 * 6364136223846793005u + 1442695040888963407u;
		b2 ^= a2 >> 7;
		x2 = x2 * 1.0000001 > 2 ? 1 : x2 * 1.0000001;
	}
	return a != a2 || b != b2 || x < x2 || x > x2;
}

static void test_computing(void)
{
	pid_t pid = start(spin);

	CHECK(visit_often("computing", pid, 50, 5));
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

static void test_waits(void)
{
	pid_t pid = start(sleepers);

	CHECK(visit_often("13 kinds of waits", pid, 100, 23));
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

static void test_churn(void)
{
	pid_t pid = start(churn);

	CHECK(visit_often("threads and children that come and go", pid, 40, 3));
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

static void test_256_threads(void)
{
	pid_t pid = start(many_threads);

	CHECK(visit_often("256 threads", pid, 10, 5));
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

static void test_stopped_job(void)
{
	pid_t pid = start(spin);
	int64_t pause;
	struct proc_stat s = { 0 };
	int status;
	long before;

	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	before = shared->work;
	CHECK(visit(pid, &pause));
	nap_ms(20);
	CHECK(proc_stat_read(&s, pid));
	CHECK_INT(s.state, 'T');
	CHECK_INT(shared->work, before);
	kill(pid, SIGCONT);
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

/* Strict seccomp allows only read, write, exit and sigreturn. */
static int filtered(void)
{
	shared->is_ready = 1;
	nap_ms(1);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 1;
	shared->is_ready = 2;
	while (!shared->stop)
		shared->work++;
	syscall(SYS_exit, 0);
	return 0;
}

static void test_seccomp(void)
{
	pid_t pid = start(filtered);

	while (shared->is_ready != 2)
		nap_ms(1);
	CHECK(visit_often("seccomp", pid, 5, 2));
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

/* A signal that comes during the freeze is handled once after it, and ends a wait. */
static _Atomic int handled;

static void on_alarm(int sig)
{
	(void)sig;
	handled++;
}

static int interrupted(void)
{
	int epoll = epoll_create1(0);
	struct epoll_event ev;
	long rc;

	signal(SIGALRM, on_alarm);
	shared->is_ready = 1;
	rc = epoll_wait(epoll, &ev, 1, -1);
	return rc == -1 && errno == EINTR && handled == 1 ? 0 : 1;
}

static void test_signal_in_pause(void)
{
	pid_t pid = start(interrupted);
	struct freeze *h = NULL;
	struct remote *r = NULL;
	struct err e = { 0 };

	nap_ms(20);
	if (!CHECK_INT(freeze_begin(&h, &pid, 1, false, LIMIT_NS, &e), 0))
		return;
	kill(pid, SIGALRM);
	CHECK_INT(remote_open(&r, h, pid, 1000, 65536, 0, &e), 0);
	CHECK(call_getpid(r, 3, &e));
	CHECK_INT(remote_run_rollback(r, &e), 0);
	remote_close(r);
	freeze_thaw(h);
	CHECK_INT(finish(pid), 0);
}

/* When the tracer is killed. */
enum death { DEATH_OPEN, DEATH_STEPS, DEATH_ARMED, DEATH_GATE, DEATH_GONE, DEATH_BACK, DEATHS };

static int letters[2]; /* a pipe to which a job writes; it exists before the job */

static struct remote_call write_letter(struct remote *r, char letter)
{
	return (struct remote_call){ .nr = SYS_write,
				     .arg = { (uint64_t)letters[1], remote_put(r, &letter, 1), 1 },
				     .what = "write" };
}

/* The calls write s for a step, g for apply, f for finish, u for the undo of the step, U for the
 * undo of apply. With spares a thread that is added makes all but the step. */
static bool visit_and_die(pid_t pid, enum death death, size_t spares)
{
	struct freeze *h = NULL;
	struct remote *r = NULL;
	struct err e = { 0 };
	struct remote_call call, undo;
	uint64_t commit_flag, word = REMOTE_ROLLBACK;
	int member;

	if (freeze_begin(&h, &pid, 1, false, LIMIT_NS, &e) < 0 ||
	    remote_open(&r, h, pid, 1000, 65536, spares, &e) < 0)
		return false;
	member = remote_spare(r, 1);
	if ((member != 0) != (spares != 0))
		return false;
	if (death == DEATH_OPEN)
		return true;
	call = write_letter(r, 's');
	undo = write_letter(r, 'u');
	remote_add_step(r, &call);
	remote_add_undo_of(r, member, &undo);
	if (remote_run_steps(r, &e) < 0)
		return false;
	if (death == DEATH_STEPS)
		return true;
	call = write_letter(r, 'g');
	undo = write_letter(r, 'U');
	remote_add_apply(r, member, &call, &undo);
	call = write_letter(r, 'f');
	remote_add_finish(r, member, &call);
	commit_flag = remote_put(r, &word, sizeof word);
	if (remote_arm(r, commit_flag, &e) < 0)
		return false;
	if (death == DEATH_ARMED)
		return true;
	word = REMOTE_APPLY;
	if (remote_write(r, commit_flag, &word, sizeof word) < 0)
		return false;
	if (death == DEATH_GATE)
		return true;
	if (remote_run_apply(r, &e) < 0)
		return false;
	if (death == DEATH_GONE)
		return true;
	word = REMOTE_ROLLBACK;
	return remote_prepare_rollback(r, &e) == 0 &&
	       remote_write(r, commit_flag, &word, sizeof word) == 0;
}

static size_t count_threads(pid_t pid)
{
	CLEANUP(rows_fini) struct rows tids = { 0 };
	char path[PROC_PATH];

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	return proc_numbers(path, &tids) < 0 ? 0 : tids.count;
}

static void check_deaths(size_t spares)
{
	static const char *const wants[DEATHS] = { "", "su", "su", "sgf", "sgf", "sgUu" };
	size_t threads;
	pid_t pid;

	if (pipe2(letters, O_NONBLOCK) < 0)
		return;
	pid = start(many_threads);
	threads = count_threads(pid);
	for (enum death death = 0; death < DEATHS; death++) {
		char got[16] = "";
		int status;
		pid_t visitor = fork();

		if (visitor == 0) {
			if (!visit_and_die(pid, death, spares))
				_exit(1);
			kill(getpid(), SIGKILL);
		}
		waitpid(visitor, &status, 0);
		CHECK(WIFSIGNALED(status));
		CHECK(goes_on());
		for (int i = 0; i < 1000 && strlen(got) < strlen(wants[death]); i++) {
			nap_ms(1);
			if (read(letters[0], got + strlen(got), sizeof got - strlen(got) - 1) < 0)
				continue;
		}
		CHECK_STR(got, wants[death]);
		for (int i = 0; i < 30000 && count_threads(pid) != threads; i++)
			nap_ms(1);
		CHECK_INT(count_threads(pid), threads);
	}
	CHECK_INT(finish(pid), 0);
	close(letters[0]);
	close(letters[1]);
}

static void test_death_of_the_visitor(void)
{
	check_deaths(0);
	check_deaths(2);
}

/* Tracers are killed, and the job is stopped, before its thread has left their trampoline, which is
 * always at the same place: each leads the thread back to its program. */
static void test_deaths_in_a_stopped_job(void)
{
	pid_t pid = start(spin);
	int status;

	for (int i = 0; i < 3; i++) {
		pid_t visitor = fork();

		if (visitor == 0) {
			if (!visit_and_die(pid, DEATH_OPEN, 0))
				_exit(1);
			kill(pid, SIGSTOP);
			kill(getpid(), SIGKILL);
		}
		waitpid(visitor, &status, 0);
		CHECK(WIFSIGNALED(status));
	}
	waitpid(pid, &status, WUNTRACED);
	CHECK(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

/* Makes a thread that was added wait in write(2), and loses it. */
static bool visit_and_lose(pid_t pid)
{
	struct freeze *h = NULL;
	struct remote *r = NULL;
	struct err e = { 0 };
	struct remote_call call;
	uint64_t commit_flag, word = REMOTE_APPLY;
	bool ok;

	if (freeze_begin(&h, &pid, 1, false, LIMIT_NS, &e) < 0 ||
	    remote_open(&r, h, pid, 1000, 65536, 1, &e) < 0)
		return false;
	call = write_letter(r, 'g');
	remote_add_apply(r, remote_spare(r, 0), &call, NULL);
	commit_flag = remote_put(r, &word, sizeof word);
	ok = remote_arm(r, commit_flag, &e) == 0 && remote_run_apply(r, &e) == 0 &&
	     remote_has_lost(r) && remote_run_finish(r, &e) == 0;
	remote_close(r);
	freeze_thaw(h);
	return ok;
}

/* A thread that was added waits because a pipe is full: the others go on, and it ends later. */
static void test_lost_thread(void)
{
	char bytes[4096] = { 0 };
	pid_t pid, visitor;
	size_t threads;
	int status;

	if (pipe2(letters, O_NONBLOCK) < 0)
		return;
	while (write(letters[1], bytes, sizeof bytes) > 0)
		;
	(void)!fcntl(letters[1], F_SETFL, 0);
	pid = start(many_threads);
	threads = count_threads(pid);
	visitor = fork();
	if (visitor == 0)
		_exit(visit_and_lose(pid) ? 0 : 1);
	waitpid(visitor, &status, 0);
	CHECK_INT(status, 0);
	CHECK(goes_on());
	CHECK_INT(count_threads(pid), threads + 1);
	for (int i = 0; i < 30000 && count_threads(pid) != threads; i++) {
		(void)!read(letters[0], bytes, sizeof bytes);
		nap_ms(1);
	}
	CHECK_INT(count_threads(pid), threads);
	CHECK_INT(finish(pid), 0);
	close(letters[0]);
	close(letters[1]);
}

static void test_refusals(void)
{
	struct freeze *h = NULL;
	struct err e = { 0 };
	pid_t pid = start(spin), none = 0x3ffffff;
	pid_t tracer;
	int status;

	CHECK_INT(freeze_begin(&h, &none, 1, false, LIMIT_NS, &e), -ESRCH);
	tracer = fork();
	if (tracer == 0) {
		ptrace(PTRACE_SEIZE, pid, NULL, NULL);
		shared->is_ready = 3;
		pause();
		_exit(0);
	}
	while (shared->is_ready != 3)
		nap_ms(1);
	CHECK_INT(freeze_begin(&h, &pid, 1, false, LIMIT_NS, &e), -EPERM);
	CHECK(strstr(e.msg, "is traced by process") != NULL);
	kill(tracer, SIGKILL);
	waitpid(tracer, &status, 0);
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

int main(void)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	TAP_CASE(test_computing);
	TAP_CASE(test_waits);
	TAP_CASE(test_churn);
	TAP_CASE(test_256_threads);
	TAP_CASE(test_stopped_job);
	TAP_CASE(test_seccomp);
	TAP_CASE(test_signal_in_pause);
	TAP_CASE(test_death_of_the_visitor);
	TAP_CASE(test_deaths_in_a_stopped_job);
	TAP_CASE(test_lost_thread);
	TAP_CASE(test_refusals);
	return tap_done();
}

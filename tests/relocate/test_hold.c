/* SPDX-License-Identifier: MIT */
/*
 * Jobs are stopped and let go, and calls are made inside them, again and again; what they were
 * doing must not notice. Each job is a child of this program and ends with 0 when all was well.
 */
#include "relocate/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../tap.h"
#include "base/clock.h"
#include "relocate/hold.h"
#include "relocate/proc.h"

#define LIMIT_NS (10 * NS_PER_S)

static void nap_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* The page that a job and this program share. */
struct shared {
	_Atomic int is_ready, stop;
	_Atomic long work;
};
static struct shared *shared;

/* Starts body in a child and waits until it says that it is ready. */
static pid_t start(int (*body)(void))
{
	pid_t pid;

	shared->is_ready = shared->stop = 0;
	shared->work = 0;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(body());
	}
	while (!shared->is_ready)
		nap_ms(1);
	return pid;
}

static int finish(pid_t pid)
{
	int status;

	shared->stop = 1;
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Waits until the job has done more. */
static bool goes_on(void)
{
	long before = shared->work;

	for (int i = 0; i < 10000 && shared->work == before; i++)
		nap_ms(1);
	return shared->work != before;
}

/* Each of count calls inside, as one list. */
static bool call_getpid(struct inside *in, size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++)
		inside_step(in, &(struct inside_call){ .nr = SYS_getpid, .what = "getpid" });
	if (inside_run(in, e) < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (inside_result(in, i) != inside_pid(in))
			return false;
	return true;
}

/* Stop, calls inside, let go. */
static bool visit(pid_t pid, int64_t *ret_pause_ns)
{
	struct hold *h = NULL;
	struct inside *in = NULL;
	struct err e = { 0 };
	bool ok;

	if (hold_begin(&h, &pid, 1, false, LIMIT_NS, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return false;
	}
	ok = inside_open(&in, h, pid, 1000, 65536, &e) == 0 && call_getpid(in, 20, &e) &&
	     call_getpid(in, 1, &e) && inside_run_back(in, &e) == 0;
	inside_close(in);
	*ret_pause_ns = clock_mono_ns() - hold_since_ns(h);
	hold_end(h);
	if (!ok)
		fprintf(stderr, "%s\n", e.msg);
	return ok;
}

static void visit_often(const char *name, pid_t pid, int times, long between_ms)
{
	int64_t longest = 0, pause;

	for (int i = 0; i < times; i++) {
		if (!CHECK(visit(pid, &pause)))
			break;
		longest = pause > longest ? pause : longest;
		nap_ms(between_ms);
	}
	printf("# %s: longest pause %.2f ms\n", name, (double)longest / 1e6);
}

/* Sums that go wrong when any register or flag changes. */
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
	/* Again, without visitors. */
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

	visit_often("computing", pid, 50, 5);
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

/* Kinds of waits: each thread waits in one of them all the time. */
#define WAIT_MS 400

static int pipe_fds[2], sockets[2], sem, epfd, lock_fds[2];
static uint32_t futex_word;

static long wait_pipe(void)
{
	char c;

	return read(pipe_fds[0], &c, 1);
}

static long wait_nanosleep(void)
{
	return nanosleep(&(struct timespec){ .tv_nsec = WAIT_MS * 1000000 }, NULL);
}

static long wait_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += WAIT_MS * 1000000;
	t.tv_sec += t.tv_nsec / NS_PER_S;
	t.tv_nsec %= NS_PER_S;
	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	return errno ? -1 : 0;
}

static long wait_poll(void)
{
	return poll(&(struct pollfd){ .fd = sockets[0], .events = POLLIN }, 1, WAIT_MS);
}

static long wait_select(void)
{
	return select(0, NULL, NULL, NULL, &(struct timeval){ .tv_usec = WAIT_MS * 1000 });
}

static long wait_ppoll(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	return ppoll(NULL, 0, &(struct timespec){ .tv_nsec = WAIT_MS * 1000000 }, &mask);
}

static long wait_futex(void)
{
	long rc = syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0,
			  &(struct timespec){ .tv_nsec = WAIT_MS * 1000000 });

	return rc < 0 && errno == ETIMEDOUT ? 0 : rc;
}

static long wait_epoll(void)
{
	struct epoll_event ev;

	return epoll_wait(epfd, &ev, 1, WAIT_MS);
}

static long wait_semop(void)
{
	struct sembuf op = { .sem_op = -1 };
	long rc = semtimedop(sem, &op, 1, &(struct timespec){ .tv_nsec = WAIT_MS * 1000000 });

	return rc < 0 && (errno == EAGAIN || errno == EIDRM) ? 0 : rc;
}

static long wait_signal(void)
{
	sigset_t set;
	long rc;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	rc = sigtimedwait(&set, NULL, &(struct timespec){ .tv_nsec = WAIT_MS * 1000000 });
	return rc < 0 && errno == EAGAIN ? 0 : rc;
}

static long wait_recv(void)
{
	char c;
	long rc = recv(sockets[0], &c, 1, 0);

	return rc < 0 && errno == EAGAIN ? 0 : rc;
}

static long wait_flock(void)
{
	return flock(lock_fds[1], LOCK_EX);
}

static long wait_lockw(void)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(lock_fds[1], F_OFD_SETLKW, &l);
}

static const struct wait_kind {
	const char *name;
	long (*wait)(void);
	bool is_timed; /* it ends by itself after WAIT_MS */
	bool restarts; /* its time begins anew after a stop (signal(7)) */
} kinds[] = {
	{ "read of a pipe", wait_pipe, false, false },
	{ "nanosleep", wait_nanosleep, true, false },
	{ "clock_nanosleep", wait_clock, true, false },
	{ "poll", wait_poll, true, false },
	{ "select", wait_select, true, false },
	{ "ppoll", wait_ppoll, true, false },
	{ "futex", wait_futex, true, false },
	{ "epoll_wait", wait_epoll, true, true },
	{ "semtimedop", wait_semop, true, true },
	{ "sigtimedwait", wait_signal, true, true },
	{ "recv", wait_recv, true, true },
	{ "flock", wait_flock, false, false },
	{ "F_OFD_SETLKW", wait_lockw, false, false },
};

static _Atomic int wrong;

static void *sleeper(void *arg)
{
	const struct wait_kind *k = arg;

	while (!shared->stop) {
		int64_t t0 = clock_mono_ns();
		long rc = k->wait();
		int64_t ms = (clock_mono_ns() - t0) / 1000000;

		if (rc < 0 || (k->is_timed && ms < WAIT_MS - 1)) {
			fprintf(stderr, "%s: %s after %lld ms\n", k->name,
				rc < 0 ? strerror(errno) : "ended", (long long)ms);
			wrong++;
		}
		shared->work++;
	}
	return NULL;
}

static int sleepers(void)
{
	struct timeval wait = { .tv_usec = WAIT_MS * 1000 };
	char name[] = "/tmp/test_hold_XXXXXX";
	sigset_t set;
	pthread_t t[ARRAY_LEN(kinds)];

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	lock_fds[0] = mkstemp(name);
	lock_fds[1] = open(name, O_RDWR);
	unlink(name);
	flock(lock_fds[0], LOCK_EX);
	fcntl(lock_fds[0], F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK });
	sem = semget(IPC_PRIVATE, 1, 0600);
	epfd = epoll_create1(0);
	if (pipe(pipe_fds) < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) < 0)
		return 1;
	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		pthread_create(&t[i], NULL, sleeper, (void *)(uintptr_t)&kinds[i]);
	nap_ms(50);
	shared->is_ready = 1;
	while (!shared->stop)
		nap_ms(10);
	semctl(sem, 0, IPC_RMID); /* the one who waits for it may see EIDRM from here on */
	return wrong;
}

static void test_waits(void)
{
	pid_t pid = start(sleepers);

	visit_often("13 kinds of waits", pid, 100, 23);
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

/* Threads and children that come and go, by vfork as well. */
static void *short_life(void *arg)
{
	(void)arg;
	shared->work++;
	return NULL;
}

static int churn(void)
{
	shared->is_ready = 1;
	while (!shared->stop) {
		pthread_t t[4];
		pid_t child;
		int status;

		for (size_t i = 0; i < ARRAY_LEN(t); i++)
			if (pthread_create(&t[i], NULL, short_life, NULL))
				return 1;
		child = vfork();
		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0 || status)
			return 2;
		for (size_t i = 0; i < ARRAY_LEN(t); i++)
			pthread_join(t[i], NULL);
	}
	return 0;
}

static void test_churn(void)
{
	pid_t pid = start(churn);

	visit_often("threads and children that come and go", pid, 40, 3);
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

static void *lasting(void *arg)
{
	(void)arg;
	while (!shared->stop) {
		nap_ms(5);
		shared->work++;
	}
	return NULL;
}

static int many_threads(void)
{
	pthread_t t[256];

	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		if (pthread_create(&t[i], NULL, lasting, NULL))
			return 1;
	shared->is_ready = 1;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		pthread_join(t[i], NULL);
	return 0;
}

static void test_256_threads(void)
{
	pid_t pid = start(many_threads);

	visit_often("256 threads", pid, 10, 5);
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

/* Only write, exit and what sigreturn needs. */
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
	visit_often("seccomp", pid, 5, 2);
	CHECK(goes_on());
	CHECK_INT(finish(pid), 0);
}

/* A signal that comes in the pause is handled after it, once, and ends a wait as ever. */
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
	struct hold *h = NULL;
	struct inside *in = NULL;
	struct err e = { 0 };

	nap_ms(20);
	if (!CHECK_INT(hold_begin(&h, &pid, 1, false, LIMIT_NS, &e), 0))
		return;
	kill(pid, SIGALRM);
	CHECK_INT(inside_open(&in, h, pid, 1000, 65536, &e), 0);
	CHECK(call_getpid(in, 3, &e));
	CHECK_INT(inside_run_back(in, &e), 0);
	inside_close(in);
	hold_end(h);
	CHECK_INT(finish(pid), 0);
}

/* Where the one who visits dies. */
enum death { DEATH_OPEN, DEATH_STEPS, DEATH_ARMED, DEATH_GATE, DEATH_GONE, DEATH_BACK, DEATHS };

static int told[2]; /* a pipe that a job writes to, made before it */

static struct inside_call tell(struct inside *in, char letter)
{
	return (struct inside_call){ .nr = SYS_write,
				     .arg = { (uint64_t)told[1], inside_put(in, &letter, 1), 1 },
				     .what = "write" };
}

/* Says s for a step, g for go, f for finish, u when a step is taken back, U when go is. */
static bool visit_and_die(pid_t pid, enum death death)
{
	struct hold *h = NULL;
	struct inside *in = NULL;
	struct err e = { 0 };
	struct inside_call call, undo;
	uint64_t gate, word = INSIDE_BACK;

	if (hold_begin(&h, &pid, 1, false, LIMIT_NS, &e) < 0 ||
	    inside_open(&in, h, pid, 1000, 65536, &e) < 0)
		return false;
	if (death == DEATH_OPEN)
		return true;
	call = tell(in, 's');
	undo = tell(in, 'u');
	inside_step(in, &call);
	inside_undo(in, &undo);
	if (inside_run(in, &e) < 0)
		return false;
	if (death == DEATH_STEPS)
		return true;
	call = tell(in, 'g');
	undo = tell(in, 'U');
	inside_go(in, 0, &call, &undo);
	call = tell(in, 'f');
	inside_finish(in, 0, &call);
	gate = inside_put(in, &word, sizeof word);
	if (inside_arm(in, gate, &e) < 0)
		return false;
	if (death == DEATH_ARMED)
		return true;
	word = INSIDE_GO;
	if (inside_write(in, gate, &word, sizeof word) < 0)
		return false;
	if (death == DEATH_GATE)
		return true;
	if (inside_run_go(in, &e) < 0)
		return false;
	if (death == DEATH_GONE)
		return true;
	word = INSIDE_BACK;
	return inside_prepare_back(in, &e) == 0 && inside_write(in, gate, &word, sizeof word) == 0;
}

static void test_death_of_the_visitor(void)
{
	static const char *const wants[DEATHS] = { "", "su", "su", "sgf", "sgf", "sgUu" };
	pid_t pid;

	if (pipe2(told, O_NONBLOCK) < 0)
		return;
	pid = start(many_threads);
	for (enum death death = 0; death < DEATHS; death++) {
		char got[16] = "";
		int status;
		pid_t visitor = fork();

		if (visitor == 0) {
			if (!visit_and_die(pid, death))
				_exit(1);
			kill(getpid(), SIGKILL);
		}
		waitpid(visitor, &status, 0);
		CHECK(WIFSIGNALED(status));
		CHECK(goes_on());
		for (int i = 0; i < 1000 && strlen(got) < strlen(wants[death]); i++) {
			nap_ms(1);
			if (read(told[0], got + strlen(got), sizeof got - strlen(got) - 1) < 0)
				continue;
		}
		CHECK_STR(got, wants[death]);
	}
	CHECK_INT(finish(pid), 0);
	close(told[0]);
	close(told[1]);
}

static void test_refusals(void)
{
	struct hold *h = NULL;
	struct err e = { 0 };
	pid_t pid = start(spin), none = 0x3ffffff;
	pid_t tracer;
	int status;

	CHECK_INT(hold_begin(&h, &none, 1, false, LIMIT_NS, &e), -ESRCH);
	tracer = fork();
	if (tracer == 0) {
		ptrace(PTRACE_SEIZE, pid, NULL, NULL);
		shared->is_ready = 3;
		pause();
		_exit(0);
	}
	while (shared->is_ready != 3)
		nap_ms(1);
	CHECK_INT(hold_begin(&h, &pid, 1, false, LIMIT_NS, &e), -EPERM);
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
	TAP_CASE(test_refusals);
	return tap_done();
}

/* SPDX-License-Identifier: MIT */
#include "inject/brief_stop.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/storage/replies.h"
#include "inject/tracee.h"
#include "target/proc.h"

#define TICK_NS 50000            /* between polls of a thread that has not stopped */
#define HUNG_NS (20 * NS_PER_MS) /* after which a thread in state D is given up */
#define RESUME_NS (4 * NS_PER_S) /* for a thread to be in its call again */
#define SLACK_MS 5000            /* that an answer of the child may take besides its limits */
#define CHILD_END_MS 1000        /* that the end of a killed child may take */

struct request {
	pid_t pid, tid;
	int64_t wait_ns, limit_ns;
};

/* Of the child: once the thread has stopped, or does not; and, after a stop, when it runs again. */
struct stop_reply {
	struct arch_regs regs;
	struct err e; /* code 0: it has stopped */
};

/* Nothing should preempt us while a thread is stopped. Without that privilege a stop may get
 * longer. */
static void raise_priority(void)
{
	const struct sched_param first = { .sched_priority = 1 };

	sched_setscheduler(0, SCHED_FIFO, &first);
}

/* Does storage or a device keep it in a call, as before? */
static bool hangs(const struct tracee *t)
{
	struct proc_stat s;

	return proc_stat_read(&s, t->tid) && s.state == 'D';
}

/* A thread that hangs is given up soon: there may be thousands. */
static bool has_stopped(struct tracee *t, int64_t until_ns)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	int64_t hung_ns = clock_mono_ns() + HUNG_NS;

	tracee_interrupt(t);
	for (;;) {
		int64_t now_ns = clock_mono_ns();

		tracee_poll(t);
		if (t->state != TRACEE_SEIZED || now_ns >= until_ns ||
		    (now_ns >= hung_ns && hangs(t)))
			return t->state == TRACEE_STOPPED;
		nanosleep(&tick, NULL);
	}
}

static void stop(struct tracee *t, const struct request *r, struct stop_reply *ret)
{
	int rc;

	if (tracee_seize_to_read(t, r->pid, r->tid, &ret->e) < 0)
		return;
	if (!has_stopped(t, clock_mono_ns() + r->wait_ns)) {
		if (t->state == TRACEE_GONE)
			err_set(&ret->e, -ESRCH, "thread %d has ended", (int)r->tid);
		else
			err_set(&ret->e, -EBUSY,
				"it hangs in the kernel, or gets no CPU, and does not stop");
		return;
	}
	rc = arch_read(r->tid, &ret->regs);
	if (rc < 0)
		err_set(&ret->e, rc, "thread %d: its registers cannot be read", (int)r->tid);
}

/* Waits for the word that the thread has been read, at most until then. false: it did not come. */
static bool wait_word(int fd, int64_t until_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		int64_t left = until_ns - clock_mono_ns();
		struct timespec t = { .tv_nsec = left < 0 ? 0 : (long)(left % NS_PER_S),
				      .tv_sec = left < 0 ? 0 : (time_t)(left / NS_PER_S) };
		int n = ppoll(&p, 1, &t, NULL);

		if (n >= 0 || errno != EINTR)
			return n > 0;
	}
}

/* Answers one request. false: the child is to end, which frees a thread that did not stop. */
static bool answer(int fd, const struct request *r)
{
	struct tracee t = { .state = TRACEE_GONE };
	struct stop_reply reply = { 0 };
	struct brief_stop_result result = { 0 };
	int64_t from_ns;
	char word;

	stop(&t, r, &reply);
	from_ns = clock_mono_ns();
	if (send(fd, &reply, sizeof reply, MSG_NOSIGNAL) < 0)
		return false;
	if (reply.e.code) {
		tracee_detach(&t);
		return t.state != TRACEE_SEIZED;
	}
	result.was_late = !wait_word(fd, from_ns + r->limit_ns);
	result.stopped_ns = clock_mono_ns() - from_ns;
	if (!tracee_detach_in_call(&t, clock_mono_ns() + RESUME_NS))
		return false;
	if (result.was_late && !wait_word(fd, INT64_MAX))
		return false;
	return recv(fd, &word, 1, 0) == 1 && send(fd, &result, sizeof result, MSG_NOSIGNAL) > 0;
}

static void serve(int fd, pid_t parent)
{
	struct request r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	setpgid(0, 0); /* Ctrl-Z is not for it: a thread would stay stopped */
	raise_priority();
	while (recv(fd, &r, sizeof r, 0) == sizeof r && answer(fd, &r))
		;
	_exit(0);
}

static void raise_own(struct brief_stop *s)
{
	struct sched_param p = { 0 };

	s->policy = sched_getscheduler(0);
	s->is_raised = s->policy >= 0 && sched_getparam(0, &p) == 0;
	s->priority = p.sched_priority;
	if (s->is_raised)
		raise_priority();
}

static void restore_own(struct brief_stop *s)
{
	const struct sched_param p = { .sched_priority = s->priority };

	if (s->is_raised)
		sched_setscheduler(0, s->policy, &p);
	s->is_raised = false;
}

static int start(struct brief_stop *s, struct err *e)
{
	pid_t parent = getpid();
	int ends[2];

	if (s->child)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(e, "socketpair");
	s->child = fork();
	if (s->child == 0) {
		close(ends[0]);
		serve(ends[1], parent);
	}
	close(ends[1]);
	if (s->child < 0) {
		err_errno(e, "fork");
		close(ends[0]);
		s->child = 0;
		return e->code;
	}
	s->fd = ends[0];
	return 0;
}

/* false: no answer in time. */
static bool receive(struct brief_stop *s, void *ret, size_t len, int64_t limit_ns)
{
	return wait_word(s->fd, clock_mono_ns() + limit_ns + SLACK_MS * NS_PER_MS) &&
	       recv(s->fd, ret, len, 0) == (ssize_t)len;
}

int brief_stop_begin(struct brief_stop *s, pid_t pid, pid_t tid, int64_t wait_ns, int64_t limit_ns,
		     struct arch_regs *ret, struct err *e)
{
	const struct request r = { pid, tid, wait_ns, limit_ns };
	struct stop_reply reply;

	if (start(s, e) < 0)
		return e->code;
	raise_own(s);
	if (send(s->fd, &r, sizeof r, MSG_NOSIGNAL) < 0 ||
	    !receive(s, &reply, sizeof reply, wait_ns)) {
		brief_stop_close(s);
		restore_own(s);
		return err_set(e, -EBUSY, "thread %d cannot be traced now", (int)tid);
	}
	if (reply.e.code) {
		restore_own(s);
		if (reply.e.code == -EBUSY)
			brief_stop_close(s);
		*e = reply.e;
		return e->code;
	}
	*ret = reply.regs;
	return 0;
}

struct brief_stop_result brief_stop_end(struct brief_stop *s)
{
	struct brief_stop_result result;
	bool is_answered =
		send(s->fd, "", 1, MSG_NOSIGNAL) == 1 && receive(s, &result, sizeof result, 0);

	restore_own(s);
	if (is_answered)
		return result;
	brief_stop_close(s);
	return (struct brief_stop_result){ .was_late = true };
}

void brief_stop_close(struct brief_stop *s)
{
	int status;

	if (!s->child)
		return;
	close(s->fd);
	kill(s->child, SIGKILL);
	replies_wait_end(s->child, &status, CHILD_END_MS);
	s->child = 0;
}

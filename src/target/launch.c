/* SPDX-License-Identifier: MIT */
#include "target/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "base/storage/replies.h"
#include "target/inherited.h"

#define EXEC_POLL_MS 100 /* between two looks for signals, while a program is executed */
#define EXEC_POLLS 5     /* a signal of the terminal is for the child, too, which may report it */
#define KILLED_MS 500    /* that a killed child may take to end */

/* What the child sends: that it is about to exec, or the errno of what failed. */
struct report {
	int error; /* 0: about to exec */
	long peak_kbytes;
};

static void send_report(int fd, int error)
{
	struct report report = { .error = error };
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		report.peak_kbytes = usage.ru_maxrss;
	while (write(fd, &report, sizeof report) < 0 && errno == EINTR)
		;
}

static void close_fd(int *fd)
{
	if (*fd > 0)
		close(*fd);
	*fd = 0;
}

/* 0 or an errno. The signal mask comes last, with all actions in place. */
static int restore(const sigset_t *mask)
{
	int error = inherited_restore();

	return !error && sigprocmask(SIG_SETMASK, mask, NULL) < 0 ? errno : error;
}

/* main fills descriptors that were closed with ones that do not outlive the exec. */
static bool was_closed(int fd)
{
	return fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

static int redirect(const struct launch_opts *o)
{
	if (o->owns_stdout && !was_closed(STDOUT_FILENO) && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return errno;
	if (o->null_fd &&
	    (dup2(o->null_fd, STDIN_FILENO) < 0 || dup2(o->null_fd, STDOUT_FILENO) < 0))
		return errno;
	return 0;
}

/* The child before its exec. Exits when it is not started. */
static _Noreturn void run_child(int go, int failure, const struct launch_opts *o,
				const sigset_t *mask)
{
	char byte = 0;
	int error;

	while (read(go, &byte, 1) < 0 && errno == EINTR)
		;
	if (byte != 'g')
		_exit(0);
	error = redirect(o);
	if (!error)
		error = restore(mask);
	if (!error && o->prepare)
		error = o->prepare(o->context);
	if (!error) {
		send_report(failure, 0);
		execvp(o->argv[0], o->argv);
		error = errno;
	}
	send_report(failure, error);
	_exit(127);
}

int launch_prepare(struct launch *l, const struct launch_opts *o, const sigset_t *mask,
		   struct err *e)
{
	int go[2], failure[2];
	pid_t pid;

	/* A socket: a child that is gone is an error of send(2), not a signal. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
		return err_errno(e, "socketpair");
	if (pipe2(failure, O_CLOEXEC) < 0) {
		err_errno(e, "pipe");
		goto fail_go;
	}
	pid = fork();
	if (pid < 0) {
		err_errno(e, "fork");
		goto fail;
	}
	if (pid == 0) {
		close(go[1]);
		run_child(go[0], failure[1], o, mask);
	}
	close(go[0]);
	close(failure[1]);
	*l = (struct launch){
		.pid = pid, .name = o->argv[0], .go_fd = go[1], .failure_fd = failure[0]
	};
	l->pid_fd = compat_pidfd_open(pid);
	return 0;

fail:
	close(failure[0]);
	close(failure[1]);
fail_go:
	close(go[0]);
	close(go[1]);
	return e->code;
}

int launch_go(struct launch *l, struct err *e)
{
	ssize_t n;

	do
		n = send(l->go_fd, "g", 1, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_errno(e, "%s: cannot be started", l->name);
	close_fd(&l->go_fd);
	return 0;
}

static void fill_ends(sigset_t *ret)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	sigemptyset(ret);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		sigaddset(ret, ends[i]);
}

/* Does a signal that the caller has blocked ask us to end? */
static bool is_asked_to_end(const sigset_t *ends)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigandset(&pending, &pending, ends) == 0 &&
	       !sigisemptyset(&pending);
}

/* Waits for the next report, or the end of the pipe. Storage that does not reply can keep the child
 * in its exec for ever: then a signal that asks us to end does so, and is taken. */
static bool wait_report(const struct launch *l)
{
	struct pollfd pipe_end = { .fd = l->failure_fd, .events = POLLIN };
	const struct timespec now = { 0 };
	unsigned asked = 0;
	sigset_t ends;

	fill_ends(&ends);
	if (l->is_left)
		return poll(&pipe_end, 1, 0) > 0;
	while (poll(&pipe_end, 1, EXEC_POLL_MS) <= 0) {
		if (!is_asked_to_end(&ends) || ++asked < EXEC_POLLS)
			continue;
		while (sigtimedwait(&ends, NULL, &now) > 0)
			;
		return false;
	}
	return true;
}

/* 0, or an errno: of the exec, or of what failed before it; negative: it cannot be read. */
static int read_reports(struct launch *l)
{
	struct report report = { 0 };
	bool has_come = false;
	ssize_t n;

	/* The exec that succeeds closes the pipe. */
	do {
		if (!wait_report(l))
			return EINTR;
		n = read(l->failure_fd, &report, sizeof report);
		if (n != (ssize_t)sizeof report)
			continue;
		has_come = true;
		l->peak_kbytes = report.peak_kbytes;
	} while ((n < 0 && errno == EINTR) || (n > 0 && !report.error));
	if (n < 0)
		return -errno;
	return n > 0 ? report.error : has_come ? 0 : ECHILD;
}

int launch_exec_result(struct launch *l, struct err *e)
{
	int error = read_reports(l);

	close_fd(&l->failure_fd);
	if (!error)
		return 0;
	if (error < 0)
		return err_set(e, error, "%s: whether it was executed is not known: %s", l->name,
			       strerror(-error));
	if (error == ECHILD)
		return err_set(e, -error, "%s: ended before it was executed", l->name);
	l->exec_error = error;
	if (error == EINTR) {
		kill(l->pid, SIGKILL);
		return err_set(e, -error, "%s: a signal came before it was executed", l->name);
	}
	if (!l->name[0])
		return err_set(e, -error, "'': command not found");
	if (error == ENOENT && !strchr(l->name, '/'))
		return err_set(e, -error, "%s: command not found", l->name);
	return err_set(e, -error, "%s: %s", l->name, strerror(error));
}

void launch_wait(struct launch *l)
{
	int status = 0;

	while (wait4(l->pid, &status, 0, &l->usage) < 0 && errno == EINTR)
		;
	launch_take_status(l, status);
}

/* A child that was not executed has ended, or was killed: what storage keeps is left. */
static void wait_failed(struct launch *l)
{
	int status = 0;

	if (l->exec_error == EINTR && replies_wait_end(l->pid, &status, KILLED_MS) <= 0)
		launch_take_status(l, SIGKILL);
	else if (l->exec_error == EINTR)
		launch_take_status(l, status);
	else
		launch_wait(l);
}

int launch_start(struct launch *l, struct err *e)
{
	int rc = launch_go(l, e);

	if (rc < 0)
		return rc;
	rc = launch_exec_result(l, e);
	if (rc < 0)
		wait_failed(l);
	return rc;
}

bool launch_has_ended(struct launch *l)
{
	siginfo_t info = { 0 };

	if (!l->has_ended && l->pid &&
	    waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
		l->has_ended = true;
	return l->has_ended;
}

void launch_take_status(struct launch *l, int status)
{
	l->pid = 0;
	l->has_ended = true;
	l->end_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	l->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool launch_reap(struct launch *l)
{
	int status;
	pid_t pid = 0;

	if (l->pid)
		do
			pid = wait4(l->pid, &status, WNOHANG, &l->usage);
		while (pid < 0 && errno == EINTR);
	if (pid <= 0)
		return false;
	launch_take_status(l, status);
	return true;
}

void launch_close(struct launch *l)
{
	bool is_prepared = l->pid > 0 && l->go_fd > 0;

	close_fd(&l->go_fd);
	close_fd(&l->failure_fd);
	close_fd(&l->pid_fd);
	if (is_prepared)
		launch_wait(l);
	*l = (struct launch){ 0 };
}

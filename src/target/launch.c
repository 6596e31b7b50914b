/* SPDX-License-Identifier: MIT */
#include "target/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child tells: that it is about to exec, and how that failed. */
struct word {
	int error; /* 0: about to */
	long peak_kbytes;
};

static void tell(int fd, int error)
{
	struct word word = { .error = error };
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		word.peak_kbytes = usage.ru_maxrss;
	while (write(fd, &word, sizeof word) < 0 && errno == EINTR)
		;
}

static void close_fd(int *fd)
{
	if (*fd > 0)
		close(*fd);
	*fd = 0;
}

/* The child's life until it is the program. Ends quietly when nobody tells it to start. */
static _Noreturn void run_child(int go, int failure, const struct launch_opts *o)
{
	char byte = 0;
	int error;

	while (read(go, &byte, 1) < 0 && errno == EINTR)
		;
	if (byte != 'g')
		_exit(0);
	setrlimit(RLIMIT_NOFILE, o->files);
	if (o->owns_stdout)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	if (o->null_fd) {
		dup2(o->null_fd, STDIN_FILENO);
		dup2(o->null_fd, STDOUT_FILENO);
	}
	sigprocmask(SIG_SETMASK, o->mask, NULL);
	error = o->prepare ? o->prepare(o->context) : 0;
	if (!error) {
		tell(failure, 0);
		execvp(o->argv[0], o->argv);
		error = errno;
	}
	tell(failure, error);
	_exit(127);
}

int launch_new(struct launch *l, const struct launch_opts *o, struct err *e)
{
	int go[2], failure[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
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
		run_child(go[0], failure[1], o);
	}
	close(go[0]);
	close(failure[1]);
	*l = (struct launch){ .pid = pid, .go_fd = go[1], .failure_fd = failure[0] };
	l->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;

fail:
	close(failure[0]);
	close(failure[1]);
fail_go:
	close(go[0]);
	close(go[1]);
	return e->code;
}

void launch_go(struct launch *l)
{
	while (write(l->go_fd, "g", 1) < 0 && errno == EINTR)
		;
	close_fd(&l->go_fd);
}

int launch_failure(struct launch *l)
{
	struct word word = { 0 };
	ssize_t n;

	/* Closed by the exec that succeeds. */
	do {
		n = read(l->failure_fd, &word, sizeof word);
		if (n == (ssize_t)sizeof word)
			l->peak_kbytes = word.peak_kbytes;
	} while ((n < 0 && errno == EINTR) || (n > 0 && !word.error));
	close_fd(&l->failure_fd);
	return n > 0 ? word.error : 0;
}

int launch_explain(int error, const char *name, struct err *e)
{
	if (!name[0])
		return err_set(e, -error, "'': command not found");
	if (error == ENOENT && !strchr(name, '/'))
		return err_set(e, -error, "%s: command not found", name);
	return err_set(e, -error, "%s: %s", name, strerror(error));
}

int launch_start(struct launch *l, const char *name, struct err *e)
{
	int error;

	launch_go(l);
	error = launch_failure(l);
	if (!error)
		return 0;
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	l->pid = 0;
	return launch_explain(error, name, e);
}

bool launch_poll(struct launch *l, int *ret_status, struct rusage *ret_usage)
{
	int status;

	if (l->pid == 0 || wait4(l->pid, &status, WNOHANG, ret_usage) != l->pid)
		return false;
	l->pid = 0;
	l->end_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	*ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return true;
}

void launch_close(struct launch *l)
{
	bool is_waiting = l->pid > 0 && l->go_fd > 0;

	close_fd(&l->go_fd);
	close_fd(&l->failure_fd);
	if (l->pid_fd > 0)
		close(l->pid_fd);
	while (is_waiting && waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*l = (struct launch){ 0 };
}

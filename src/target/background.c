/* SPDX-License-Identifier: MIT */
#include "target/background.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compat/compat.h"

static int await(pid_t child, int ready_fd, struct err *e)
{
	ssize_t n;
	char byte;
	int status;

	do
		n = read(ready_fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	close(ready_fd);
	if (n == 1)
		return 0;
	if (waitpid(child, &status, 0) < 0)
		return err_errno(e, "waiting");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* What the command's caller had open is not ours to keep: a lock is held, and a pipe has no end,
 * until all of it is closed. */
static void close_inherited(int but)
{
	compat_close_range(STDERR_FILENO + 1, (unsigned)but - 1);
	compat_close_range((unsigned)but + 1, UINT_MAX);
}

int background_fork(int *ret_ready_fd, struct err *e)
{
	int pipe_fds[2];
	pid_t child;

	*ret_ready_fd = -1;
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	child = fork();
	if (child < 0)
		return err_errno(e, "fork");
	if (child > 0) {
		close(pipe_fds[1]);
		return await(child, pipe_fds[0], e);
	}
	close_inherited(pipe_fds[1]);
	*ret_ready_fd = pipe_fds[1];
	return 0;
}

static int leave(struct err *e)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return err_errno(e, "/dev/null");
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	close(null);
	if (chdir("/") < 0 || setsid() < 0)
		return err_errno(e, "cannot go to the background");
	return 0;
}

int background_detach(int ready_fd, struct err *e)
{
	int rc = leave(e);

	if (write(ready_fd, "", 1) < 0 && rc == 0)
		rc = err_errno(e, "cannot report that it is ready");
	close(ready_fd);
	return rc;
}

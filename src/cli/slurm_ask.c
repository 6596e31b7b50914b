/* SPDX-License-Identifier: MIT */
#include "cli/slurm_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES ((size_t)64 << 10)

static int read_end(int fd, const char *name, struct buf *out, struct err *e)
{
	for (;;) {
		void *room = buf_reserve(out, READ_BYTES);
		ssize_t n;

		if (!room)
			return err_nomem(e);
		n = read(fd, room, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "%s", name);
		if (n == 0)
			return 0;
		buf_grew(out, (size_t)n);
	}
}

static int start(char *const *argv, int to, pid_t *ret, struct err *e)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return err_nomem(e);
	error = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	if (!error)
		error = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error ? err_set(e, -error, "%s: %s", argv[0], strerror(error)) : 0;
}

int slurm_ask(char *const *argv, struct buf *out, struct err *e)
{
	int ends[2], status = 0, rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	rc = start(argv, ends[1], &pid, e);
	close(ends[1]);
	if (rc == 0) {
		rc = read_end(ends[0], argv[0], out, e);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	if (rc == 0 && status)
		return err_set(e, -EIO, "%s failed; --sacct FILE takes what it printed elsewhere",
			       argv[0]);
	return rc;
}

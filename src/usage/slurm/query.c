/* SPDX-License-Identifier: MIT */
#include "usage/slurm/query.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.h"

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

static int start(char *const *argv, int to, int words, pid_t *ret, struct err *e)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return err_nomem(e);
	error = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, words, STDERR_FILENO);
	if (!error)
		error = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error ? err_set(e, -error, "%s: %s", argv[0], strerror(error)) : 0;
}

static int run(char *const *argv, int words, struct buf *out, int *ret_status, struct err *e)
{
	int ends[2], rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	rc = start(argv, ends[1], words, &pid, e);
	close(ends[1]);
	if (rc == 0) {
		rc = read_end(ends[0], argv[0], out, e);
		while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	return rc;
}

/* The last line of its standard error is the reason. */
static int fail(const char *name, const char *words, size_t len, struct err *e)
{
	CLEANUP(buf_fini) struct buf reason = { 0 };
	const char *line;

	while (len && words[len - 1] == '\n')
		len--;
	line = len ? memrchr(words, '\n', len) : NULL;
	line = line ? line + 1 : words;
	utf8_put_visible(&reason, line, len - (size_t)(line - words));
	if (buf_error(&reason) < 0)
		return err_nomem(e);
	return err_set(e, -EIO, "%s failed%s%s; --sacct FILE takes what it printed elsewhere", name,
		       reason.len ? ": " : "", reason.len ? reason.data : "");
}

int slurm_query(char *const *argv, struct buf *out, struct err *e)
{
	CLEANUP(buf_fini) struct buf words = { 0 };
	int words_fd = memfd_create("auger", MFD_CLOEXEC), status = 0, rc;

	if (words_fd < 0)
		return err_errno(e, "memfd_create");
	rc = run(argv, words_fd, out, &status, e);
	if (rc == 0 && lseek(words_fd, 0, SEEK_SET) < 0)
		rc = err_errno(e, "%s", argv[0]);
	if (rc == 0)
		rc = read_end(words_fd, argv[0], &words, e);
	close(words_fd);
	if (rc == 0 && status)
		return fail(argv[0], words.len ? words.data : "", words.len, e);
	return rc;
}

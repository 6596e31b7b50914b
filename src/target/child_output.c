/* SPDX-License-Identifier: MIT */
#include "target/child_output.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.h"

#define READ_BYTES ((size_t)64 << 10)

/* Descriptors that the child gets as its standard ones; -1: none. */
struct ends {
	int input, output, words;
};

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

static int start(char *const *argv, const struct ends *ends, pid_t *ret, struct err *e)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return err_nomem(e);
	error = posix_spawn_file_actions_adddup2(&actions, ends->input, STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, ends->output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, ends->words, STDERR_FILENO);
	if (!error)
		error = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error ? err_set(e, -error, "%s: %s", argv[0], strerror(error)) : 0;
}

static int run(char *const *argv, struct ends *ends, struct buf *out, int *ret_status,
	       struct err *e)
{
	int fds[2], rc;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	ends->output = fds[1];
	rc = start(argv, ends, &pid, e);
	close(fds[1]);
	if (rc < 0) {
		close(fds[0]);
		return rc;
	}
	rc = read_end(fds[0], argv[0], out, e);
	close(fds[0]);
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
	return rc;
}

/* A file in memory with these bytes, at its start. */
static int make_file(const void *bytes, size_t len, int *ret, struct err *e)
{
	int fd = memfd_create("auger", MFD_CLOEXEC);

	if (fd < 0)
		return err_errno(e, "memfd_create");
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, (const char *)bytes + done, len - done, (off_t)done);

		if (n < 0 && errno != EINTR) {
			close(fd);
			return err_errno(e, "memfd");
		}
		done += n > 0 ? (size_t)n : 0;
	}
	*ret = fd;
	return 0;
}

/* The last line of what it said is the reason. */
static int fail(const char *name, int words, const char *remedy, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 }, reason = { 0 };
	size_t len;
	const char *line;

	if (lseek(words, 0, SEEK_SET) < 0)
		return err_errno(e, "%s", name);
	if (read_end(words, name, &text, e) < 0)
		return e->code;
	len = text.len;
	while (len && text.data[len - 1] == '\n')
		len--;
	line = len ? memrchr(text.data, '\n', len) : NULL;
	line = line ? line + 1 : text.data;
	if (len)
		utf8_put_visible(&reason, line, len - (size_t)(line - text.data));
	if (buf_error(&reason) < 0)
		return err_nomem(e);
	return err_set(e, -EIO, "%s failed%s%s; %s", name, reason.len ? ": " : "",
		       reason.len ? reason.data : "", remedy);
}

int child_output(char *const *argv, const void *input, size_t len, const char *remedy,
		 struct buf *out, struct err *e)
{
	struct ends ends = { -1, -1, -1 };
	int status = 0, rc = make_file(input, len, &ends.input, e);

	if (rc == 0)
		rc = make_file("", 0, &ends.words, e);
	if (rc == 0)
		rc = run(argv, &ends, out, &status, e);
	if (rc == 0 && status)
		rc = fail(argv[0], ends.words, remedy, e);
	if (ends.input >= 0)
		close(ends.input);
	if (ends.words >= 0)
		close(ends.words);
	return rc;
}

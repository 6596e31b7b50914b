/* SPDX-License-Identifier: MIT */
#include "cli/cache/on_nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

#define POLL_NS (NS_PER_S / 50) /* short beside the start of a program */

void on_nodes_fini(struct on_nodes *r)
{
	free(r->pids);
	*r = (struct on_nodes){ 0 };
}

/* The command with its rank. */
static void put_ranked(const struct words *command, uint32_t rank, struct words *ret)
{
	const char *at = command->text.data;

	ret->text.bad |= command->text.bad;
	for (size_t i = 0; i < command->count && buf_error(&command->text) == 0;
	     i++, at += strlen(at) + 1) {
		if (strcmp(at, "%r") == 0)
			words_addf(ret, "%u", rank);
		else
			words_add(ret, at);
	}
}

void on_nodes_line(const struct launcher *l, uint32_t i, const struct words *command,
		   struct words *ret)
{
	CLEANUP(words_fini) struct words ranked = { 0 };

	put_ranked(command, i, &ranked);
	launcher_put(l, i, &ranked, ret);
}

static int spawn(char **argv, int log, pid_t *ret, struct err *e)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int rc;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, log, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);
	rc = posix_spawnp(ret, argv[0], &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return rc ? err_set(e, -rc, "%s: %s", argv[0], strerror(rc)) : 0;
}

static int open_log(const char *log, struct err *e)
{
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? err_errno(e, "%s", log) : fd;
}

int on_nodes_run_here(const struct words *command, const char *log, struct err *e)
{
	CLEANUP(fd_close) int fd = open_log(log, e);
	char **argv = fd < 0 ? NULL : words_argv(command);
	int status, rc = fd < 0 ? fd : argv ? 0 : err_nomem(e);
	pid_t pid = 0;

	if (rc == 0)
		rc = spawn(argv, fd, &pid, e);
	free(argv);
	if (rc < 0)
		return rc;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0
		       ? 0
		       : err_set(e, -EIO, "it failed; %s has its messages", log);
}

static int start_one(const struct launcher *l, uint32_t i, const struct words *command, int log,
		     pid_t *ret, struct err *e)
{
	CLEANUP(words_fini) struct words line = { 0 };
	char **argv;
	int rc;

	on_nodes_line(l, i, command, &line);
	argv = words_argv(&line);
	rc = argv ? spawn(argv, log, ret, e) : err_nomem(e);
	free(argv);
	return rc;
}

int on_nodes_start(const struct launcher *l, const struct words *command, const char *log,
		   struct on_nodes *ret, struct err *e)
{
	CLEANUP(fd_close) int fd = -1;
	size_t count = launcher_is_collective(l) ? 1 : l->nodes;
	int rc = 0;

	if (buf_error(&command->text) < 0)
		return err_nomem(e);
	fd = open_log(log, e);
	if (fd < 0)
		return fd;
	*ret = (struct on_nodes){ .pids = calloc(count, sizeof *ret->pids) };
	if (!ret->pids)
		return err_nomem(e);
	for (; rc == 0 && ret->count < count; ret->count += rc == 0) {
		rc = start_one(l, (uint32_t)ret->count, command, fd, &ret->pids[ret->count], e);
		ret->running += rc == 0;
	}
	return rc;
}

void on_nodes_poll(struct on_nodes *r)
{
	for (size_t i = 0; i < r->count; i++) {
		int status;

		if (!r->pids[i] || waitpid(r->pids[i], &status, WNOHANG) != r->pids[i])
			continue;
		r->pids[i] = 0;
		r->running--;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			continue;
		if (!r->failed++)
			r->first_failed = (uint32_t)i;
	}
}

bool on_nodes_wait(struct on_nodes *r, int64_t timeout_ns)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	int64_t until_ns = clock_mono_ns() + timeout_ns;

	for (;;) {
		on_nodes_poll(r);
		if (!r->running || clock_mono_ns() >= until_ns)
			return !r->running;
		nanosleep(&pause, NULL);
	}
}

void on_nodes_signal(const struct on_nodes *r, int signal)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->pids[i])
			kill(r->pids[i], signal);
}

void on_nodes_log_end(const char *log, char ret[512])
{
	CLEANUP(fd_close) int fd = open(log, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	ssize_t len = 0;
	char *text = ret;

	*ret = '\0';
	if (size > 0)
		len = pread(fd, ret, 511, size > 511 ? size - 511 : 0);
	if (len <= 0)
		return;
	while (len && (ret[len - 1] == '\n' || ret[len - 1] == '\0'))
		len--;
	ret[len] = '\0';
	text = strrchr(ret, '\n');
	if (text)
		memmove(ret, text + 1, strlen(text));
}

/* SPDX-License-Identifier: MIT */
#include "cacherun/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return errno;
	rc = file_write_all(fd, text, strlen(text));
	close(fd);
	return -rc;
}

/* Who may not mount, may where he is root and nobody else is there; he stays who he is. */
static int become_owner(void)
{
	char uids[64], gids[64];
	int rc;

	snprintf(uids, sizeof uids, "%u %u 1", geteuid(), geteuid());
	snprintf(gids, sizeof gids, "%u %u 1", getegid(), getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return errno;
	rc = write_text("/proc/self/setgroups", "deny");
	if (!rc)
		rc = write_text("/proc/self/gid_map", gids);
	return rc ? rc : write_text("/proc/self/uid_map", uids);
}

/* What is mounted and unmounted elsewhere is so here, too; nothing of ours is seen elsewhere. */
static int leave(void)
{
	if (unshare(CLONE_NEWNS) < 0) {
		int rc = errno == EPERM ? become_owner() : errno;

		if (rc)
			return rc;
	}
	return mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ? errno : 0;
}

/* fds: of the view's folders, opened before any of them is covered. */
static int open_folders(const struct cache_namespace *s, int *fds)
{
	size_t target_len = strcmp(s->target, "/") == 0 ? 0 : strlen(s->target);

	for (size_t i = 0; i < s->binds->count; i++) {
		char path[PATH_MAX];

		if (snprintf(path, sizeof path, "%s%s", s->view,
			     s->binds->folders[i] + target_len) >= (int)sizeof path)
			return ENAMETOOLONG;
		fds[i] = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fds[i] < 0)
			return errno;
	}
	return 0;
}

static int cover(const struct cache_namespace *s, const int *fds)
{
	for (size_t i = 0; i < s->binds->count; i++) {
		char from[64];

		snprintf(from, sizeof from, "/proc/self/fd/%d", fds[i]);
		if (mount(from, s->binds->folders[i], NULL, MS_BIND, NULL) < 0)
			return errno;
		close(fds[i]);
	}
	return 0;
}

/* Relative paths are of the view, too, where absolute ones are. */
static int cover_here(const struct cache_namespace *s)
{
	char here[PATH_MAX];

	if (!getcwd(here, sizeof here) || !binds_have(s->binds, here, strlen(here)))
		return 0;
	return chdir(here) < 0 ? errno : 0;
}

int namespace_enter(void *space)
{
	const struct cache_namespace *s = space;
	int *fds = calloc(s->binds->count + 1, sizeof *fds), rc = fds ? leave() : ENOMEM;

	if (!rc)
		rc = open_folders(s, fds);
	if (!rc)
		rc = cover(s, fds);
	if (!rc)
		rc = cover_here(s);
	free(fds);
	return rc;
}

int namespace_try(const struct cache_namespace *s, struct err *e)
{
	struct cache_namespace copy = *s;
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return err_errno(e, "fork");
	if (pid == 0)
		_exit(namespace_enter(&copy));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_errno(e, "wait");
	if (!WIFEXITED(status))
		return err_set(e, -EIO, "it ended by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status)
		       ? err_set(e, -WEXITSTATUS(status), "%s", strerror(WEXITSTATUS(status)))
		       : 0;
}

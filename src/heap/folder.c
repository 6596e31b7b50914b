/* SPDX-License-Identifier: MIT */
#include "heap/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

/* false: there is none. */
static bool is_memory(const char *root, const char *folder)
{
	char path[PATH_MAX];
	struct statfs fs;

	return snprintf(path, sizeof path, "%s%s", root, folder) < (int)sizeof path &&
	       statfs(path, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

static bool is_writable(const char *root, const char *folder)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof path, "%s%s", root, folder) < (int)sizeof path &&
	       access(path, W_OK) == 0;
}

const char *heap_folder_parent(const char *root)
{
	const char *tmp = getenv("TMPDIR");

	if (tmp && *tmp == '/' && (!*root || is_writable(root, tmp)))
		return tmp;
	return is_memory(root, "/tmp") && !is_memory(root, "/var/tmp") &&
			       is_writable(root, "/var/tmp")
		       ? "/var/tmp"
		       : "/tmp";
}

void heap_folder_clear(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return;
	}
	while ((entry = readdir(dir)))
		unlinkat(fd, entry->d_name, 0);
	closedir(dir);
}

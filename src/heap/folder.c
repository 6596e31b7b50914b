/* SPDX-License-Identifier: MIT */
#include "heap/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

/* false: there is none. */
static bool is_memory(const char *folder)
{
	struct statfs fs;

	return statfs(folder, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

const char *heap_folder_parent(void)
{
	const char *tmp = getenv("TMPDIR");

	if (tmp && *tmp == '/')
		return tmp;
	return is_memory("/tmp") && !is_memory("/var/tmp") && access("/var/tmp", W_OK) == 0
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

/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/mount_users.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

#define NAMED 5 /* further ones are only counted */
#define MAPS_MAX (64 << 20)

/* AT_STATX_DONT_SYNC sends no request to a server that may hang, and the kernel shows root, too,
 * the device of another user's mount if nothing else is requested. Source: statx(2);
 * fuse_update_attributes in fs/fuse/dir.c of Linux. */
static bool is_on_device(dev_t device, const char *link)
{
	struct statx st;

	return statx(AT_FDCWD, link, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &st) == 0 &&
	       st.stx_dev_major == major(device) && st.stx_dev_minor == minor(device);
}

static bool has_open(dev_t device, const char *pid)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, entry->d_name);
		found = is_on_device(device, path);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool has_mapped(dev_t device, const char *pid)
{
	CLEANUP(buf_fini) struct buf maps = { 0 };
	char path[PATH_MAX], number[32];
	struct err e = { 0 };

	snprintf(number, sizeof number, " %02x:%02x ", major(device), minor(device));
	snprintf(path, sizeof path, "/proc/%s/maps", pid);
	return file_read_small(path, MAPS_MAX, &maps, &e) == 0 && maps.len &&
	       strstr(maps.data, number);
}

static bool uses(dev_t device, const char *pid)
{
	static const char *const links[] = { "cwd", "root", "exe" };

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof path, "/proc/%s/%s", pid, links[i]);
		if (is_on_device(device, path))
			return true;
	}
	return has_open(device, pid) || has_mapped(device, pid);
}

static void note(struct mount_users *u, const char *pid, pid_t server)
{
	char path[PATH_MAX], name[32];

	u->has_server |= server && atoi(pid) == server;
	if (u->count++ >= NAMED)
		return;
	snprintf(path, sizeof path, "/proc/%s/comm", pid);
	if (!file_read_start(path, name, sizeof name))
		snprintf(name, sizeof name, "?");
	name[strcspn(name, "\n")] = '\0';
	buf_printf(&u->names, "%s%s (%s)", u->names.len ? ", " : "", name, pid);
}

void mount_users_find(dev_t device, pid_t server, struct mount_users *ret)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	*ret = (struct mount_users){ .count = 0 };
	while (proc && (entry = readdir(proc)))
		if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != (int)getpid() &&
		    uses(device, entry->d_name))
			note(ret, entry->d_name, server);
	if (proc)
		closedir(proc);
	if (ret->count > NAMED)
		buf_printf(&ret->names, " and %zu more", ret->count - NAMED);
}

void mount_users_fini(struct mount_users *u)
{
	buf_fini(&u->names);
	*u = (struct mount_users){ .count = 0 };
}

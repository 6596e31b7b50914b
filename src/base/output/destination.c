/* SPDX-License-Identifier: MIT */
#include "base/output/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as the kernel's MAXSYMLINKS, path_resolution(7) */
#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

struct walk {
	const char *path; /* as it was given, for messages */
	struct destination *at;
	char rest[PATH_MAX]; /* not walked yet */
	unsigned links;
};

static bool is_shared(const struct stat *folder)
{
	return folder->st_mode & S_ISVTX && folder->st_mode & (S_IWGRP | S_IWOTH);
}

bool destination_is_trusted(int folder, const struct stat *st)
{
	struct stat parent;

	return fstat(folder, &parent) == 0 &&
	       (!is_shared(&parent) || st->st_uid == geteuid() || st->st_uid == parent.st_uid);
}

static bool is_procfs(int folder)
{
	struct statfs fs;

	return fstatfs(folder, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

static int enter(struct walk *w, const char *name, int flags, struct err *e)
{
	int fd = name ? openat(w->at->folder, name, FOLDER_FLAGS | flags)
		      : open(w->rest[0] == '/' ? "/" : ".", FOLDER_FLAGS);

	if (fd < 0)
		return err_errno(e, "%s", w->path);
	destination_close(w->at);
	w->at->folder = fd;
	return 0;
}

/* Moves the next component of w->rest to w->at->name. */
static int next_name(struct walk *w, struct err *e)
{
	const char *from = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(from, "/");

	if (len > NAME_MAX)
		return err_set(e, -ENAMETOOLONG, "%s: name too long", w->path);
	memcpy(w->at->name, from, len);
	w->at->name[len] = '\0';
	memmove(w->rest, from + len, strlen(from + len) + 1);
	return 0;
}

static int follow(struct walk *w, struct err *e)
{
	char text[2 * PATH_MAX];
	ssize_t len;

	if (!destination_is_trusted(w->at->folder, &w->at->st))
		return err_set(e, -EACCES,
			       "%s: does not follow another user's link in a shared folder",
			       w->path);
	len = readlinkat(w->at->folder, w->at->name, text, PATH_MAX - 1);
	if (len < 0)
		return err_errno(e, "%s", w->path);
	if (++w->links > MAX_LINKS)
		return err_set(e, -ELOOP, "%s: %s", w->path, strerror(ELOOP));
	snprintf(text + len, sizeof text - (size_t)len, "%s", w->rest);
	if (strlen(text) >= sizeof w->rest)
		return err_set(e, -ENAMETOOLONG, "%s: name too long", w->path);
	memcpy(w->rest, text, strlen(text) + 1);
	return *w->rest == '/' ? enter(w, NULL, 0, e) : 0;
}

/* "", "." and ".." are folders wherever they are. */
static bool is_folder_name(const char *name)
{
	return !*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* One component. 1: it was the last one. */
static int step(struct walk *w, struct err *e)
{
	struct destination *at = w->at;
	bool is_last, is_end;
	int rc = next_name(w, e);

	if (rc < 0)
		return rc;
	is_last = !*w->rest;
	is_end = !w->rest[strspn(w->rest, "/")];
	if (is_end && (!is_last || is_folder_name(at->name)))
		return err_set(e, -EISDIR, "%s: is a directory", w->path);
	if (is_folder_name(at->name))
		return enter(w, *at->name ? at->name : ".", 0, e);
	at->is_there = fstatat(at->folder, at->name, &at->st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!at->is_there)
		return errno == ENOENT && is_last ? 1 : err_errno(e, "%s", w->path);
	if (!S_ISLNK(at->st.st_mode))
		return is_last ? 1 : enter(w, at->name, O_NOFOLLOW, e);
	if (!is_procfs(at->folder))
		return follow(w, e);
	if (!is_last)
		return enter(w, at->name, 0, e);
	at->is_opened = true;
	return fstatat(at->folder, at->name, &at->st, 0) < 0 ? err_errno(e, "%s", w->path) : 1;
}

static int walk(struct walk *w, struct err *e)
{
	int rc = enter(w, NULL, 0, e);

	while (rc == 0)
		rc = step(w, e);
	if (rc < 0)
		return rc;
	if (w->at->is_there && S_ISDIR(w->at->st.st_mode))
		return err_set(e, -EISDIR, "%s: is a directory", w->path);
	if (w->at->is_there && !w->at->is_opened &&
	    !destination_is_trusted(w->at->folder, &w->at->st))
		return err_set(e, -EACCES, "%s: belongs to another user, in a shared folder",
			       w->path);
	return 0;
}

int destination_open(const char *path, struct destination *ret, struct err *e)
{
	struct destination at = { .folder = -1 };
	struct walk w = { .path = path, .at = &at };
	int rc;

	if (!*path)
		return err_set(e, -ENOENT, "the output's name is empty");
	if (strlen(path) >= sizeof w.rest)
		return err_set(e, -ENAMETOOLONG, "%s: name too long", path);
	memcpy(w.rest, path, strlen(path) + 1);
	rc = walk(&w, e);
	if (rc < 0)
		destination_close(&at);
	else
		*ret = at;
	return rc;
}

/* Source: statfs(2); linux/magic.h; the file systems' own headers. */
bool destination_is_remote(const struct destination *d)
{
	static const uint32_t remote[] = {
		0x6969,     /* NFS */
		0xff534d42, /* CIFS */
		0xfe534d42, /* SMB2 */
		0x517b,     /* SMB */
		0x65735546, /* FUSE */
		0x0bd00bd0, /* Lustre */
		0x47504653, /* GPFS */
		0x19830326, /* BeeGFS */
		0x00c36400, /* Ceph */
		0x01021997, /* 9P */
		0x5346414f, /* AFS */
		0x6b414653, /* AFS of the kernel */
		0x20030528, /* OrangeFS */
		0xaad7aaea, /* PanFS */
		0x01161970, /* GFS2 */
		0x7461636f, /* OCFS2 */
	};
	struct statfs fs;

	if (fstatfs(d->folder, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
		if ((uint32_t)fs.f_type == remote[i])
			return true;
	return false;
}

void destination_close(struct destination *d)
{
	if (d->folder >= 0)
		close(d->folder);
	d->folder = -1;
}

bool destination_is_direct(const struct destination *d)
{
	return d->is_there && (d->is_opened || !S_ISREG(d->st.st_mode));
}

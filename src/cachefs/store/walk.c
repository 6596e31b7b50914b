/* SPDX-License-Identifier: MIT */
#include "cachefs/store/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

struct walking {
	walk_visit *visit;
	void *context;
	dev_t device;       /* of the root */
	struct buf waiting; /* a stack of folders to visit: a NUL, the path, and a NUL for each */
	struct buf path;    /* of the folder, then of each of its entries */
	size_t unread;
	struct err *e;
};

/* *ret is NULL when the folder is on another file system. Else 0 or -errno. */
static int open_folder(const struct walking *w, const char *path, DIR **ret)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int rc = 0;

	*ret = NULL;
	if (fd < 0 || fstat(fd, &st) < 0)
		rc = -errno;
	if (rc == 0 && st.st_dev == w->device) {
		*ret = fdopendir(fd);
		rc = *ret ? 0 : -errno;
	}
	if (fd >= 0 && !*ret)
		close(fd);
	return rc;
}

static bool is_folder(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

static int visit_entry(struct walking *w, DIR *dir, const struct dirent *entry, size_t folder_len)
{
	bool is_dir = is_folder(dir, entry);

	w->path.len = folder_len;
	if (folder_len > 1)
		buf_put_byte(&w->path, '/');
	buf_put_str(&w->path, entry->d_name);
	if (is_dir) {
		buf_put_byte(&w->waiting, '\0');
		buf_put(&w->waiting, w->path.data, w->path.len);
		buf_put_byte(&w->waiting, '\0');
	}
	if (buf_error(&w->path) < 0 || buf_error(&w->waiting) < 0)
		return err_nomem(w->e);
	return w->visit(w->context, w->path.data, w->path.len, is_dir, w->e);
}

/* w->path: of the folder. */
static int visit_folder(struct walking *w, DIR *dir)
{
	size_t folder_len = w->path.len;
	const struct dirent *entry;
	int rc = 0;

	errno = 0;
	while (rc == 0 && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = visit_entry(w, dir, entry, folder_len);
		errno = 0;
	}
	w->unread += rc == 0 && errno;
	return rc;
}

/* Pops a folder into w->path. */
static void take_folder(struct walking *w)
{
	size_t end = w->waiting.len - 1, start = end;

	while (w->waiting.data[start - 1])
		start--;
	buf_clear(&w->path);
	buf_put(&w->path, w->waiting.data + start, end - start);
	w->waiting.len = start - 1;
}

static int go(struct walking *w)
{
	int rc = 0;

	while (rc == 0 && w->waiting.len) {
		DIR *dir;

		take_folder(w);
		if (buf_error(&w->path) < 0)
			return err_nomem(w->e);
		rc = open_folder(w, w->path.data, &dir);
		if (rc == -ENOMEM)
			return err_nomem(w->e);
		w->unread += rc < 0;
		rc = dir ? visit_folder(w, dir) : 0;
		if (dir)
			closedir(dir);
	}
	return rc;
}

int walk(const char *root, walk_visit *visit, void *context, size_t *ret_unread, struct err *e)
{
	struct walking w = { .visit = visit, .context = context, .e = e };
	struct stat st;
	int rc;

	if (lstat(root, &st) < 0)
		return err_errno(e, "%s", root);
	if (S_ISLNK(st.st_mode))
		return err_set(e, -ELOOP, "%s: is a symbolic link; name the folder it leads to",
			       root);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "%s: not a directory", root);
	w.device = st.st_dev;
	buf_put_byte(&w.waiting, '\0');
	buf_put(&w.waiting, root, strlen(root) + 1);
	rc = buf_error(&w.waiting) < 0 ? err_nomem(e) : go(&w);
	*ret_unread = w.unread;
	buf_fini(&w.waiting);
	buf_fini(&w.path);
	return rc;
}

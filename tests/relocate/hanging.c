/* SPDX-License-Identifier: MIT */
/*
 * hanging SOURCE RULES MOUNTPOINT: shows the folder SOURCE, for reading and writing, as a network
 * file system does: the kernel caches what it has read and written, and closing a file is a request
 * (flush). The file RULES names operations that hang as long as it names them, a word each:
 * "flush", "flush@12" for those of process 12, or "all". An operation that begins to hang appends a
 * line with its name to RULES.log. Other words: "late": the clock of the server is five minutes
 * slow; "delayed": it tells no time of a change that is later than that of RULES; "stale": files
 * whose names begin with "stale" fail with ESTALE, as those that another machine has removed. With
 * SILLY in the environment an open file that is unlinked gets another name until it is closed (on
 * NFS .nfsXXXX, here .fuse_hiddenXXXX).
 */
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define SLOW_SECONDS 300

static const char *source, *rules; /* written before start */

static bool is_from(const char *pid, pid_t tid)
{
	char path[128];

	snprintf(path, sizeof path, "/proc/%.32s/task/%d", pid, (int)tid);
	return access(path, F_OK) == 0;
}

static bool is_rule(const char *word, const char *operation, pid_t tid)
{
	size_t len = strlen(operation);

	return strcmp(word, operation) == 0 || strcmp(word, "all") == 0 ||
	       (strncmp(word, operation, len) == 0 && word[len] == '@' &&
		is_from(word + len + 1, tid));
}

static bool hangs(const char *operation)
{
	FILE *f = fopen(rules, "re");
	bool is_found = false;
	char word[32];

	while (f && !is_found && fscanf(f, "%31s", word) == 1)
		is_found = is_rule(word, operation, fuse_get_context()->pid);
	if (f)
		fclose(f);
	return is_found;
}

static void note(const char *operation)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s.log", rules);
	f = fopen(path, "ae");
	if (!f)
		return;
	fprintf(f, "%s\n", operation);
	fclose(f);
}

static void begin(const char *operation)
{
	const struct timespec rest = { .tv_nsec = 20000000 };

	if (!hangs(operation))
		return;
	note(operation);
	while (hangs(operation))
		nanosleep(&rest, NULL);
}

static const char *there(const char *path, char ret[8192])
{
	snprintf(ret, 8192, "%s%s", source, path);
	return ret;
}

static int result(int rc)
{
	return rc < 0 ? -errno : 0;
}

static void *init(struct fuse_conn_info *conn, struct fuse_config *cfg)
{
	(void)conn;
	cfg->use_ino = 1;
	cfg->kernel_cache = cfg->nullpath_ok = 1;
	cfg->hard_remove = getenv("SILLY") == NULL;
	cfg->attr_timeout = cfg->entry_timeout = 3600;
	return NULL;
}

static bool is_stale(const char *path)
{
	const char *name = path ? strrchr(path, '/') : NULL;

	return name && strncmp(name, "/stale", 6) == 0 && hangs("stale");
}

/* As a server that updates the times of files later. */
static void delay_times(struct stat *st)
{
	struct stat told;

	if (stat(rules, &told) < 0)
		return;
	if (st->st_mtim.tv_sec >= told.st_mtim.tv_sec)
		st->st_mtim = told.st_mtim;
	if (st->st_ctim.tv_sec >= told.st_mtim.tv_sec)
		st->st_ctim = told.st_mtim;
}

static int op_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	char real[8192];
	int rc;

	begin("getattr");
	if (is_stale(path))
		return -ESTALE;
	if (!path && !fi)
		return -ENOENT;
	rc = path ? lstat(there(path, real), st) : fstat((int)fi->fh, st);
	if (rc == 0 && hangs("late")) {
		st->st_mtim.tv_sec -= SLOW_SECONDS;
		st->st_ctim.tv_sec -= SLOW_SECONDS;
	}
	if (rc == 0 && hangs("delayed"))
		delay_times(st);
	return result(rc);
}

static int op_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t pos,
		      struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	DIR *dir;
	struct dirent *d;

	(void)path;
	(void)pos;
	(void)flags;
	begin("readdir");
	dir = fdopendir(openat((int)fi->fh, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (!dir)
		return -errno;
	while ((d = readdir(dir)))
		fill(buf, d->d_name, NULL, 0, 0);
	closedir(dir);
	return 0;
}

static int open_file(const char *path, int flags, mode_t mode, struct fuse_file_info *fi)
{
	char real[8192];
	int fd = open(there(path, real), (flags & ~O_APPEND) | O_CLOEXEC, mode);

	if (fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	return 0;
}

static int op_open(const char *path, struct fuse_file_info *fi)
{
	begin("open");
	if (is_stale(path))
		return -ESTALE;
	return open_file(path, fi->flags, 0, fi);
}

static int op_opendir(const char *path, struct fuse_file_info *fi)
{
	begin("opendir");
	return open_file(path, O_RDONLY | O_DIRECTORY, 0, fi);
}

static int op_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	begin("create");
	return open_file(path, fi->flags | O_CREAT, mode, fi);
}

static int op_read(const char *path, char *buf, size_t len, off_t pos, struct fuse_file_info *fi)
{
	ssize_t n;

	(void)path;
	begin("read");
	n = pread((int)fi->fh, buf, len, pos);
	return n < 0 ? -errno : (int)n;
}

static int op_write(const char *path, const char *buf, size_t len, off_t pos,
		    struct fuse_file_info *fi)
{
	ssize_t n;

	(void)path;
	begin("write");
	n = pwrite((int)fi->fh, buf, len, pos);
	return n < 0 ? -errno : (int)n;
}

static int op_flush(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	(void)fi;
	begin("flush");
	return 0;
}

static int op_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close((int)fi->fh);
	return 0;
}

static int op_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	char real[8192];

	(void)fi;
	begin("truncate");
	return result(truncate(there(path, real), size));
}

static int op_mkdir(const char *path, mode_t mode)
{
	char real[8192];

	begin("mkdir");
	return result(mkdir(there(path, real), mode));
}

static int op_unlink(const char *path)
{
	char real[8192];

	begin("unlink");
	return result(unlink(there(path, real)));
}

static int op_rename(const char *from, const char *to, unsigned flags)
{
	char real[8192], other[8192];

	begin("rename");
	return flags ? -EINVAL : result(rename(there(from, real), there(to, other)));
}

static int op_symlink(const char *target, const char *path)
{
	char real[8192];

	begin("symlink");
	return result(symlink(target, there(path, real)));
}

static int op_readlink(const char *path, char *ret, size_t size)
{
	char real[8192];
	ssize_t len;

	begin("readlink");
	len = readlink(there(path, real), ret, size - 1);
	if (len >= 0)
		ret[len] = '\0';
	return result((int)len);
}

static const struct fuse_operations ops = {
	.symlink = op_symlink,
	.readlink = op_readlink,
	.rename = op_rename,
	.init = init,
	.getattr = op_getattr,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_release,
	.open = op_open,
	.create = op_create,
	.read = op_read,
	.write = op_write,
	.flush = op_flush,
	.release = op_release,
	.truncate = op_truncate,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
};

int main(int argc, char **argv)
{
	char foreground[] = "-f", option[] = "-o",
	     mode[] = "fsname=hanging,max_threads=100,max_idle_threads=10";
	char *words[] = { argv[0], foreground, option, mode, argc > 3 ? argv[3] : NULL, NULL };

	if (argc != 4) {
		fputs("hanging SOURCE RULES MOUNTPOINT\n", stderr);
		return 2;
	}
	source = argv[1];
	rules = argv[2];
	return fuse_main(5, words, &ops, NULL);
}

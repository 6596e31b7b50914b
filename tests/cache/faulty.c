/* SPDX-License-Identifier: MIT */
/*
 * faulty SOURCE RULES MOUNTPOINT: shows the folder SOURCE, read-only, and fails as the file RULES
 * says while it says so, a line each: "OPERATION WORD ERRNO" for paths that contain WORD. Instead
 * of ERRNO, such as 116 for ESTALE: "hang" (until the line is gone), "slow" (half a second),
 * "short" (reads return half), "grow" (getattr reports one more byte each time, and reads return
 * zeros there), "coarse" (getattr reports ctime in seconds), "behind" and "ahead" (the same, of a
 * clock that is five minutes off), "hide" (readdir leaves out what
 * contains WORD), "inner" (reads hang that begin neither in the first nor in the last 128 KiB).
 * Operations: getattr, readlink, readdir, open, read, getxattr, statfs, access.
 *
 * The file FAULTY_RIGHTS (environment) decides what users may do, instead of mode bits: lines "PATH
 * WHO RIGHTS" such as "/a/b u1000 r-x", of which the first for the path and the caller counts. WHO:
 * "*", "u" and a user id, or "g" and a group id. Nobody else has rights to a path that has lines,
 * not even root. Each file has an attribute system.nfs4_acl then.
 *
 * Up to 400 requests may hang at once. The kernel caches nothing. Each operation takes
 * FAULTY_DELAY_US (environment) longer than it would, and is a line "OPERATION PATH" of the file
 * FAULTY_JOURNAL. All reads together have FAULTY_MB_S.
 */
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static const char *source, *rules, *rights; /* written before start */
static long delay_us, mb_s;                 /* written before start; 0: none, no limit */
static _Atomic long free_us;                /* of CLOCK_MONOTONIC: when the reads before are done */
static int journal = -1;                    /* written before start */
static _Atomic long grown;                  /* bytes that "grow" has added */

static void rest(long us)
{
	struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

/* What RULES says of it now; "" is nothing. */
static void find_rule(const char *operation, const char *path, char ret[16])
{
	char op[16], word[200], what[16];
	FILE *f = fopen(rules, "re");

	ret[0] = '\0';
	while (f && fscanf(f, "%15s %199s %15s", op, word, what) == 3)
		if (strcmp(op, operation) == 0 && strstr(path, word))
			strcpy(ret, what);
	if (f)
		fclose(f);
}

/* 0 or -errno. */
static int fail(const char *operation, const char *path)
{
	char what[16];

	if (journal >= 0)
		dprintf(journal, "%s %s\n", operation, path);
	if (delay_us)
		rest(delay_us);
	find_rule(operation, path, what);
	while (strcmp(what, "hang") == 0) {
		rest(20000);
		find_rule(operation, path, what);
	}
	if (strcmp(what, "slow") == 0)
		rest(500000);
	return -atoi(what);
}

static bool has_rule(const char *operation, const char *path, const char *rule)
{
	char what[16];

	find_rule(operation, path, what);
	return strcmp(what, rule) == 0;
}

static bool has_group(unsigned id)
{
	gid_t groups[64];
	int count = fuse_getgroups(64, groups);

	for (int i = 0; i < count && i < 64; i++)
		if (groups[i] == id)
			return true;
	return fuse_get_context()->gid == id;
}

static bool is_caller(const char *who)
{
	unsigned id = (unsigned)atoi(who + 1);

	return *who == '*' || (*who == 'u' && fuse_get_context()->uid == id) ||
	       (*who == 'g' && has_group(id));
}

/* Of this path alone: R_OK and X_OK. 0 or -EACCES. */
static int check_one(const char *path, int wanted)
{
	FILE *f = rights ? fopen(rights, "re") : NULL;
	char at[200], who[16], what[4];
	bool is_listed = false, is_found = false;
	int granted = 0;

	while (f && !is_found && fscanf(f, "%199s %15s %3s", at, who, what) == 3) {
		if (strcmp(at, path) != 0)
			continue;
		is_listed = true;
		is_found = is_caller(who);
		if (is_found)
			granted = (what[0] == 'r' ? R_OK : 0) | (what[2] == 'x' ? X_OK : 0);
	}
	if (f)
		fclose(f);
	return is_listed && wanted & ~granted ? -EACCES : 0;
}

/* Also the folders above must be searched. wanted 0: only they. */
static int check(const char *path, int wanted)
{
	char above[4096];
	int rc = 0;

	for (const char *slash = path; rc == 0 && (slash = strchr(slash, '/')); slash++) {
		snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
		if (slash[1])
			rc = check_one(slash == path ? "/" : above, X_OK);
	}
	return rc == 0 ? check_one(path, wanted) : rc;
}

static void real(const char *path, char ret[4096])
{
	snprintf(ret, 4096, "%s%s", source, path);
}

static void set_ctime(const char *path, struct stat *st)
{
	bool is_behind = has_rule("getattr", path, "behind");
	bool is_ahead = has_rule("getattr", path, "ahead");

	if (is_behind || is_ahead || has_rule("getattr", path, "coarse"))
		st->st_ctim.tv_nsec = 0;
	st->st_ctim.tv_sec += 300 * (is_ahead - is_behind);
}

static int fs_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	int rc = fail("getattr", path);
	char at[4096];

	if (rc == 0 && !fi)
		rc = check(path, 0);
	real(path, at);
	if (rc == 0 && lstat(at, st) < 0)
		rc = -errno;
	if (rc == 0 && has_rule("getattr", path, "grow"))
		st->st_size += ++grown;
	if (rc == 0)
		set_ctime(path, st);
	return rc;
}

static int fs_getxattr(const char *path, const char *name, char *into, size_t size)
{
	int rc = fail("getxattr", path);
	char at[4096];
	ssize_t n;

	if (rc == 0)
		rc = check(path, 0);
	if (rc == 0 && rights && strcmp(name, "system.nfs4_acl") == 0)
		return 4;
	real(path, at);
	n = rc == 0 ? lgetxattr(at, name, into, size) : 0;
	return rc < 0 ? rc : n < 0 ? -errno : (int)n;
}

static int fs_statfs(const char *path, struct statvfs *st)
{
	int rc = fail("statfs", path);

	return rc < 0 ? rc : statvfs(source, st) < 0 ? -errno : 0;
}

static int fs_readlink(const char *path, char *into, size_t size)
{
	int rc = fail("readlink", path);
	char at[4096];
	ssize_t n;

	real(path, at);
	n = rc == 0 ? readlink(at, into, size - 1) : -1;
	if (n >= 0)
		into[n] = '\0';
	return rc == 0 && n < 0 ? -errno : rc;
}

static int fs_readdir(const char *path, void *into, fuse_fill_dir_t fill, off_t offset,
		      struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	int rc = fail("readdir", path);
	struct dirent *entry;
	char at[4096];
	DIR *dir;

	(void)offset;
	(void)fi;
	(void)flags;
	if (rc < 0)
		return rc;
	real(path, at);
	dir = opendir(at);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		struct stat st = { .st_ino = entry->d_ino,
				   .st_mode = (mode_t)DTTOIF(entry->d_type) };

		if (!has_rule("readdir", entry->d_name, "hide"))
			fill(into, entry->d_name, &st, 0, 0);
	}
	closedir(dir);
	return 0;
}

static int fs_opendir(const char *path, struct fuse_file_info *fi)
{
	(void)fi;
	return check(path, R_OK);
}

static int fs_access(const char *path, int wanted)
{
	int rc = fail("access", path);

	return rc == 0 ? check(path, wanted & (R_OK | X_OK)) : rc;
}

static int fs_open(const char *path, struct fuse_file_info *fi)
{
	int rc = fail("open", path);
	char at[4096];
	int fd;

	if (rc == 0)
		rc = check(path, R_OK);
	real(path, at);
	fd = rc == 0 ? open(at, O_RDONLY | O_CLOEXEC) : -1;
	if (rc == 0 && fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	fi->direct_io = 1;
	return rc;
}

static bool is_inner(int fd, off_t offset)
{
	const off_t edge = 128 * 1024;
	struct stat st;

	return offset >= edge && fstat(fd, &st) == 0 && offset < st.st_size - edge;
}

/* One after the other, the bytes of all reads pass what is as fast as mb_s. */
static void pass(ssize_t bytes)
{
	struct timespec t;
	long now, begin, before = atomic_load(&free_us);

	if (!mb_s || bytes <= 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &t);
	now = t.tv_sec * 1000000 + t.tv_nsec / 1000;
	do
		begin = before > now ? before : now;
	while (!atomic_compare_exchange_weak(&free_us, &before, begin + bytes / mb_s));
	rest(begin + bytes / mb_s - now);
}

static int fs_read(const char *path, char *into, size_t size, off_t offset,
		   struct fuse_file_info *fi)
{
	int rc = fail("read", path);
	ssize_t n;

	while (is_inner((int)fi->fh, offset) && has_rule("read", path, "inner"))
		rest(20000);
	if (has_rule("read", path, "short") && size > 1)
		size = size / 2;
	n = rc == 0 ? pread((int)fi->fh, into, size, offset) : -1;
	if (n == 0 && has_rule("getattr", path, "grow")) {
		memset(into, 0, size);
		n = (ssize_t)size;
	}
	if (rc == 0 && n < 0)
		return -errno;
	pass(n);
	return rc < 0 ? rc : (int)n;
}

static int fs_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	return close((int)fi->fh);
}

static void *fs_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	conn->max_background = conn->congestion_threshold = 1000;
	config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
	config->use_ino = 1;
	return NULL;
}

static const struct fuse_operations ops = {
	.init = fs_init,
	.getattr = fs_getattr,
	.getxattr = fs_getxattr,
	.statfs = fs_statfs,
	.readlink = fs_readlink,
	.opendir = fs_opendir,
	.readdir = fs_readdir,
	.access = fs_access,
	.open = fs_open,
	.read = fs_read,
	.release = fs_release,
};

int main(int argc, char **argv)
{
	char foreground[] = "-f", option[] = "-o", mode[] = "ro,fsname=faulty,max_threads=400";
	char others[] = "-oallow_other";
	char *words[] = {
		argv[0], foreground, option, mode, argc > 3 ? argv[3] : NULL, NULL, NULL
	};

	if (argc != 4) {
		fputs("faulty SOURCE RULES MOUNTPOINT\n", stderr);
		return 2;
	}
	if (getenv("FAULTY_DELAY_US"))
		delay_us = atol(getenv("FAULTY_DELAY_US"));
	if (getenv("FAULTY_MB_S"))
		mb_s = atol(getenv("FAULTY_MB_S"));
	if (getenv("FAULTY_JOURNAL"))
		journal = open(getenv("FAULTY_JOURNAL"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			       0600);
	source = argv[1];
	rules = argv[2];
	rights = getenv("FAULTY_RIGHTS");
	if (rights)
		words[5] = others;
	return fuse_main(rights ? 6 : 5, words, &ops, NULL);
}

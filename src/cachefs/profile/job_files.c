/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/job_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compat/compat.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/output/destination.h"
#include "base/output/fsuser.h"
#include "base/output/outfile.h"

#define MAX_RANKS 10000 /* of one host name and process id */

static const char *const folders[] = { "logs", "profiling", "tables" }; /* by job_folder */

/* An open folder of the job, and a name in it. */
struct place {
	int folder; /* O_PATH */
	char name[JOB_RANK_MAX + 64];
	char path[2 * JOB_PATH_MAX]; /* for messages */
};

/* path: below the job's folder. A descriptor or -1 and errno. */
static int open_below(const struct job_files *f, const char *path, int flags)
{
	const struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC),
				      .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH };

	return compat_openat2(f->folder, *path ? path : ".", &how);
}

/* The same for a folder, with all folders above it that do not exist. */
static int make_below(const struct job_files *f, const char *path)
{
	char part[JOB_PATH_MAX];
	int at = open_below(f, "", O_PATH | O_DIRECTORY);

	for (const char *rest = path; at >= 0 && *rest;) {
		size_t len = strcspn(rest, "/"), end = (size_t)(rest - path) + len;
		int made;

		memcpy(part, path, end);
		part[end] = '\0';
		made = mkdirat(at, part + (rest - path), 0777);
		if (made < 0 && errno != EEXIST) {
			close(at);
			return -1;
		}
		close(at);
		at = open_below(f, part, O_PATH | O_DIRECTORY);
		rest += len + (rest[len] == '/');
	}
	return at;
}

static int fail_at(const struct job_files *f, const char *below, struct err *e)
{
	if (errno == ELOOP)
		return err_set(e, -ELOOP, "%s/%s: a symbolic link in it is not followed", f->job,
			       below);
	return err_errno(e, "%s/%s", f->job, below);
}

static void set_name(const struct job_files *f, const char *below, const char *tag,
		     const char *base, struct place *p)
{
	snprintf(p->name, sizeof p->name, "%s-%s%s%s", f->rank, tag ? tag : "", tag ? "-" : "",
		 base);
	snprintf(p->path, sizeof p->path, "%s/%s/%s", f->job, below, p->name);
}

static void name_folder(enum job_folder folder, const char *tag, char below[64])
{
	if (folder == JOB_LOGS)
		snprintf(below, 64, "%s", folders[folder]);
	else
		snprintf(below, 64, "%s/%s", folders[folder], tag ? tag : "final");
}

/* Makes the folder. On success the caller closes p->folder. */
static int open_place(const struct job_files *f, enum job_folder folder, const char *tag,
		      const char *base, struct place *p, struct err *e)
{
	char below[64];

	name_folder(folder, tag, below);
	p->folder = make_below(f, below);
	if (p->folder < 0)
		return fail_at(f, below, e);
	set_name(f, below, tag, base, p);
	return 0;
}

/* nth: of the ranks with this host and process id, from 1. */
static void name_rank(struct job_files *f, unsigned nth)
{
	char host[256] = "", suffix[16] = "";

	if (gethostname(host, sizeof host - 1) < 0 || !*host)
		strcpy(host, "localhost");
	if (nth > 1)
		snprintf(suffix, sizeof suffix, ".%u", nth);
	snprintf(f->rank, sizeof f->rank, "%s%s-%d", host, suffix, (int)getpid());
}

static bool exists(const struct job_files *f, enum job_folder folder, const char *base)
{
	char below[64], path[JOB_RANK_MAX + 128];
	int fd;

	name_folder(folder, NULL, below);
	snprintf(path, sizeof path, "%s/%s-%s", below, f->rank, base);
	fd = open_below(f, path, O_PATH | O_NOFOLLOW);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Creates the file that claims f->rank: the log or the summary, where the other does not exist.
 * -EEXIST: the name is taken. */
static int try_claim(struct job_files *f, struct err *e)
{
	const char *ours = f->has_log ? JOB_LOG_NAME : JOB_SUMMARY_NAME;
	const char *other = f->has_log ? JOB_SUMMARY_NAME : JOB_LOG_NAME;
	struct place p;
	int fd, rc = open_place(f, f->has_log ? JOB_LOGS : JOB_PROFILING, NULL, ours, &p, e);

	if (rc < 0)
		return rc;
	fd = openat(p.folder, p.name,
		    O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    0666);
	if (fd < 0) {
		rc = errno == EEXIST ? -EEXIST : err_errno(e, "%s", p.path);
	} else if (exists(f, f->has_log ? JOB_PROFILING : JOB_LOGS, other)) {
		unlinkat(p.folder, p.name, 0);
		rc = -EEXIST;
	}
	close(p.folder);
	if (rc == 0 && f->has_log)
		f->log = fd;
	else
		fd_close(&fd);
	return rc;
}

/* By creating a file, because locks do not work across containers and nodes everywhere. */
static int claim_rank(struct job_files *f, struct err *e)
{
	int rc = -EEXIST;

	for (unsigned nth = 1; rc == -EEXIST && nth <= MAX_RANKS; nth++) {
		name_rank(f, nth);
		rc = try_claim(f, e);
	}
	return rc == -EEXIST ? err_set(e, rc, "%s: all names of this rank are taken", f->job) : rc;
}

/* The folder that the user named: links on the way are followed by the rule of destination.h. */
static int open_job(struct job_files *f, struct err *e)
{
	char part[JOB_PATH_MAX + 8];
	struct destination at = { .folder = -1 };
	int rc;

	for (const char *end = f->job; *end; end++) {
		size_t len = (size_t)(end - f->job) + 1;

		if (end[1] != '/' && end[1])
			continue;
		memcpy(part, f->job, len);
		part[len] = '\0';
		if (mkdir(part, 0777) < 0 && errno != EEXIST) {
			int why = errno;

			if (access(part, F_OK) < 0)
				return err_set(e, -why, "%s: %s", part, strerror(why));
		}
	}
	snprintf(part, sizeof part, "%s/.job", f->job);
	rc = destination_open(part, &at, e);
	if (rc < 0)
		return rc;
	f->folder = at.folder;
	return realpath(f->job, f->real) ? 0 : err_errno(e, "%s", f->job);
}

/* Copper makes all of its folders at the start. */
static int make_all(const struct job_files *f, struct err *e)
{
	static const char *const all[] = { "logs", "tables/final", "profiling/final",
					   "profiling/cluster" };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		CLEANUP(fd_close) int fd = make_below(f, all[i]);

		if (fd < 0)
			return fail_at(f, all[i], e);
	}
	return 0;
}

int job_files_open(struct job_files *f, struct err *e)
{
	int rc;

	f->folder = f->log = -1;
	if (!f->job) {
		name_rank(f, 1);
		return 0;
	}
	rc = open_job(f, e);
	if (rc == 0 && f->has_all)
		rc = make_all(f, e);
	if (rc == 0)
		rc = claim_rank(f, e);
	if (rc < 0)
		job_files_close(f);
	return rc;
}

void job_files_close(struct job_files *f)
{
	fd_close(&f->folder);
	fd_close(&f->log);
	f->folder = f->log = -1;
}

static int put(struct place *p, const void *bytes, size_t len, struct err *e)
{
	int rc = outfile_replace_at(p->folder, p->name, p->path, bytes, len, e);

	close(p->folder);
	return rc;
}

int job_files_put(const struct job_files *f, enum job_folder folder, const char *tag,
		  const char *base, const void *bytes, size_t len, struct err *e)
{
	struct place p;
	int rc = open_place(f, folder, tag, base, &p, e);

	return rc < 0 ? rc : put(&p, bytes, len, e);
}

int job_files_append(const struct job_files *f, enum job_folder folder, const char *tag,
		     const char *base, const void *bytes, size_t len, struct err *e)
{
	struct place p;
	struct stat st;
	int fd, rc = open_place(f, folder, tag, base, &p, e);

	if (rc < 0)
		return rc;
	fd = openat(p.folder, p.name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		rc = err_errno(e, "%s", p.path);
	else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
		 st.st_uid != fsuser_uid())
		rc = err_set(e, -EEXIST, "%s: is not our file any more", p.path);
	else
		rc = file_write_all(fd, bytes, len);
	if (rc < 0 && !e->code)
		err_set(e, rc, "%s: %s", p.path, strerror(-rc));
	close(p.folder);
	fd_close(&fd);
	return rc;
}

void job_files_remove(const struct job_files *f, enum job_folder folder, const char *tag,
		      const char *base)
{
	char below[64];
	struct place p;

	name_folder(folder, tag, below);
	p.folder = open_below(f, below, O_PATH | O_DIRECTORY);
	if (p.folder < 0)
		return;
	set_name(f, below, tag, base, &p);
	unlinkat(p.folder, p.name, 0);
	close(p.folder);
	p.folder = open_below(f, folders[folder], O_PATH | O_DIRECTORY);
	if (p.folder >= 0)
		unlinkat(p.folder, tag ? tag : "final", AT_REMOVEDIR);
	fd_close(&p.folder);
}

/* The folder of target/path relative to the job's folder; false: it is outside. */
static bool find_below(const struct job_files *f, const char *target, const char *path,
		       char ret[2 * JOB_PATH_MAX])
{
	const char *end = strrchr(path, '/');
	size_t len = strlen(f->real);

	snprintf(ret, 2 * JOB_PATH_MAX, "%s/%.*s", strcmp(target, "/") == 0 ? "" : target,
		 end ? (int)(end - path) : 0, path);
	if (strncmp(ret, f->real, len) != 0 || (ret[len] && ret[len] != '/'))
		return false;
	memmove(ret, ret + len + (ret[len] == '/'), strlen(ret + len) + (ret[len] != '/'));
	return true;
}

int job_files_put_beside(const struct job_files *f, const char *target, const char *path,
			 const char *base, const void *bytes, size_t len, struct err *e)
{
	char below[2 * JOB_PATH_MAX];
	struct place p;

	if (!f->job)
		return err_set(e, -ENOENT, "the view has no --job-dir");
	if (!find_below(f, target, path, below))
		return job_files_put(f, JOB_TABLES, NULL, base, bytes, len, e);
	p.folder = open_below(f, below, O_PATH | O_DIRECTORY);
	if (p.folder < 0)
		return fail_at(f, below, e);
	set_name(f, below, NULL, base, &p);
	return put(&p, bytes, len, e);
}

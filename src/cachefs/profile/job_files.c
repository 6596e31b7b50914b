/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/job_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output/outfile.h"

static const char *const folders[] = { "logs", "profiling", "tables" }; /* by job_folder */

/* Makes all folders of a path that do not exist. */
static int make_folders(const char *path, struct err *e)
{
	char part[JOB_PATH_MAX];

	for (const char *at = path; *at; at++) {
		size_t len = (size_t)(at - path) + 1;

		if (at[1] != '/' && at[1])
			continue;
		memcpy(part, path, len);
		part[len] = '\0';
		if (mkdir(part, 0777) < 0 && errno != EEXIST) {
			int why = errno;

			if (access(part, F_OK) < 0)
				return err_set(e, -why, "%s: %s", part, strerror(why));
		}
	}
	return access(path, W_OK | X_OK) < 0 ? err_errno(e, "%s", path) : 0;
}

static int folder_path(const char *job, enum job_folder folder, const char *tag,
		       char path[JOB_PATH_MAX], struct err *e)
{
	int len = folder == JOB_LOGS ? snprintf(path, JOB_PATH_MAX, "%s/logs", job)
				     : snprintf(path, JOB_PATH_MAX, "%s/%s/%s", job,
						folders[folder], tag ? tag : "final");

	return len < JOB_PATH_MAX ? 0 : err_set(e, -ENAMETOOLONG, "%s: too long", job);
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

/* By creating a file, because locks do not work across containers and nodes everywhere. */
static int claim_rank(struct job_files *f, struct err *e)
{
	char path[JOB_PATH_MAX];
	int fd = -1;

	for (unsigned nth = 1; fd < 0; nth++) {
		int rc;

		name_rank(f, nth);
		rc = job_files_path(f, JOB_LOGS, NULL, JOB_LOG_NAME, path, e);
		if (rc < 0)
			return rc;
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			return err_errno(e, "%s", path);
	}
	close(fd);
	return 0;
}

int job_files_open(struct job_files *f, const char *job, struct err *e)
{
	static const struct {
		enum job_folder folder;
		const char *tag;
	} needed[] = { { JOB_LOGS, NULL },
		       { JOB_TABLES, NULL },
		       { JOB_PROFILING, NULL },
		       { JOB_PROFILING, "cluster" } };
	char path[JOB_PATH_MAX];
	int rc = 0;

	f->job = job;
	if (!job) {
		name_rank(f, 1);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(needed) && rc == 0; i++) {
		rc = folder_path(job, needed[i].folder, needed[i].tag, path, e);
		if (rc == 0)
			rc = make_folders(path, e);
	}
	return rc < 0 ? rc : claim_rank(f, e);
}

int job_files_path(const struct job_files *f, enum job_folder folder, const char *tag,
		   const char *base, char path[JOB_PATH_MAX], struct err *e)
{
	int rc = folder_path(f->job, folder, tag, path, e), len;

	if (rc == 0)
		rc = make_folders(path, e);
	if (rc < 0)
		return rc;
	len = (int)strlen(path);
	len += snprintf(path + len, (size_t)(JOB_PATH_MAX - len), "/%s-%s%s%s", f->rank,
			tag ? tag : "", tag ? "-" : "", base);
	return len < JOB_PATH_MAX ? 0 : err_set(e, -ENAMETOOLONG, "%s: too long", f->job);
}

int job_files_put(const struct job_files *f, enum job_folder folder, const char *tag,
		  const char *base, const void *bytes, size_t len, struct err *e)
{
	char path[JOB_PATH_MAX];
	int rc = job_files_path(f, folder, tag, base, path, e);

	return rc < 0 ? rc : outfile_replace(path, bytes, len, e);
}

int job_files_beside(const struct job_files *f, const char *target, const char *path,
		     const char *base, char ret[JOB_PATH_MAX], struct err *e)
{
	const char *end = strrchr(path, '/');
	int len;

	len = snprintf(ret, JOB_PATH_MAX, "%s/%.*s/%s-%s", strcmp(target, "/") == 0 ? "" : target,
		       end ? (int)(end - path) : 0, path, f->rank, base);
	return len < JOB_PATH_MAX ? 0 : err_set(e, -ENAMETOOLONG, "%s: too long", path);
}

/* SPDX-License-Identifier: MIT */
#include "cli/stage_sacct.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES ((size_t)64 << 10)
#define COLUMNS "--format=JobID,State,ElapsedRaw,MaxRSS"

/* "120,121": arrays by their own id, each once where its tasks follow one another. */
static void list_jobs(const struct stage_jobs *jobs, struct buf *out)
{
	struct str last = { "", 0 };

	for (size_t i = 0; i < stage_jobs_count(jobs); i++) {
		struct str id = stage_jobs_get(jobs, i)->id;

		id.len = strcspn(id.ptr, "_");
		if (id.len == last.len && memcmp(id.ptr, last.ptr, id.len) == 0)
			continue;
		buf_printf(out, "%s%.*s", out->len ? "," : "", (int)id.len, id.ptr);
		last = id;
	}
}

static int read_end(int fd, struct buf *out, struct err *e)
{
	for (;;) {
		void *room = buf_reserve(out, READ_BYTES);
		ssize_t n;

		if (!room)
			return err_nomem(e);
		n = read(fd, room, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "sacct");
		if (n == 0)
			return 0;
		buf_grew(out, (size_t)n);
	}
}

static int start(char *const *argv, int to, pid_t *ret, struct err *e)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return err_nomem(e);
	error = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	if (!error)
		error = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error ? err_set(e, -error, "sacct: %s", strerror(error)) : 0;
}

/* What it says against us goes to standard error by itself. */
static int ask(char *const *argv, struct buf *out, struct err *e)
{
	int ends[2], status = 0, rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	rc = start(argv, ends[1], &pid, e);
	close(ends[1]);
	if (rc == 0) {
		rc = read_end(ends[0], out, e);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	if (rc == 0 && status)
		return err_set(e, -EIO,
			       "sacct failed; --sacct FILE takes what it printed elsewhere");
	return rc;
}

static int ask_for_jobs(const struct stage_jobs *jobs, struct buf *out, struct err *e)
{
	CLEANUP(buf_fini) struct buf ids = { 0 };
	char name[] = "sacct", parsable[] = "-P", columns[] = COLUMNS, option[] = "-j";
	char *argv[] = { name, parsable, columns, option, NULL, NULL };

	list_jobs(jobs, &ids);
	if (buf_error(&ids) < 0)
		return err_nomem(e);
	if (!ids.len)
		return err_set(e, -ENODATA, "no report tells of a Slurm job");
	argv[4] = ids.data;
	return ask(argv, out, e);
}

static int join(const struct sacct *sacct, struct stage_jobs *jobs, struct err *e)
{
	for (size_t i = 0; i < sacct_count(sacct); i++) {
		const struct sacct_job *job = sacct_get(sacct, i);

		if (stage_jobs_account(jobs, job->id, job->state, job->elapsed_ns,
				       job->max_rss_kb) < 0)
			return err_nomem(e);
	}
	return 0;
}

int accounting_load(struct accounting *ret, const char *from, struct stage_jobs *jobs,
		    struct err *e)
{
	bool is_live = strcmp(from, "live") == 0;
	int rc = is_live ? ask_for_jobs(jobs, &ret->printed, e) : file_load(from, &ret->file, e);
	const char *text;

	if (rc < 0)
		return rc;
	text = is_live ? ret->printed.data : (const char *)ret->file.data;
	rc = sacct_read(text, is_live ? ret->printed.len : ret->file.len, &ret->sacct, e);
	if (rc == -EINVAL)
		return err_wrap(e, "%s", is_live ? "sacct" : from);
	return rc < 0 ? rc : join(ret->sacct, jobs, e);
}

void accounting_fini(struct accounting *a)
{
	sacct_free(a->sacct);
	buf_fini(&a->printed);
	file_input_fini(&a->file);
}

/* SPDX-License-Identifier: MIT */
#include "usage/slurm/accounting.h"

#include <errno.h>
#include <string.h>

#include "target/child_output.h"

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

static int ask_for_jobs(const struct stage_jobs *jobs, struct buf *out, struct err *e)
{
	CLEANUP(buf_fini) struct buf ids = { 0 };
	char name[] = "sacct", parsable[] = "-P", columns[] = COLUMNS, option[] = "-j";
	char *argv[] = { name, parsable, columns, option, NULL, NULL };

	list_jobs(jobs, &ids);
	if (buf_error(&ids) < 0)
		return err_nomem(e);
	if (!ids.len)
		return err_set(e, -ENODATA, "no report has a Slurm job");
	argv[4] = ids.data;
	return child_output(argv, "", 0, SACCT_REMEDY, out, e);
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

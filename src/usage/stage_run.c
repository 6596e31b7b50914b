/* SPDX-License-Identifier: MIT */
#include "usage/stage_run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "target/preload.h"
#include "target/runloop.h"

#define COUNTER "libauger-count.so"

const char *const stage_levels[] = { "full", "time", NULL };

/* Python's own allocator would hide its objects from it. */
static int preload_counter(struct err *e)
{
	char path[PATH_MAX];

	if (!preload_find(COUNTER, path)) {
		log_msg(LOG_WARN, "stages",
			"the heap is not counted: " COUNTER " is not installed");
		return 0;
	}
	if (preload_set(path) < 0 || setenv("PYTHONMALLOC", "malloc", 0) < 0)
		return err_nomem(e);
	return 0;
}

static int set_environment(const char *level, const char *folder, struct err *e)
{
	CLEANUP(buf_fini) struct buf out = { 0 };

	for (const char *at = folder; *at; at++)
		buf_printf(&out, *at == '%' ? "%%%%" : "%c", *at);
	buf_put_str(&out, "/%h.%p.jsonl");
	if (buf_error(&out) < 0 || setenv("AUGER_STAGES_OUT", out.data, 1) < 0 ||
	    setenv("AUGER_STAGES", level, 1) < 0)
		return err_nomem(e);
	return preload_counter(e);
}

static int make_folder(const char *wanted, struct stage_run *r, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	char given[PATH_MAX];

	if (!wanted) {
		snprintf(r->folder, sizeof r->folder, "%s/auger-stages.XXXXXX",
			 tmp && *tmp ? tmp : "/tmp");
		r->is_temporary = mkdtemp(r->folder);
		if (!r->is_temporary)
			return err_errno(e, "%s", r->folder);
		wanted = r->folder;
	}
	if (mkdir(wanted, 0777) < 0 && errno != EEXIST)
		return err_errno(e, "%s", wanted);
	/* the command may change its folder */
	if (!realpath(wanted, given))
		return err_errno(e, "%s", wanted);
	memcpy(r->folder, given, strlen(given) + 1);
	return 0;
}

static int run_command(const struct stage_run_opts *o, struct stage_run *r, struct err *e)
{
	const struct launch_opts command = { .argv = o->argv, .owns_stdout = o->owns_stdout };

	return runloop_run(&command, RUNLOOP_PASS_ON, &r->status, NULL, e);
}

int stage_run(const struct stage_run_opts *o, struct stage_run *ret, struct err *e)
{
	int rc;

	*ret = (struct stage_run){ 0 };
	rc = make_folder(o->folder, ret, e);
	if (rc == 0)
		rc = set_environment(o->level, ret->folder, e);
	if (rc == 0)
		rc = run_command(o, ret, e);
	if (rc < 0)
		stage_run_fini(ret);
	return rc;
}

void stage_run_fini(struct stage_run *r)
{
	DIR *dir = r->is_temporary ? opendir(r->folder) : NULL;
	struct dirent *entry;

	if (dir) {
		while ((entry = readdir(dir)))
			unlinkat(dirfd(dir), entry->d_name, 0);
		closedir(dir);
	}
	if (r->is_temporary)
		rmdir(r->folder);
	*r = (struct stage_run){ 0 };
}

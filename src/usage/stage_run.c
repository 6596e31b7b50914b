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
#include "target/runloop.h"

#define COUNTER "libauger-count.so"

const char *const stage_levels[] = { "full", "time", NULL };

/* Beside the binary in the build tree; else where libraries are installed, seen from bin. */
static bool find_counter(char *ret, size_t cap)
{
	static const char *const places[] = { "preload", AUGER_LIBDIR, "lib" };
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	if (len < 0)
		return false;
	self[len] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		bool is_absolute = places[i][0] == '/';

		if ((size_t)snprintf(ret, cap, "%s%s%s/" COUNTER, is_absolute ? "" : self,
				     is_absolute ? "" : "/../", places[i]) < cap &&
		    access(ret, R_OK) == 0)
			return true;
	}
	return false;
}

/* Before what is preloaded already. Python's own allocator would hide its objects from it. */
static int preload_counter(struct err *e)
{
	CLEANUP(buf_fini) struct buf value = { 0 };
	const char *before = getenv("LD_PRELOAD");
	char path[PATH_MAX];

	if (!find_counter(path, sizeof path) || strpbrk(path, " :")) {
		log_msg(LOG_WARN, "stages",
			"the heap is not counted: " COUNTER " is not installed");
		return 0;
	}
	buf_printf(&value, "%s%s%s", path, before && *before ? ":" : "", before ? before : "");
	if (buf_error(&value) < 0 || setenv("LD_PRELOAD", value.data, 1) < 0 ||
	    setenv("PYTHONMALLOC", "malloc", 0) < 0)
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
	struct runloop loop;
	int rc = runloop_open(&loop, e);

	loop.second_signal = RUNLOOP_PASS_ON;
	if (rc == 0)
		rc = runloop_prepare(&loop, &command, e);
	if (rc == 0)
		rc = runloop_start(&loop, e);
	while (rc == 0 && runloop_step(&loop, RUNLOOP_FOREVER))
		;
	runloop_reap(&loop, 0);
	r->status = runloop_status(&loop);
	runloop_close(&loop);
	return rc;
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

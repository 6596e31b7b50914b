/* SPDX-License-Identifier: MIT */
#include "cacherun/cacherun.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cacherun/namespace.h"
#include "target/runloop.h"

int cacherun_folders_make(struct cacherun_folders *f, const char *job, struct err *e)
{
	const char *tmp = getenv("TMPDIR");

	if (snprintf(f->top, sizeof f->top, "%s/auger-cache-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
	    (int)sizeof f->top)
		return err_set(e, -ENAMETOOLONG, "TMPDIR: too long");
	if (!mkdtemp(f->top))
		return err_errno(e, "%s", f->top);
	snprintf(f->view, sizeof f->view, "%s/view", f->top);
	snprintf(f->job, sizeof f->job, "%s/job", f->top);
	f->has_job = job != NULL;
	if (job && snprintf(f->job, sizeof f->job, "%s", job) >= (int)sizeof f->job)
		return err_set(e, -ENAMETOOLONG, "%s: too long", job);
	return mkdir(f->view, 0755) < 0 ? err_errno(e, "%s", f->view) : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path) < 0 && errno != EBUSY ? -1 : 0;
}

int cacherun_folders_remove(const struct cacherun_folders *f, struct err *e)
{
	if (nftw(f->top, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
		return err_errno(e, "%s", f->top);
	return 0;
}

static int bind_folders(struct cacherun *r, const struct cacherun_opts *o, const char *program,
			struct err *e)
{
	struct redirect *to = &r->redirect;
	const struct cache_namespace space = { to->target, to->view, &to->binds };
	int rc = binds_find(&to->binds, to->target, program, o->variables, e);

	if (rc == 0 && to->binds.count && namespace_try(&space, &r->no_binds) < 0)
		binds_fini(&to->binds);
	return rc;
}

/* path in the view; nothing when it stays what it is. */
static void map_changed(const struct redirect *to, const char *path, struct buf *ret)
{
	redirect_map(to, path, ret);
	if (buf_error(ret) == 0 && ret->data && strcmp(ret->data, path) == 0)
		buf_clear(ret);
}

/* The kernel would start a script's interpreter outside of the view, unless it is bound: we start
 * it as the kernel would. program: of argv[0], NULL: unknown. */
static int make_argv(struct cacherun *r, const char *program, char **argv, struct err *e)
{
	size_t count = 0, at = 0;

	if (program && program_is_script(program, &r->script))
		map_changed(&r->redirect, r->script.interpreter, &r->interpreter);
	if (program && (strchr(argv[0], '/') || r->interpreter.len))
		map_changed(&r->redirect, program, &r->program);
	while (argv[count])
		count++;
	r->argv = calloc(count + 3, sizeof *r->argv);
	if (!r->argv || buf_error(&r->program) < 0 || buf_error(&r->interpreter) < 0)
		return err_nomem(e);
	if (r->interpreter.len)
		r->argv[at++] = r->interpreter.data;
	if (r->interpreter.len && r->script.argument[0])
		r->argv[at++] = r->script.argument;
	r->argv[at++] = r->program.len ? r->program.data : argv[0];
	memcpy(r->argv + at, argv + 1, (count - 1) * sizeof *argv);
	r->changed = r->interpreter.len || r->program.len ? at : 0;
	return 0;
}

int cacherun_prepare(struct cacherun *r, const struct cacherun_opts *o, char **argv, struct err *e)
{
	char found[PATH_MAX];
	const char *program = program_find(argv[0], found) ? found : NULL;
	int rc = realpath(o->target, r->target) ? 0 : err_errno(e, "%s", o->target);

	r->redirect.target = r->target;
	r->redirect.view = o->view;
	r->pipe_action = o->pipe_action;
	if (rc == 0 && !o->has_variables_only)
		rc = bind_folders(r, o, program, e);
	if (rc == 0)
		rc = redirect_map_variables(&r->redirect, o->variables, &r->variables, e);
	return rc < 0 ? rc : make_argv(r, program, argv, e);
}

/* Between the fork and the exec of the command. */
static int enter(void *context)
{
	struct cacherun *r = context;
	struct cache_namespace space = { r->redirect.target, r->redirect.view, &r->redirect.binds };
	int error = redirect_set_variables(&r->variables);

	if (!error && sigaction(SIGPIPE, &r->pipe_action, NULL) < 0)
		error = errno;
	return !error && r->redirect.binds.count ? namespace_enter(&space) : error;
}

/* The second signal kills the command: it has nothing without the view. */
int cacherun_command(struct cacherun *r, int *ret_status, int *ret_exec_error, struct err *e)
{
	const struct launch_opts command = { .argv = r->argv, .prepare = enter, .context = r };

	return runloop_run(&command, RUNLOOP_KILL, ret_status, ret_exec_error, e);
}

void cacherun_fini(struct cacherun *r)
{
	binds_fini(&r->redirect.binds);
	buf_fini(&r->variables);
	buf_fini(&r->program);
	buf_fini(&r->interpreter);
	free(r->argv);
}

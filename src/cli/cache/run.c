/* SPDX-License-Identifier: MIT */
/* cache_run: "cache run": a command that finds its files through a view, mounted for its life. */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cachefs/fuse/mounted.h"
#include "cachefs/profile/control.h"
#include "cli/cache/mount.h"
#include "cli/cache/program.h"
#include "cli/cache/space.h"
#include "cli/cache/way.h"
#include "cli/cmd.h"
#include "target/runloop.h"

#define TOP_PATHS 10 /* that are told unless more is asked for */

struct args {
	struct cache_mount_args mount;
	struct opt_list env;
	bool has_variables_only;
};

static const struct opt opts[] = {
	OPT_INCLUDE(struct args, mount, cache_mount_opts),
	OPT_LIST(0, "env", "NAME", struct args, env,
		 "Serve the folders in this variable through the view, too; can be repeated"),
	OPT_FLAG(0, "variables-only", struct args, has_variables_only,
		 "Redirect the command by variables only, without mounts of its own"),
	OPT_END,
};

/* Folders for one run. */
struct places {
	char top[PATH_MAX]; /* ours, to be removed; it has the view */
	char view[PATH_MAX + 8], job[PATH_MAX + 8];
	bool has_job; /* the user's: it stays */
};

static int make_places(struct places *p, const char *job, struct err *e)
{
	const char *tmp = getenv("TMPDIR");

	if (snprintf(p->top, sizeof p->top, "%s/auger-cache-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
	    (int)sizeof p->top)
		return err_set(e, -ENAMETOOLONG, "TMPDIR: too long");
	if (!mkdtemp(p->top))
		return err_errno(e, "%s", p->top);
	snprintf(p->view, sizeof p->view, "%s/view", p->top);
	snprintf(p->job, sizeof p->job, "%s/job", p->top);
	p->has_job = job != NULL;
	if (job && snprintf(p->job, sizeof p->job, "%s", job) >= (int)sizeof p->job)
		return err_set(e, -ENAMETOOLONG, "%s: too long", job);
	return mkdir(p->view, 0755) < 0 ? err_errno(e, "%s", p->view) : 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path) < 0 && errno != EBUSY ? -1 : 0;
}

static void remove_places(const struct places *p)
{
	if (nftw(p->top, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
		fprintf(stderr, "auger cache: %s: %s\n", p->top, strerror(errno));
}

/* Between the fork and the exec of the command. */
struct entry {
	struct cache_space *space; /* NULL: it stays in ours */
	struct buf variables;      /* of cache_way_map_variables */
	struct sigaction old_pipe; /* SIGPIPE's, before it was ours */
};

static int enter(void *context)
{
	const struct entry *entry = context;
	int error = cache_way_set_variables(&entry->variables);

	sigaction(SIGPIPE, &entry->old_pipe, NULL);
	return !error && entry->space ? cache_space_enter(entry->space) : error;
}

/* The exit status of the command, or a negative errno. The second signal kills it: it has nothing
 * without the view. */
static int run_command(char *const *argv, struct entry *entry, struct err *e)
{
	const struct launch_opts command = { .argv = argv, .prepare = enter, .context = entry };
	struct runloop loop;
	int rc = runloop_open(&loop, e);

	loop.second_signal = RUNLOOP_KILL;
	if (rc == 0)
		rc = runloop_prepare(&loop, &command, e);
	if (rc == 0)
		rc = runloop_start(&loop, e);
	while (rc == 0 && runloop_step(&loop, RUNLOOP_FOREVER))
		;
	runloop_reap(&loop, 0);
	if (rc < 0 && runloop_exec_error(&loop))
		rc = cmd_exec_failed("cache", e);
	else if (rc == 0)
		rc = runloop_status(&loop);
	runloop_close(&loop);
	return rc;
}

/* Where mounts may be made. What could not be covered, variables lead to. */
static int cover(struct cache_way *way, const struct args *args, const char *program, struct err *e)
{
	struct cache_space space = { way->target, way->view, &way->covers };
	struct err why = { 0 };
	int rc = cache_covers_find(&way->covers, way->target, program, &args->env, e);

	if (rc < 0 || !way->covers.count)
		return rc;
	if (cache_space_try(&space, &why) < 0) {
		fprintf(stderr, "auger cache: no mounts for the command alone (%s): by variables\n",
			why.msg);
		cache_covers_fini(&way->covers);
		return 0;
	}
	fprintf(stderr, "auger cache: from the view in their own places:");
	for (size_t i = 0; i < way->covers.count; i++)
		fprintf(stderr, " %s", way->covers.folders[i]);
	fputc('\n', stderr);
	return 0;
}

/* A command as it is to be run. All zero is none. */
struct command {
	struct buf program, interpreter; /* empty: not changed */
	struct cache_script script;
	char **argv; /* owned; what it points to is not */
};

static void command_fini(struct command *c)
{
	buf_fini(&c->program);
	buf_fini(&c->interpreter);
	free(c->argv);
}

/* path in the view; nothing when it stays what it is. */
static void map_changed(const struct cache_way *way, const char *path, struct buf *ret)
{
	cache_way_map(way, path, ret);
	if (buf_error(ret) == 0 && ret->data && strcmp(ret->data, path) == 0)
		buf_clear(ret);
}

/* What the kernel starts for a script is none of the view, unless it is covered: it is started
 * as the kernel would. program: of argv[0], NULL: unknown. */
static int make_command(struct command *c, const struct cache_way *way, const char *program,
			char **argv, struct err *e)
{
	size_t count = 0, at = 0;

	if (program && cache_program_is_script(program, &c->script))
		map_changed(way, c->script.interpreter, &c->interpreter);
	if (program && (strchr(argv[0], '/') || c->interpreter.len))
		map_changed(way, program, &c->program);
	while (argv[count])
		count++;
	c->argv = calloc(count + 3, sizeof *c->argv);
	if (!c->argv || buf_error(&c->program) < 0 || buf_error(&c->interpreter) < 0)
		return err_nomem(e);
	if (c->interpreter.len)
		c->argv[at++] = c->interpreter.data;
	if (c->interpreter.len && c->script.argument[0])
		c->argv[at++] = c->script.argument;
	c->argv[at++] = c->program.len ? c->program.data : argv[0];
	memcpy(c->argv + at, argv + 1, (count - 1) * sizeof *argv);
	if (c->interpreter.len || c->program.len) {
		fprintf(stderr, "auger cache: runs");
		for (size_t i = 0; i < at; i++)
			fprintf(stderr, " %s", c->argv[i]);
		fputc('\n', stderr);
	}
	return 0;
}

static int run_through(struct cache_way *way, const struct args *args, char **argv,
		       struct entry *entry, struct err *e)
{
	struct cache_space space = { way->target, way->view, &way->covers };
	CLEANUP(command_fini) struct command command = { .argv = NULL };
	char found[PATH_MAX];
	const char *program = cache_program_find(argv[0], found) ? found : NULL;
	int rc = args->has_variables_only ? 0 : cover(way, args, program, e);

	if (rc == 0)
		rc = cache_way_map_variables(way, &args->env, &entry->variables, e);
	if (rc == 0)
		rc = make_command(&command, way, program, argv, e);
	entry->space = way->covers.count ? &space : NULL;
	return rc < 0 ? rc : run_command(command.argv, entry, e);
}

/* What was left running by the command is still in the view, maybe: it is unmounted all the same,
 * and in order. */
static void end_view(const char *view, pid_t daemon)
{
	struct err e = { 0 };

	if (mounted_unmount(view, UNMOUNT_ALWAYS, &e) < 0)
		fprintf(stderr, "auger cache: %s\n", e.msg);
	while (daemon > 0 && waitpid(daemon, NULL, WNOHANG) < 0 && errno == EINTR)
		;
}

static void print_summary(const struct places *p, const char *rank)
{
	char path[PATH_MAX + JOB_RANK_MAX + 64];
	struct file_input in = { 0 };
	struct err e = { 0 };

	snprintf(path, sizeof path, "%s/profiling/final/%s-profiling_summary.md", p->job, rank);
	if (access(path, F_OK) < 0) {
		fprintf(stderr, "auger cache: no summary was written\n");
		return;
	}
	if (file_load(path, &in, &e) == 0)
		fprintf(stderr, "\n%.*s", (int)in.len, (const char *)in.data);
	else
		fprintf(stderr, "auger cache: %s\n", e.msg);
	file_input_fini(&in);
	if (p->has_job)
		fprintf(stderr, "\nauger cache: the profile is in %s/profiling/final\n", p->job);
	else
		fprintf(stderr, "\nauger cache: --job-dir DIR keeps the profile\n");
}

/* The view is there. */
static int run_mounted(const struct args *args, const struct places *p, char **argv,
		       struct entry *entry, struct err *e)
{
	struct control_stats stats = { .pid = 0 };
	char target[PATH_MAX];
	struct cache_way way = { .target = target, .view = p->view };
	int rc = realpath(args->mount.target, target) ? 0 : err_errno(e, "%s", args->mount.target);

	if (rc == 0)
		rc = control_stats(p->view, &stats, e);
	if (rc == 0)
		rc = run_through(&way, args, argv, entry, e);
	cache_covers_fini(&way.covers);
	end_view(p->view, (pid_t)stats.pid);
	if (rc >= 0)
		print_summary(p, stats.rank);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .mount = cache_mount_defaults };
	struct cache_profile_args *profile = &args.mount.profile;
	struct places p = { .top = "" };
	struct entry entry = { .space = NULL };
	bool is_daemon = false;
	int first, rc = cmd_parse(&cmd_cache_run, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (first == argc)
		return err_usage(e, "name a command behind --");
	if (!profile->has_metrics && !profile->has_paths && !profile->top_paths)
		profile->top_paths = TOP_PATHS;
	rc = make_places(&p, profile->job, e);
	if (rc < 0)
		return rc;
	profile->job = p.job;
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, &entry.old_pipe);
	rc = cache_mount(&args.mount, p.view, false, true, &is_daemon, e);
	if (is_daemon)
		return rc;
	if (rc == 0)
		rc = run_mounted(&args, &p, argv + first, &entry, e);
	buf_fini(&entry.variables);
	remove_places(&p);
	return rc;
}

const struct cmd cmd_cache_run = {
	.name = "cache run",
	.operands = "-- CMD [ARG...]",
	.summary = "run a command with its files served from memory, and print the profile",
	.opts = opts,
	.runs_program = true,
	.run = run,
};

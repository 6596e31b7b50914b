/* SPDX-License-Identifier: MIT */
/* run: "cache run": runs a command on a view that is mounted for it. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cachefs/fuse/unmount.h"
#include "cachefs/profile/control.h"
#include "cacherun/cacherun.h"
#include "cli/cache/mount.h"
#include "cli/cache/run_report.h"
#include "cli/cmd.h"

#define TOP_PATHS 10 /* of the profile, unless an option sets them */

struct args {
	struct cache_mount_args mount;
	struct opt_list env;
	bool has_variables_only;
};

static const struct opt opts[] = {
	OPT_INCLUDE(struct args, mount, cache_mount_opts),
	OPT_LIST(0, "env", "NAME", struct args, env,
		 "Serve the folders in this variable through the view, too; again for more"),
	OPT_FLAG(0, "variables-only", struct args, has_variables_only,
		 "Redirect the command by variables only, without mounts of its own"),
	OPT_END,
};

/* Prints how the command is redirected to the view. */
static void print_choice(const struct cacherun *r)
{
	const struct binds *binds = &r->redirect.binds;

	if (r->no_binds.code)
		fprintf(stderr,
			"auger cache: cannot mount for the command alone (%s); setting variables\n",
			r->no_binds.msg);
	if (binds->count)
		fprintf(stderr, "auger cache: mounted from the view:");
	for (size_t i = 0; i < binds->count; i++)
		fprintf(stderr, " %s%s", binds->folders[i], i + 1 == binds->count ? "\n" : "");
	for (size_t at = 0; at < r->variables.len; at += strlen(r->variables.data + at) + 1)
		fprintf(stderr, "auger cache: %s\n", r->variables.data + at);
	if (r->changed)
		fprintf(stderr, "auger cache: runs");
	for (size_t i = 0; i < r->changed; i++)
		fprintf(stderr, " %s%s", r->argv[i], i + 1 == r->changed ? "\n" : "");
}

/* The exit status of the command, or an error. */
static int run_command(const struct cacherun_opts *o, char **argv, bool *ret_has_run, struct err *e)
{
	CLEANUP(cacherun_fini) struct cacherun r = { .argv = NULL };
	int status, exec_error = 0, rc = cacherun_prepare(&r, o, argv, e);

	if (rc < 0)
		return rc;
	print_choice(&r);
	rc = cacherun_command(&r, &status, &exec_error, e);
	if (exec_error)
		return cmd_exec_failed("cache run", e);
	*ret_has_run = rc >= 0;
	return rc < 0 ? rc : status;
}

/* Unmounts the view even if processes that the command left behind use it. */
static void end_view(const char *view, pid_t daemon)
{
	struct err e = { 0 };

	if (unmount_view(view, UNMOUNT_ALWAYS, &e) < 0)
		fprintf(stderr, "auger cache: %s\n", e.msg);
	while (daemon > 0 && waitpid(daemon, NULL, WNOHANG) < 0 && errno == EINTR)
		;
}

/* The view is mounted. */
static int run_mounted(const struct cacherun_opts *o, const struct cacherun_folders *p, char **argv,
		       struct err *e)
{
	struct control_stats stats = { .pid = 0 };
	struct run_report report = { .stats = stats };
	bool has_run = false;
	int rc = control_stats(p->view, &stats, e);

	if (rc == 0)
		rc = run_command(o, argv, &has_run, e);
	if (has_run)
		run_report_read(p->view, &report);
	end_view(p->view, (pid_t)stats.pid);
	if (has_run)
		run_report_print(&report, p, stats.rank);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .mount = cache_mount_defaults };
	struct cache_profile_args *profile = &args.mount.profile;
	struct cacherun_folders p = { .top = "" };
	struct cacherun_opts run = { .view = p.view, .variables = &args.env };
	struct err left = { 0 };
	bool is_daemon = false;
	int first, rc = cmd_parse(&cmd_cache_run, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (first == argc)
		return err_usage(e, "name a command behind --");
	if (program_check(argv[first], e) < 0)
		return cmd_exec_failed("cache run", e);
	if (!profile->has_metrics && !profile->has_paths && !profile->top_paths)
		profile->top_paths = TOP_PATHS;
	rc = cacherun_folders_make(&p, profile->job, e);
	if (rc < 0)
		return rc;
	profile->job = p.job;
	run.target = args.mount.target;
	run.has_variables_only = args.has_variables_only;
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, &run.pipe_action);
	rc = cache_mount(&args.mount, p.view, false, true, &is_daemon, e);
	if (is_daemon)
		return rc;
	if (rc == 0)
		rc = run_mounted(&run, &p, argv + first, e);
	if (cacherun_folders_remove(&p, &left) < 0)
		fprintf(stderr, "auger cache: %s\n", left.msg);
	return rc;
}

const struct cmd cmd_cache_run = {
	.name = "cache run",
	.operands = "-- CMD [ARG...]",
	.summary = "run a command with its files served from memory, and report what they cost",
	.opts = opts,
	.runs_program = true,
	.run = run,
};

/* SPDX-License-Identifier: MIT */
#include "cli/cache/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cachefs/profile/joblog.h"
#include "cli/cmd.h"
#include "format/pprof/pprof.h"

#define TOP_MAX 1000000

enum log_to {
	LOG_TO_FILE,
	LOG_TO_STDOUT,
	LOG_TO_BOTH,
};
static const char *const log_tos[] = { "file", "stdout", "file_and_stdout", NULL };

const struct opt cache_profile_opts[] = {
	OPT_STR('j', "job-dir", "DIR", struct cache_profile_args, job,
		"Write the log and the profile into DIR, and make it"),
	OPT_FLAG(0, "profile", struct cache_profile_args, has_metrics,
		 "Write a profile of all operations at the unmount"),
	OPT_UINT(0, "profile-top", "N", struct cache_profile_args, top_paths, 0, TOP_MAX,
		 "Add the N paths with most events to the profile"),
	OPT_FLAG(0, "profile-paths", struct cache_profile_args, has_paths,
		 "Add all paths to the profile; implies --exact"),
	OPT_FLAG(0, "kernel-cache", struct cache_profile_args, keeps_kernel,
		 "Keep the kernel's caching on, also with --profile-paths"),
	OPT_FLAG(0, "copper-files", struct cache_profile_args, has_copper_files,
		 "Write all files of Copper (cu_fuse), not just two"),
	OPT_UINT(0, "profile-interval", "SECONDS", struct cache_profile_args, interval_s, 0,
		 1000000000,
		 "Write the profile every SECONDS, too; 0: only at the unmount [default 0]"),
	OPT_UINT(
		0, "log-level", "N", struct cache_profile_args, log_level, 0, 5,
		"Log up to level N: 1 fatal, 2 error, 3 warning, 4 info, 5 debug; 0: no log [default 0]"),
	OPT_CHOICE(0, "log-to", "file|stdout|file_and_stdout", struct cache_profile_args, log_to,
		   log_tos, "Write the log there [default file_and_stdout]"),
	OPT_END,
};

static enum profile_mode mode_of(const struct cache_profile_args *args)
{
	if (args->has_paths)
		return PROFILE_PATHS;
	if (args->top_paths)
		return PROFILE_TOP;
	return args->has_metrics || args->interval_s ? PROFILE_TOTALS : PROFILE_OFF;
}

/* The daemon changes its working directory. */
static int make_absolute(const char *path, char ret[PATH_MAX], struct err *e)
{
	char here[PATH_MAX] = "";

	if (*path != '/' && !getcwd(here, sizeof here))
		return err_errno(e, "%s", path);
	if (snprintf(ret, PATH_MAX, "%s%s%s", here, *here ? "/" : "", path) >= PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "%s: too long", path);
	return 0;
}

int cache_profile_fill(const struct cache_profile_args *args, struct mount_opts *o,
		       char job[PATH_MAX], struct err *e)
{
	enum profile_mode mode = mode_of(args);
	bool has_log = args->log_level && args->log_to != LOG_TO_STDOUT;
	int rc;

	if (args->keeps_kernel && o->is_exact)
		return err_usage(e, "--exact and --kernel-cache exclude each other");
	if (!args->job && mode != PROFILE_OFF)
		return err_usage(e, "a profile needs --job-dir");
	if (!args->job && has_log)
		return err_usage(e, "a log needs --job-dir or --log-to stdout");
	o->is_exact |= mode == PROFILE_PATHS && !args->keeps_kernel;
	o->profiling = (struct profiling_opts){
		.mode = mode,
		.top_paths = args->top_paths,
		.interval_ns = (int64_t)args->interval_s * NS_PER_S,
		.encode_profile = pprof_write,
		.files = { .has_all = args->has_copper_files,
			   .has_log = has_log || args->has_copper_files || mode == PROFILE_OFF },
	};
	if (!args->job)
		return 0;
	rc = make_absolute(args->job, job, e);
	o->profiling.files.job = job;
	return rc;
}

static void log_to_job(enum log_level level, const char *domain, const char *text)
{
	if (level == LOG_WARN)
		fprintf(stderr, "auger: %s\n", text);
	joblog_msg(level, domain, text);
}

/* The first lines of a log, in Copper's form. */
static void log_start(const struct cache_profile_args *args, const struct mount_opts *o)
{
	char host[256] = "";

	if (gethostname(host, sizeof host - 1) < 0)
		*host = '\0';
	log_msg(LOG_INFO, "cache", "hostname found to be: %s", host);
	log_msg(LOG_INFO, "cache", "names of its files begin with: %s-", o->profiling.files.rank);
	log_msg(LOG_INFO, "cache", "user-facing log_level: %u", (unsigned)args->log_level);
	log_msg(LOG_INFO, "cache", "target: %s", o->target);
	log_msg(LOG_INFO, "cache", "view: %s", o->view);
	log_msg(LOG_INFO, "cache", "budget (bytes): %llu",
		(unsigned long long)o->cache.budget_bytes);
	log_msg(LOG_INFO, "cache", "metadata ENOENT TTL (ms): %lld",
		(long long)o->cache.negative_ttl_ns / 1000000);
	log_msg(LOG_INFO, "cache", "kernel caching: %s", o->is_exact ? "off" : "on");
	log_msg(LOG_INFO, "cache", "passthrough: %s", o->cache.passthrough ? "on" : "off");
	log_msg(LOG_INFO, "cache", "profile_metrics: %s",
		o->profiling.mode != PROFILE_OFF ? "enabled" : "disabled");
	log_msg(LOG_INFO, "cache", "profile_top_n: %llu", (unsigned long long)args->top_paths);
	log_msg(LOG_INFO, "cache", "profile_paths_full: %s",
		args->has_paths ? "enabled" : "disabled");
}

static void open_log(const struct cache_profile_args *args, const struct mount_opts *o)
{
	const struct job_files *files = &o->profiling.files;
	bool has_file = args->log_to != LOG_TO_STDOUT, to_stdout = args->log_to != LOG_TO_FILE;

	if (!args->log_level)
		return;
	joblog_open(has_file ? files : NULL, (enum joblog_level)args->log_level, to_stdout);
	log_open(log_to_job, args->log_level == JOBLOG_DEBUG ? "*=debug" : "*=info");
	log_start(args, o);
}

int cache_profile_serve(const struct cache_profile_args *args, const struct mount_opts *o,
			struct err *e)
{
	struct mount_opts opts = *o;
	int rc = job_files_open(&opts.profiling.files, e);

	if (rc < 0)
		return rc;
	open_log(args, &opts);
	rc = mount_run(&opts, e);
	if (rc < 0)
		joblog_put(JOBLOG_ERROR, "cache", e->msg);
	return rc;
}

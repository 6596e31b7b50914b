/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/privilege.h"
#include "cachefs/fuse/claim.h"
#include "cachefs/fuse/mount.h"
#include "cachefs/fuse/mounted.h"
#include "cachefs/memory/memory.h"
#include "cacherun/prefetch_list.h"
#include "cli/cache/copper.h"
#include "cli/cache/mount.h"
#include "cli/cmd.h"
#include "cli/size_option.h"
#include "target/background.h"

#define BUDGET_SHARE 4 /* the default budget: a quarter of the memory */
#define SMALLEST_BUDGET (1u << 20)
#define MS_MAX 86400000
#define STORAGE_THREADS 64
#define MIB 1048576.0

struct args {
	struct cache_mount_args mount;
	bool is_foreground, makes_view;
};

static const char *const rights[] = { "auto", "modes", "storage", NULL };

const struct cache_mount_args cache_mount_defaults = {
	.target = "/",
	.negative_ttl_ms = 2000,
	.timeout_s = 30,
	.cluster = { .rank = CACHE_NO_RANK, .join_s = 60 },
};

const struct opt cache_mount_opts[] = {
	OPT_STR('t', "target", "DIR", struct cache_mount_args, target,
		"Serve the files of DIR [default /]"),
	OPT_STR('b', "budget", "SIZE", struct cache_mount_args, budget,
		"Use at most SIZE bytes of memory, such as 512M [default: a quarter of all]"),
	OPT_STR(0, "max-file", "SIZE", struct cache_mount_args, max_file,
		"Do not cache the data of files of SIZE bytes or more [default: cache all]"),
	OPT_REAL(0, "revalidate", "SECONDS", struct cache_mount_args, revalidate_s, 0, 1000000000,
		 "Expire what was cached after SECONDS; 0: never [default 0]"),
	OPT_UINT(0, "enoent-ttl", "MS", struct cache_mount_args, negative_ttl_ms, 0, MS_MAX,
		 "Expire a negative entry in an unlisted folder after MS ms [default 2000]"),
	OPT_UINT(0, "storage-timeout", "SECONDS", struct cache_mount_args, timeout_s, 1, 86400,
		 "Fail a request that storage does not answer in SECONDS [default 30]"),
	OPT_FLAG(0, "exact", struct cache_mount_args, is_exact,
		 "Turn off the kernel's caching, so that every call is a request"),
	OPT_FLAG(0, "passthrough", struct cache_mount_args, passthrough,
		 "Let the kernel read cached files itself, in huge pages (root)"),
	OPT_UINT(0, "threads", "N", struct cache_mount_args, threads, 1, 1024,
		 "Serve requests with N threads [default: one a CPU, up to 4]"),
	OPT_FLAG(0, "allow-other", struct cache_mount_args, has_others,
		 "Admit all users, each with the rights the target grants"),
	OPT_CHOICE(0, "rights", "auto|modes|storage", struct cache_mount_args, rights, rights,
		   "Check rights by mode bits and POSIX access lists, or ask storage"),
	OPT_STR(0, "prefetch", "LIST", struct cache_mount_args, prefetch,
		"Load the paths in LIST first: a text file, or the profile of an earlier run"),
	OPT_STR(0, "prefetch-rate", "SIZE", struct cache_mount_args, rate,
		"Prefetch at most SIZE bytes a second, such as 100M [default: no limit]"),
	OPT_INCLUDE(struct cache_mount_args, profile, cache_profile_opts),
	OPT_END,
};

static const struct opt opts[] = {
	OPT_INCLUDE(struct args, mount, cache_mount_opts),
	OPT_INCLUDE(struct args, mount.cluster, cache_cluster_opts),
	OPT_FLAG(0, "foreground", struct args, is_foreground,
		 "Stay in the foreground until the view is unmounted"),
	OPT_FLAG(0, "mkdir", struct args, makes_view, "Make the folder VIEW if there is none"),
	OPT_END,
};

static int check_folder(const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_errno(e, "%s", path);
	return S_ISDIR(st.st_mode) ? 0 : err_set(e, -ENOTDIR, "%s: not a directory", path);
}

/* A view that is mounted already is found without a request to it, which may hang. -EALREADY,
 * -EBUSY: see claim.h. */
static int resolve(const char *target, const char *view, char ret_target[PATH_MAX],
		   char ret_view[PATH_MAX], struct err *e)
{
	int rc = 0;

	if (!realpath(target, ret_target))
		rc = err_errno(e, "%s", target);
	if (rc == 0)
		rc = check_folder(ret_target, e);
	if (rc == 0)
		rc = mounted_resolve(view, ret_view, e);
	if (rc == 0)
		rc = claim_check(ret_view, ret_target, e);
	return rc < 0 ? rc : check_folder(ret_view, e);
}

/* The context of ready(). */
struct launch {
	const char *target, *view;
	int64_t start_ns;
	int ready_fd; /* of background_fork; -1: foreground */
};

static void ready(void *context, int64_t reply_ns)
{
	const struct launch *l = context;
	struct err e = { 0 };

	fprintf(stderr, "auger cache: %s serves %s; ready after %lld us", l->view, l->target,
		(long long)(clock_mono_ns() - l->start_ns) / 1000);
	if (reply_ns)
		fprintf(stderr, ", the target replied after %lld us", (long long)reply_ns / 1000);
	fputc('\n', stderr);
	if (l->ready_fd >= 0 && background_detach(l->ready_fd, &e) < 0)
		log_msg(LOG_WARN, "cache", "%s", e.msg);
}

static bool exists(const char *folder, const char *name)
{
	char path[PATH_MAX + 32];

	return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
	       access(path, F_OK) == 0;
}

/* Copper's scripts make JOB/metrics/.spec_ioctl_file, and open it in the view for writing. Where
 * the kernel sends a request for each open anyway, a view that is not mounted read-only costs
 * nothing; elsewhere it must be meant for them. */
static bool serves_copper(const struct cache_mount_args *args, const struct mount_opts *o)
{
	const char *job = o->profiling.files.job;

	if (o->has_others)
		return false;
	if (exists(args->target, "metrics/.spec_ioctl_file"))
		return true;
	return job && (o->is_exact || args->is_copper || args->profile.has_copper_files ||
		       exists(job, "metrics"));
}

/* Call it last: some options imply others. */
static int check_passthrough(const struct mount_opts *o, struct err *e)
{
	if (!o->cache.passthrough)
		return 0;
	if (o->is_exact)
		return err_usage(e, "--passthrough and --exact exclude each other");
	if (o->cache.ttl_ns != CACHE_FOREVER)
		return err_usage(e, "--passthrough and --revalidate exclude each other");
	if (!(privilege_capabilities() >> CAP_SYS_ADMIN & 1))
		return err_set(e, -EPERM, "--passthrough needs root (CAP_SYS_ADMIN)");
	return 0;
}

/* On a terminal it overwrites its last line. */
static void report_prefetch(void *context, const struct prefetch_state *s)
{
	double seconds = (double)s->ns / (double)NS_PER_S;

	(void)context;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\rprefetch: %llu of %llu paths, %.1f MiB%s",
			(unsigned long long)s->done, (unsigned long long)s->total,
			(double)s->bytes / MIB, s->is_over ? "\n" : "");
	if (s->is_over)
		log_msg(LOG_INFO, "cache",
			"prefetched %llu of %llu paths in %.2f s: %.1f MiB; %llu do not exist, "
			"%llu could not be read",
			(unsigned long long)s->done, (unsigned long long)s->total, seconds,
			(double)s->bytes / MIB, (unsigned long long)s->missing,
			(unsigned long long)s->failed);
}

static int fill_opts(const struct cache_mount_args *args, struct mount_opts *o, struct err *e)
{
	struct cache_opts *c = &o->cache;
	int rc = 0;

	c->budget_bytes = memory_limit() / BUDGET_SHARE;
	c->ttl_ns = args->revalidate_s > 0 ? (int64_t)(args->revalidate_s * (double)NS_PER_S)
					   : CACHE_FOREVER;
	c->negative_ttl_ns = (int64_t)args->negative_ttl_ms * (NS_PER_S / 1000);
	c->timeout_ns = (int64_t)args->timeout_s * NS_PER_S;
	c->max_threads = STORAGE_THREADS;
	o->is_exact = args->is_exact;
	o->has_others = args->has_others;
	o->rights = (enum mount_rights)args->rights;
	c->passthrough = args->passthrough;
	o->threads = (unsigned)args->threads;
	if (args->budget)
		rc = size_option_parse("budget", args->budget, &c->budget_bytes, e);
	if (rc == 0 && c->budget_bytes < SMALLEST_BUDGET)
		rc = err_usage(e, "--budget: less than 1M");
	if (rc == 0 && args->max_file)
		rc = size_option_parse("max-file", args->max_file, &c->max_file_bytes, e);
	if (rc == 0 && args->max_file && !c->max_file_bytes)
		c->max_file_bytes = 1; /* all files that have data */
	if (rc == 0 && args->rate)
		rc = size_option_parse("prefetch-rate", args->rate, &o->prefetch.bytes_per_s, e);
	o->prefetch.report = report_prefetch;
	return rc;
}

/* For the daemon: SIGTERM when the process that forked it dies, which it may have done already. */
static int end_with(pid_t starter, struct err *e)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	return getppid() == starter
		       ? 0
		       : err_set(e, -ECANCELED, "the process that started it has died");
}

/* The nodes with which this one serves the view. */
static int fill_overlay(const struct cache_mount_args *args, struct mount_opts *o,
			struct overlay_opts *overlay, struct cache_cluster_paths *paths,
			struct err *e)
{
	bool is_on;
	int rc = cache_cluster_fill(&args->cluster, o->profiling.files.job, paths, overlay, &is_on,
				    e);

	if (rc < 0 || !is_on)
		return rc;
	if (args->has_others && geteuid() != 0)
		return err_usage(e, "--allow-other on several nodes needs root, and root's secret");
	overlay->node.timeout_ns = o->cache.timeout_ns;
	overlay->shared.target = o->target;
	overlay->ttl_ns = o->cache.ttl_ns;
	o->overlay = overlay;
	o->launch = args->cluster.launch;
	return 0;
}

int cache_mount(const struct cache_mount_args *args, const char *path, bool is_foreground,
		bool ends_with_us, bool *ret_is_daemon, struct err *e)
{
	struct overlay_opts overlay = { .ttl_ns = 0 };
	struct cache_cluster_paths paths;
	char target[PATH_MAX], view[PATH_MAX], job[PATH_MAX];
	struct launch l = { target, view, .start_ns = clock_mono_ns(), .ready_fd = -1 };
	struct mount_opts o = { target, view, .ready = ready, .context = &l };
	CLEANUP(prefetch_list_fini) struct prefetch_list list = { 0 };
	pid_t starter = getpid();
	int rc = fill_opts(args, &o, e);

	if (rc == 0 && args->prefetch)
		rc = prefetch_list_read(args->prefetch, &list, e);
	o.prefetch.paths = list.paths;
	o.prefetch.count = list.count;
	if (rc == 0)
		rc = cache_profile_fill(&args->profile, &o, job, e);
	o.is_writable = rc == 0 && serves_copper(args, &o);
	if (rc == 0)
		rc = check_passthrough(&o, e);
	if (rc == 0)
		rc = resolve(args->target, path, target, view, e);
	if (rc == 0)
		rc = fill_overlay(args, &o, &overlay, &paths, e);
	*ret_is_daemon = is_foreground;
	if (rc == 0 && !is_foreground) {
		rc = background_fork(&l.ready_fd, e);
		*ret_is_daemon = l.ready_fd >= 0;
	}
	if (rc == 0 && *ret_is_daemon && ends_with_us)
		rc = end_with(starter, e);
	return rc == 0 && *ret_is_daemon ? cache_profile_serve(&args->profile, &o, e) : rc;
}

/* With the folders above it. Not where a view is mounted: that may hang. */
static int make_view(const char *view, struct err *e)
{
	char part[PATH_MAX];

	if (strlen(view) >= sizeof part)
		return err_set(e, -ENAMETOOLONG, "%s: too long", view);
	for (size_t len = 1; view[len - 1]; len++) {
		if (view[len] != '/' && view[len])
			continue;
		memcpy(part, view, len);
		part[len] = '\0';
		if (mkdir(part, view[len] ? 0755 : 0700) < 0 && errno != EEXIST && !view[len])
			return err_errno(e, "%s", view);
	}
	return 0;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .mount = cache_mount_defaults };
	CLEANUP(copper_fini) struct copper line = { 0 };
	int first, rc = copper_translate(argc, argv, &line, e);
	const char *view;
	bool is_daemon;

	if (rc == 0)
		rc = cmd_parse(&cmd_cache_mount, &args, line.argc, line.argv, &first, e);
	if (rc < 0)
		return rc;
	args.mount.is_copper = line.is_copper;
	view = line.argc > first ? line.argv[first] : line.view;
	if (!view || line.argc > first + 1)
		return err_usage(e, "name one folder, the view");
	if (args.makes_view)
		rc = make_view(view, e);
	if (rc < 0)
		return rc;
	rc = cache_mount(&args.mount, view, args.is_foreground, false, &is_daemon, e);
	if (rc != -EALREADY)
		return rc;
	fprintf(stderr, "auger cache: %s\n", e->msg);
	return 0;
}

const struct cmd cmd_cache_mount = {
	.name = "cache mount",
	.operands = "VIEW",
	.summary = "mount a read-only view of a folder that is served from memory",
	.opts = opts,
	.run = run,
};

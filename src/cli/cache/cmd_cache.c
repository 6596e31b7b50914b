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

#include "base/clock.h"
#include "base/log.h"
#include "base/rights.h"
#include "cachefs/fuse/mount.h"
#include "cachefs/store/memory.h"
#include "cli/background.h"
#include "cli/cache/copper.h"
#include "cli/cache/mount.h"
#include "cli/cache/prefetch.h"
#include "cli/cmd.h"

#define BUDGET_SHARE 4 /* the default budget: this part of the memory */
#define SMALLEST_BUDGET (1u << 20)
#define MS_MAX 86400000
#define STORAGE_THREADS 64

struct args {
	struct cache_mount_args mount;
	bool is_foreground;
};

const struct cache_mount_args cache_mount_defaults = {
	.target = "/",
	.absent_ms = 2000,
	.timeout_s = 30,
	.threads = 64,
};

const struct opt cache_mount_opts[] = {
	OPT_STR('t', "target", "DIR", struct cache_mount_args, target,
		"the folder to show (default /)"),
	OPT_STR('b', "budget", "SIZE", struct cache_mount_args, budget,
		"memory to use, such as 512M or 4G (default: a quarter of what there is)"),
	OPT_STR(0, "max-file", "SIZE", struct cache_mount_args, max_file,
		"do not keep files of this size and more (default: keep all)"),
	OPT_REAL(0, "revalidate", "SECONDS", struct cache_mount_args, lifetime_s, 0, 1000000000,
		 "ask again what is older; 0: never, the tree is fixed (default)"),
	OPT_UINT(0, "enoent-ttl", "MS", struct cache_mount_args, absent_ms, 0, MS_MAX,
		 "a name stays absent for MS milliseconds where its folder's names are not known "
		 "(default 2000)"),
	OPT_UINT(0, "storage-timeout", "SECONDS", struct cache_mount_args, timeout_s, 1, 86400,
		 "fail what the target does not answer in time (default 30)"),
	OPT_FLAG(0, "exact", struct cache_mount_args, is_exact,
		 "let the kernel keep nothing: every call comes to the cache"),
	OPT_FLAG(0, "passthrough", struct cache_mount_args, passthrough,
		 "have the kernel itself read files from memory, in large pages (needs root)"),
	OPT_UINT(0, "threads", "N", struct cache_mount_args, threads, 1, 1024,
		 "answer the kernel with at most N threads (default 64)"),
	OPT_FLAG(0, "allow-other", struct cache_mount_args, has_others,
		 "all users may look, each at what the target lets them"),
	OPT_STR(0, "prefetch", "LIST", struct cache_mount_args, prefetch,
		"look at the paths that LIST names (a path a line, or a profile of a cache) at once"),
	OPT_STR(0, "prefetch-rate", "SIZE", struct cache_mount_args, rate,
		"of --prefetch: read at most SIZE bytes a second, such as 100M"),
	OPT_INCLUDE(struct cache_mount_args, profile, cache_profile_opts),
	OPT_END,
};

static const struct opt opts[] = {
	OPT_INCLUDE(struct args, mount, cache_mount_opts),
	OPT_FLAG('f', "foreground", struct args, is_foreground, "stay until unmounted"),
	OPT_END,
};

/* "512M": powers of 1024; 0 is allowed. */
static int parse_size(const char *option, const char *text, uint64_t *ret, struct err *e)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	char *end;
	unsigned long long value;
	unsigned shift = 0;

	errno = 0;
	value = strtoull(text, &end, 10);
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (suffix) {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		end++;
	}
	if (errno || *end || text[0] < '0' || text[0] > '9' || value > UINT64_MAX >> shift)
		return err_usage(e, "--%s: '%s' is not a size, such as 512M", option, text);
	*ret = value << shift;
	return 0;
}

static int resolve_folder(const char *path, char *ret, struct err *e)
{
	struct stat st;

	if (!realpath(path, ret) || stat(ret, &st) < 0)
		return err_errno(e, "%s", path);
	return S_ISDIR(st.st_mode) ? 0 : err_set(e, -ENOTDIR, "%s: is no folder", path);
}

/* What ready() needs. */
struct launch {
	const char *target, *view;
	int64_t start_ns;
	int ready_fd; /* of background_fork; -1: foreground */
};

static void ready(void *context, int64_t answer_ns)
{
	const struct launch *l = context;
	struct err e = { 0 };

	fprintf(stderr, "auger cache: %s shows %s; ready after %lld us", l->view, l->target,
		(long long)(clock_mono_ns() - l->start_ns) / 1000);
	if (answer_ns)
		fprintf(stderr, ", the target answered after %lld us", (long long)answer_ns / 1000);
	fputc('\n', stderr);
	if (l->ready_fd >= 0 && background_detach(l->ready_fd, &e) < 0)
		log_msg(LOG_WARN, "cache", "%s", e.msg);
}

/* After all options, some of which imply others. */
static int check_passthrough(const struct mount_opts *o, struct err *e)
{
	if (!o->cache.passthrough)
		return 0;
	if (o->is_exact)
		return err_usage(e, "--passthrough and --exact exclude each other");
	if (o->cache.ttl_ns != CACHE_FOREVER)
		return err_usage(e, "--passthrough and --revalidate exclude each other");
	if (!(rights_capabilities() >> CAP_SYS_ADMIN & 1))
		return err_set(e, -EPERM, "--passthrough is for root only (CAP_SYS_ADMIN)");
	return 0;
}

static int fill_opts(const struct cache_mount_args *args, struct mount_opts *o, struct err *e)
{
	struct cache_opts *c = &o->cache;
	int rc = 0;

	c->budget_bytes = memory_limit() / BUDGET_SHARE;
	c->ttl_ns = args->lifetime_s > 0 ? (int64_t)(args->lifetime_s * (double)NS_PER_S)
					 : CACHE_FOREVER;
	c->negative_ttl_ns = (int64_t)args->absent_ms * (NS_PER_S / 1000);
	c->timeout_ns = (int64_t)args->timeout_s * NS_PER_S;
	c->max_threads = STORAGE_THREADS;
	o->is_exact = args->is_exact;
	o->has_others = args->has_others;
	c->passthrough = args->passthrough;
	o->max_threads = (unsigned)args->threads;
	if (args->budget)
		rc = parse_size("budget", args->budget, &c->budget_bytes, e);
	if (rc == 0 && c->budget_bytes < SMALLEST_BUDGET)
		rc = err_usage(e, "--budget: less than 1M");
	if (rc == 0 && args->max_file)
		rc = parse_size("max-file", args->max_file, &c->max_file_bytes, e);
	if (rc == 0 && args->max_file && !c->max_file_bytes)
		c->max_file_bytes = 1; /* of all that has any: nothing is kept */
	if (rc == 0 && args->rate)
		rc = parse_size("prefetch-rate", args->rate, &o->prefetch.bytes_per_s, e);
	o->prefetch.report = prefetch_report;
	return rc;
}

int cache_mount(const struct cache_mount_args *args, const char *path, bool is_foreground,
		bool ends_with_us, bool *ret_is_daemon, struct err *e)
{
	char target[PATH_MAX], view[PATH_MAX], job[PATH_MAX];
	struct launch l = { target, view, .start_ns = clock_mono_ns(), .ready_fd = -1 };
	struct mount_opts o = { target, view, .ready = ready, .context = &l };
	CLEANUP(prefetch_list_fini) struct prefetch_list list = { 0 };
	int rc = fill_opts(args, &o, e);

	if (rc == 0 && args->prefetch)
		rc = prefetch_list_read(args->prefetch, &list, e);
	o.prefetch.paths = list.paths;
	o.prefetch.count = list.count;
	if (rc == 0)
		rc = cache_profile_fill(&args->profile, &o, job, e);
	if (rc == 0)
		rc = check_passthrough(&o, e);
	if (rc == 0)
		rc = resolve_folder(args->target, target, e);
	if (rc == 0)
		rc = resolve_folder(path, view, e);
	*ret_is_daemon = is_foreground;
	if (rc == 0 && !is_foreground) {
		rc = background_fork(&l.ready_fd, e);
		*ret_is_daemon = l.ready_fd >= 0;
	}
	if (*ret_is_daemon && ends_with_us)
		prctl(PR_SET_PDEATHSIG, SIGTERM);
	return rc == 0 && *ret_is_daemon ? cache_profile_serve(&args->profile, &o, e) : rc;
}

static int mount_view(const struct args *args, const char *path, struct err *e)
{
	bool is_daemon;

	return cache_mount(&args->mount, path, args->is_foreground, false, &is_daemon, e);
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .mount = cache_mount_defaults };
	CLEANUP(copper_fini) struct copper old = { 0 };
	int first, rc = copper_words(argc, argv, &old, e);
	const char *view;

	if (rc == 0)
		rc = cmd_parse(&cmd_cache, &args, old.argc, old.argv, &first, e);
	if (rc < 0)
		return rc;
	argc = old.argc - first;
	argv = old.argv + first;
	view = argc > 1 ? argv[1] : old.view;
	if (!argc || strcmp(argv[0], "mount") != 0)
		return err_usage(
			e, "say mount, umount, run, stats, snapshot, reset, aggregate or paths");
	if (!view || argc > 2)
		return err_usage(e, "mount: name one folder, the view");
	return mount_view(&args, view, e);
}

/* clang-format off */
static const struct cmd *const verbs[] = {
	&cmd_cache_umount,
	&cmd_cache_run,
	&cmd_cache_stats,
	&cmd_cache_snapshot,
	&cmd_cache_reset,
	&cmd_cache_aggregate,
	&cmd_cache_paths,
	NULL,
};
/* clang-format on */

const struct cmd cmd_cache = {
	.name = "cache",
	.operands =
		"mount VIEW, umount|stats|snapshot|reset VIEW, run -- CMD, aggregate|paths JOBDIR",
	.summary = "show a folder through a cache in memory, read-only",
	.opts = opts,
	.verbs = verbs,
	.run = run,
};

/* SPDX-License-Identifier: MIT */
/* stop: "cache stop", which ends what "cache launch" has started. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cachefs/fuse/mounted.h"
#include "cachefs/fuse/unmount.h"
#include "cachefs/profile/control.h"
#include "cachejob/jobdir.h"
#include "cachejob/nodes.h"
#include "cli/cache/on_nodes.h"
#include "cli/cmd.h"

#define POLL_NS (NS_PER_S / 20) /* short beside the start of a node */

struct args {
	const char *job;
	bool is_epilog;
	uint64_t timeout_s;
};

static const struct opt opts[] = {
	OPT_STR(0, "job", "JOBDIR", struct args, job,
		"Stop what was launched with this folder, also when no view is left here"),
	OPT_FLAG(0, "epilog", struct args, is_epilog,
		 "Detach only the views on this node whose daemon has died"),
	OPT_UINT(0, "timeout", "SECONDS", struct args, timeout_s, 1, 86400,
		 "Wait SECONDS for the nodes [default 60]"),
	OPT_END,
};

/* Nodes of the launch whose daemon has not written its end. */
static size_t count_unended(const struct nodes_list *nodes)
{
	size_t count = 0;

	for (size_t i = 0; i < nodes->count; i++)
		count += !nodes->list[i].has_ended;
	return count;
}

/* Reads what the nodes wrote at their end, until all have, for as long as a slow file system may
 * need to show it. */
static int read_ends(const char *job, const char *launch, struct nodes_list *ret, struct err *e)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	int64_t until_ns = clock_mono_ns() + 2 * NS_PER_S;

	for (;;) {
		int rc = nodes_list_read(job, launch, ret, e);

		if (rc < 0 || !count_unended(ret) || clock_mono_ns() > until_ns)
			return rc;
		nodes_list_fini(ret);
		nanosleep(&pause, NULL);
	}
}

static void print_ends(const struct nodes_list *nodes, uint32_t count)
{
	fprintf(stderr, "auger cache: %zu of %u node%s ended in order",
		nodes->count - count_unended(nodes), count, count == 1 ? "" : "s");
	for (size_t i = 0, shown = 0; i < nodes->count && shown < 8; i++)
		if (!nodes->list[i].has_ended)
			fprintf(stderr, "%s rank %lld (%s)",
				shown++ ? "," : "; killed before:", (long long)nodes->list[i].rank,
				nodes->list[i].host);
	fputc('\n', stderr);
}

int launch_stop(const char *job, const struct launch_note *n, int64_t timeout_ns, struct err *e)
{
	CLEANUP(nodes_list_fini) struct nodes_list nodes = { 0 };
	CLEANUP(words_fini) struct words command = { 0 };
	CLEANUP(on_nodes_fini) struct on_nodes run = { 0 };
	struct launch_paths paths;
	char end[512];
	int rc = launch_paths_fill(job, n->name, &paths, e);

	words_add(&command, n->auger);
	words_add(&command, "cache");
	words_add(&command, "umount");
	words_add(&command, "--lazy");
	words_add(&command, "--if-mounted");
	words_add(&command, n->view);
	unlink(paths.stop_log);
	if (rc == 0)
		rc = on_nodes_start(&n->launcher, &command, paths.stop_log, &run, e);
	if (rc < 0)
		return rc;
	if (!on_nodes_wait(&run, timeout_ns)) {
		on_nodes_signal(&run, SIGTERM);
		return err_set(e, -ETIMEDOUT, "%zu of %u nodes have not stopped in time",
			       run.running, n->launcher.nodes);
	}
	if (run.failed) {
		on_nodes_log_end(paths.stop_log, end);
		return err_set(e, -EIO, "a node has not ended its view: %.300s", end);
	}
	rc = read_ends(job, n->name, &nodes, e);
	if (rc < 0)
		return rc;
	print_ends(&nodes, n->launcher.nodes);
	launch_paths_remove(&paths);
	return 0;
}

/* Views on this node whose daemon has died. */
static int stop_dead(struct err *e)
{
	CLEANUP(buf_fini) struct buf views = { 0 };
	int failed = 0, rc = mounted_list(&views, e);

	if (rc < 0)
		return rc;
	for (size_t at = 0; at < views.len; at += strlen(views.data + at) + 1) {
		struct err why = { 0 };

		rc = unmount_if_dead(views.data + at, &why);
		if (rc > 0)
			fprintf(stderr, "auger cache: %s: its daemon had died; detached\n",
				views.data + at);
		if (rc < 0)
			fprintf(stderr, "auger cache stop: %s\n", why.msg);
		failed += rc < 0;
	}
	return failed ? err_set(e, -EIO, "%d views could not be detached", failed) : 0;
}

/* The job's folder of a view that is served here. */
static int job_of(const char *view, char ret[PATH_MAX], struct err *e)
{
	struct control_stats stats;
	int rc = control_stats(view, &stats, e);

	if (rc == -ENOTTY)
		return err_set(e, rc, "%s: no cache is mounted there; --job JOBDIR stops a job",
			       view);
	if (rc < 0)
		return rc;
	if (!*stats.job)
		return err_set(e, -ENOENT, "%s: it was not launched; 'auger cache umount' ends it",
			       view);
	snprintf(ret, PATH_MAX, "%s", stats.job);
	return 0;
}

/* The summary of all nodes, where they have written profiles. */
static void summarize(const char *job, const struct launch_note *n)
{
	CLEANUP(words_fini) struct words command = { 0 };
	struct launch_paths paths;
	struct jobdir *files;
	struct err e = { 0 };

	if (launch_paths_fill(job, n->name, &paths, &e) < 0 || jobdir_open(job, &files, &e) < 0)
		return;
	jobdir_close(files);
	words_add(&command, n->auger);
	words_add(&command, "cache");
	words_add(&command, "aggregate");
	words_add(&command, job);
	if (on_nodes_run_here(&command, paths.stop_log, &e) < 0)
		fprintf(stderr, "auger cache stop: the summary of all nodes: %s\n", e.msg);
	else
		fprintf(stderr,
			"auger cache: the summary of all nodes is in %s/profiling/cluster\n", job);
}

static int stop_job(const char *job, uint64_t timeout_s, struct err *e)
{
	CLEANUP(launch_note_fini) struct launch_note n = { .name = "" };
	int rc = launch_note_read(job, &n, e);

	if (rc == -ENOENT)
		return err_set(e, rc,
			       "%s: nothing was launched with this folder, or it has been "
			       "stopped",
			       job);
	if (rc == 0)
		rc = launch_stop(job, &n, (int64_t)timeout_s * NS_PER_S, e);
	if (rc == 0)
		summarize(job, &n);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .timeout_s = 60 };
	char job[PATH_MAX];
	int first, rc = cmd_parse(&cmd_cache_stop, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (argc - first + (args.job != NULL) + args.is_epilog != 1)
		return err_usage(e, "name one folder, the view, or give --job JOBDIR or --epilog");
	if (args.is_epilog)
		return stop_dead(e);
	if (args.job)
		return stop_job(args.job, args.timeout_s, e);
	rc = job_of(argv[first], job, e);
	return rc < 0 ? rc : stop_job(job, args.timeout_s, e);
}

const struct cmd cmd_cache_stop = {
	.name = "cache stop",
	.operands = "[VIEW]",
	.summary = "end the views of all nodes of a launch, and check each node",
	.opts = opts,
	.run = run,
};

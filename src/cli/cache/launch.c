/* SPDX-License-Identifier: MIT */
/* launch: "cache launch", which mounts a view on all nodes of an allocation. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cachejob/nodes.h"
#include "cli/cache/launch_opts.h"
#include "cli/cache/on_nodes.h"
#include "cli/cmd.h"
#include "cluster/secret.h"

#define POLL_NS (NS_PER_S / 20) /* short beside the start of a node */
#define NAMED 8                 /* missing ranks that a message names */

struct launch {
	struct launch_args args;
	struct launch_note note;
	struct launch_paths paths;
	char job[PATH_MAX], target[PATH_MAX];
	int64_t start_ns;
};

static int make_absolute(const char *path, char *ret, size_t size, struct err *e)
{
	char here[PATH_MAX] = "";

	if (*path != '/' && !getcwd(here, sizeof here))
		return err_errno(e, "%s", path);
	if (snprintf(ret, size, "%s%s%s", here, *here ? "/" : "", path) >= (int)size)
		return err_set(e, -ENAMETOOLONG, "%s: too long", path);
	return 0;
}

/* Other launches with the same folder have other names. */
static int name_launch(struct launch *l, struct err *e)
{
	uint64_t number;
	int rc = secret_random(&number, sizeof number);

	if (rc < 0)
		return err_set(e, rc, "no random numbers: %s", strerror(-rc));
	snprintf(l->note.name, sizeof l->note.name, "%s%s%016llx", l->note.launcher.job,
		 *l->note.launcher.job ? "-" : "", (unsigned long long)number);
	return 0;
}

/* JOB: as it was named, or auger-cache-NUMBER here. */
static int name_job(struct launch *l, struct err *e)
{
	char text[64];

	if (l->args.job)
		return make_absolute(l->args.job, l->job, sizeof l->job, e);
	if (*l->note.launcher.job)
		snprintf(text, sizeof text, "auger-cache-%.40s", l->note.launcher.job);
	else
		snprintf(text, sizeof text, "auger-cache-%d", (int)getpid());
	return make_absolute(text, l->job, sizeof l->job, e);
}

static int resolve(struct launch *l, const char *view, struct err *e)
{
	const struct launcher_opts o = { (enum launcher_kind)l->args.launcher, l->args.hosts,
					 l->args.host_file, l->args.rsh };
	ssize_t len = readlink("/proc/self/exe", l->note.auger, sizeof l->note.auger - 1);
	int rc = launcher_find(&o, &l->note.launcher, e);

	if (rc < 0)
		return rc;
	if (len <= 0)
		return err_errno(e, "/proc/self/exe");
	l->note.auger[len] = '\0';
	rc = make_absolute(view, l->note.view, sizeof l->note.view, e);
	if (rc == 0)
		rc = make_absolute(l->args.target ? l->args.target : "/", l->target,
				   sizeof l->target, e);
	if (rc == 0)
		rc = name_launch(l, e);
	if (rc == 0)
		rc = name_job(l, e);
	return rc < 0 ? rc : launch_paths_fill(l->job, l->note.name, &l->paths, e);
}

static void put_command(const struct launch *l, struct words *ret)
{
	const struct launcher *to = &l->note.launcher;

	if (l->args.cpus) {
		words_add(ret, "taskset");
		words_add(ret, "-c");
		words_add(ret, l->args.cpus);
	}
	words_add(ret, l->note.auger);
	words_add(ret, "cache");
	words_add(ret, "mount");
	words_add(ret, "--ranks");
	words_addf(ret, "%u", to->nodes);
	if (launcher_is_collective(to)) {
		words_add(ret, "--foreground");
	} else {
		words_add(ret, "--rank");
		words_add(ret, "%r");
	}
	words_add(ret, "--job-dir");
	words_add(ret, l->job);
	words_add(ret, "--address-book");
	words_add(ret, l->paths.book);
	words_add(ret, "--secret-file");
	words_add(ret, l->paths.secret);
	words_add(ret, "--launch");
	words_add(ret, l->note.name);
	words_add(ret, "--mkdir");
	launch_opts_put(&l->args, ret);
	words_add(ret, "--target");
	words_add(ret, l->target);
	words_add(ret, l->note.view);
}

static int print_commands(const struct launch *l, const struct words *command, struct err *e)
{
	const struct launcher *to = &l->note.launcher;
	uint32_t count = launcher_is_collective(to) ? 1 : to->nodes;

	for (uint32_t i = 0; i < count; i++) {
		CLEANUP(words_fini) struct words line = { 0 };
		CLEANUP(buf_fini) struct buf text = { 0 };

		on_nodes_line(to, i, command, &line);
		words_quote(&line, &text);
		if (buf_error(&text) < 0)
			return err_nomem(e);
		puts(text.data);
	}
	return 0;
}

static int make_files(const struct launch *l, struct err *e)
{
	struct stat st;

	if (mkdir(l->job, 0777) < 0 && errno != EEXIST)
		return err_errno(e, "%s", l->job);
	if (mkdir(l->paths.folder, 0700) < 0 && errno != EEXIST)
		return err_errno(e, "%s", l->paths.folder);
	if (lstat(l->paths.folder, &st) < 0)
		return err_errno(e, "%s", l->paths.folder);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return err_set(e, -EACCES, "%s: others may write there", l->paths.folder);
	if (access(l->paths.note, F_OK) == 0)
		return err_set(e, -EEXIST,
			       "%s: a view was launched with this folder; 'auger cache stop --job' "
			       "ends it",
			       l->job);
	unlink(l->paths.log);
	return secret_create(l->paths.secret, e);
}

/* Names the ranks that have no view. */
static int fail_missing(const struct launch *l, const struct nodes_list *nodes, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	size_t at = 0, shown = 0;
	char end[512];

	for (int64_t rank = 0; rank < l->note.launcher.nodes && shown < NAMED; rank++) {
		while (at < nodes->count && nodes->list[at].rank < rank)
			at++;
		if (at == nodes->count || nodes->list[at].rank != rank)
			buf_printf(&text, "%s%lld", shown++ ? ", " : "", (long long)rank);
	}
	on_nodes_log_end(l->paths.log, end);
	return err_set(e, -ETIMEDOUT, "the view is on %zu of %u nodes, not on rank %s%s%.200s",
		       nodes->count, l->note.launcher.nodes, text.data ? text.data : "?",
		       *end ? "; " : "", end);
}

/* A process that starts nodes ended: of a launcher of all nodes in any case too early. */
static int fail_ended(const struct launch *l, const struct on_nodes *run, struct err *e)
{
	const struct launcher *to = &l->note.launcher;
	char end[512];

	on_nodes_log_end(l->paths.log, end);
	return err_set(e, -EIO, "%s%s: %.300s", launcher_is_collective(to) ? "the launcher" : "",
		       launcher_is_collective(to) ? "" : to->hosts.names[run->first_failed],
		       *end ? end : "it has ended, and printed nothing");
}

static int wait_for_views(const struct launch *l, struct on_nodes *run, struct err *e)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	int64_t until_ns = clock_mono_ns() + (int64_t)l->args.timeout_s * NS_PER_S;
	bool is_collective = launcher_is_collective(&l->note.launcher);

	for (;;) {
		CLEANUP(nodes_list_fini) struct nodes_list nodes = { 0 };
		int rc = nodes_list_read(l->job, l->note.name, &nodes, e);

		if (rc < 0 && rc != -ENOENT)
			return rc;
		if (nodes.count == l->note.launcher.nodes)
			return 0;
		on_nodes_poll(run);
		if (run->failed || (is_collective && !run->running))
			return fail_ended(l, run, e);
		if (clock_mono_ns() > until_ns)
			return fail_missing(l, &nodes, e);
		nanosleep(&pause, NULL);
	}
}

/* After a failure: what was started ends, too. */
static void undo(const struct launch *l, struct on_nodes *run)
{
	struct err e = { 0 };

	on_nodes_signal(run, SIGTERM);
	if (!on_nodes_wait(run, 10 * NS_PER_S))
		on_nodes_signal(run, SIGKILL);
	if (launch_stop(l->job, &l->note, 30 * NS_PER_S, &e) < 0)
		fprintf(stderr, "auger cache launch: %s\n", e.msg);
	launch_paths_remove(&l->paths);
}

static int start(struct launch *l, const struct words *command, struct err *e)
{
	CLEANUP(on_nodes_fini) struct on_nodes run = { 0 };
	const struct launcher *to = &l->note.launcher;
	int rc = make_files(l, e);

	if (rc == 0)
		rc = launch_note_write(&l->note, l->job, e);
	if (rc < 0)
		return rc;
	fprintf(stderr, "auger cache: %s: %u node%s\n", to->found, to->nodes,
		to->nodes == 1 ? "" : "s");
	rc = on_nodes_start(to, command, l->paths.log, &run, e);
	if (rc == 0)
		rc = wait_for_views(l, &run, e);
	if (rc < 0) {
		undo(l, &run);
		return rc;
	}
	fprintf(stderr,
		"auger cache: %s serves %s on %u node%s; ready after %.1f s; "
		"'auger cache stop --job %s' ends it\n",
		l->note.view, l->target, to->nodes, to->nodes == 1 ? "" : "s",
		(double)(clock_mono_ns() - l->start_ns) / (double)NS_PER_S, l->job);
	printf("%s\n", l->job);
	return 0;
}

static int launch(struct launch *l, const char *view, struct err *e)
{
	CLEANUP(words_fini) struct words command = { 0 };
	int rc = resolve(l, view, e);

	if (rc < 0)
		return rc;
	put_command(l, &command);
	if (buf_error(&command.text) < 0)
		return err_nomem(e);
	if (!l->args.is_dry_run)
		return start(l, &command, e);
	fprintf(stderr, "auger cache: %s: %u node%s\n", l->note.launcher.found,
		l->note.launcher.nodes, l->note.launcher.nodes == 1 ? "" : "s");
	return print_commands(l, &command, e);
}

static int run(int argc, char **argv, struct err *e)
{
	struct launch *l = calloc(1, sizeof *l);
	const char *view = NULL;
	int rc;

	if (!l)
		return err_nomem(e);
	l->start_ns = clock_mono_ns();
	rc = launch_opts_parse(argc, argv, &l->args, &view, e);
	if (rc == 0)
		rc = launch(l, view, e);
	launch_note_fini(&l->note);
	launch_opts_fini(&l->args);
	free(l);
	return rc;
}

const struct cmd cmd_cache_launch = {
	.name = "cache launch",
	.operands = "VIEW",
	.summary = "mount a view on all nodes of a job, which serve it together",
	.opts = launch_opts,
	.run = run,
};

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "cli/relocate_table.h"
#include "cli/screen.h"
#include "relocate/connections.h"
#include "relocate/copy/open_soon.h"
#include "relocate/inventory/jobs.h"
#include "relocate/pause.h"
#include "relocate/relocate.h"
#include "target/proc.h"

#define PROGRESS_NS (NS_PER_S / 5) /* five times a second are read easily */

enum verify { VERIFY_SIZE, VERIFY_CHECKSUM };
static const char *const verifies[] = { "size", "checksum", NULL };

struct args {
	const char *pids, *job, *users_of, *from, *to;
	bool enters_manager, is_only, is_dry, undoes, swaps, is_partial, moves_libs, trusts_append,
		is_dead;
	uint64_t bandwidth; /* MiB a second; 0: no limit */
	uint64_t max_pause; /* milliseconds */
	int verify;         /* enum verify */
	int format;         /* enum emit_format */
	int color;          /* enum color_when */
};

static const struct opt opts[] = {
	OPT_STR('p', "pid", "PID,...", struct args, pids,
		"Move these processes and their descendants"),
	OPT_STR(0, "job", "ID", struct args, job, "Move the processes of this Slurm job"),
	OPT_FLAG(0, "enter-slurmstepd", struct args, enters_manager,
		 "Move Slurm's own process of the job step, too; it has the step's output open"),
	OPT_STR(0, "all-users-of", "OLD", struct args, users_of, "Move all processes that use OLD"),
	OPT_STR(0, "from", "OLD", struct args, from,
		"Move away from this directory [default: that of --all-users-of]"),
	OPT_STR(0, "to", "NEW", struct args, to,
		"Move to NEW, an empty directory of another file system; create it if missing"),
	OPT_FLAG(0, "only", struct args, is_only, "Leave out descendants"),
	OPT_FLAG(0, "dry-run", struct args, is_dry,
		 "List what would move and what blocks it, without moving"),
	OPT_FLAG(0, "undo", struct args, undoes, "Remove what a killed auger relocate left in NEW"),
	OPT_FLAG(0, "swap", struct args, swaps,
		 "Unmount or cover OLD in the pause, too, and mount NEW at its path"),
	OPT_FLAG(0, "old-is-dead", struct args, is_dead,
		 "Move what is in memory, without reading OLD, whose storage hangs"),
	OPT_FLAG(0, "force-partial", struct args, is_partial,
		 "Move the rest if something must stay on OLD"),
	OPT_FLAG(0, "move-libs", struct args, moves_libs, "Move libraries on OLD, too"),
	OPT_CHOICE(0, "verify", "size|checksum", struct args, verify, verifies,
		   "Compare sizes, or read NEW again before the pause [default size]"),
	OPT_FLAG(0, "trust-append", struct args, trusts_append,
		 "Do not compare append-only files in the pause"),
	OPT_UINT(0, "bandwidth", "N", struct args, bandwidth, 1, 1 << 20,
		 "Copy at most N MiB per second before the pause [default: no limit]"),
	OPT_UINT(0, "max-pause", "MS", struct args, max_pause, 1, 3600000,
		 "Give up and undo if the job would be frozen for longer [default 1000]"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Write what was moved as a table, CSV or JSON [default table]"),
	OPT_COLOR(struct args, color),
	OPT_END,
};

static volatile sig_atomic_t is_interrupted;

static void end(int signal)
{
	(void)signal;
	is_interrupted = 1;
}

/* A signal ends the copy at once; during the pause signals are blocked. */
static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction act = { .sa_handler = end };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		(void)sigaction(signals[i], &act, NULL);
	act.sa_handler = SIG_IGN;
	(void)sigaction(SIGPIPE, &act, NULL);
}

static void show_progress(void *self, uint64_t done, uint64_t total)
{
	int64_t *last_ns = self, now_ns = clock_mono_ns();

	if (now_ns - *last_ns < PROGRESS_NS)
		return;
	*last_ns = now_ns;
	fprintf(stderr, "\rcopying: %" PRIu64 " of %" PRIu64 " MiB \033[K", done >> 20,
		total >> 20);
}

static int check_args(const struct args *args, struct err *e)
{
	int ways = !!args->pids + !!args->job + !!args->users_of;

	if (args->undoes) {
		if (ways || args->from || !args->to || args->is_dry)
			return err_usage(e, "--undo goes with --to NEW alone");
		return 0;
	}
	if (ways != 1)
		return err_usage(e, "name the job by one of --pid, --job, --all-users-of");
	if (args->is_dead && (args->verify == VERIFY_CHECKSUM || args->trusts_append))
		return err_usage(e, "--old-is-dead cannot compare with OLD");
	if (args->enters_manager && !args->job)
		return err_usage(e, "--enter-slurmstepd goes with --job");
	if (!args->from && !args->users_of)
		return err_usage(e, "--from OLD is missing");
	if (!args->to)
		return err_usage(e, "--to NEW is missing");
	return 0;
}

static int find_job(const struct args *args, const struct top_dir *old_dir, struct rows *pids,
		    struct err *e)
{
	CLEANUP(top_dir_close) struct top_dir users_of = { .fd = -1 };

	if (args->pids)
		return jobs_parse(args->pids, pids, e);
	if (args->job)
		return jobs_find_slurm(args->job, args->enters_manager, pids, e);
	if (top_dir_open_soon(&users_of, args->users_of, args->is_dead, e) < 0)
		return e->code;
	if (strcmp(users_of.path, old_dir->path) != 0)
		return err_set(e, -EINVAL, "--all-users-of and --from name different directories");
	return jobs_find_users(old_dir, pids, e);
}

/* --dry-run creates nothing: opens the directory in which NEW would be created. */
static int open_parent(struct top_dir *ret, const char *path, struct err *e)
{
	char *copy = strdup(path);
	int rc;

	if (!copy)
		return err_nomem(e);
	rc = top_dir_open(ret, dirname(copy), e);
	free(copy);
	ret->was_made = rc == 0;
	return rc;
}

static int open_new(const struct args *args, struct top_dir *ret, struct err *e)
{
	if (!args->is_dry)
		return top_dir_open_new(ret, args->to, e);
	return access(args->to, F_OK) == 0 ? top_dir_open(ret, args->to, e)
					   : open_parent(ret, args->to, e);
}

static int show(const struct args *args, const struct relocate_view *v, struct err *e)
{
	CLEANUP(screen_rows_fini) struct screen_rows rows;

	screen_rows_begin(&rows, args->format, args->color);
	relocate_put(&rows.out, v);
	return screen_rows_end(&rows, e);
}

static int run_dry(const struct args *args, const struct relocation *r, struct err *e)
{
	CLEANUP(reloc_inventory_fini) struct reloc_inventory s = { 0 };
	struct relocate_view v = { .from = r->old_dir->path, .to = args->to, .inventory = &s };
	int64_t began_ns;
	int rc;

	if (relocation_scan(r, &s, e) < 0)
		return e->code;
	began_ns = clock_mono_ns();
	rc = r->is_dead ? 0 : copy_check(r->old_dir, r->new_dir, &s, &v.tree_bytes, e);
	v.expected_ns = pause_typical_ns(&s, clock_mono_ns() - began_ns);
	if (connections_find(&s, &v.connections, e) < 0 || show(args, &v, e) < 0 || rc < 0)
		return e->code;
	return relocation_check(r, &s, e);
}

/* The job is on NEW: a report that fails is not a failed move. */
static void report(const struct args *args, const struct relocate_view *v)
{
	struct err why = { 0 };

	if (show(args, v, &why) == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		err_errno(&why, "standard output");
	if (!why.code)
		return;
	__fpurge(stdout);
	clearerr(stdout);
	log_msg(LOG_WARN, "relocate", "the job was moved, but the report failed: %s", why.msg);
}

static int move(const struct args *args, struct relocation *r, struct err *e)
{
	CLEANUP(reloc_inventory_fini) struct reloc_inventory s = { 0 };
	CLEANUP(relocate_done_fini) struct relocate_done done = { 0 };
	struct relocate_view v = {
		.from = r->old_dir->path, .to = r->new_dir->path, .inventory = &s, .done = &done
	};
	bool has_progress = isatty(STDERR_FILENO);
	int64_t last_ns = 0;
	int rc;

	if (has_progress) {
		r->copy.progress = show_progress;
		r->copy.progress_self = &last_ns;
	}
	rc = relocate_run(r, &s, &done, e);
	if (last_ns)
		fputs("\r\033[K", stderr);
	if (rc == 0)
		report(args, &v);
	return rc;
}

/* Our own working directory must not keep OLD busy. All paths are open already. */
static int run_between(const struct args *args, struct top_dir *old_dir, struct top_dir *new_dir,
		       struct err *e)
{
	CLEANUP(rows_fini) struct rows pids = { 0 };
	struct relocation r = {
		.old_dir = old_dir,
		.new_dir = new_dir,
		.copy = { .bandwidth = args->bandwidth << 20,
			  .trusts_append = args->trusts_append,
			  .stop = &is_interrupted },
		.is_only = args->is_only,
		.is_found = !args->pids,
		.is_partial = args->is_partial,
		.is_dead = args->is_dead,
		.moves_libs = args->moves_libs,
		.is_checked = args->verify == VERIFY_CHECKSUM,
		.swaps = args->swaps,
		.skips_manager = args->job && !args->enters_manager,
		.max_pause_ns = (int64_t)args->max_pause * 1000000,
	};

	if (find_job(args, old_dir, &pids, e) < 0)
		return e->code;
	r.pids = pids.data;
	r.pid_count = pids.count;
	if (chdir("/") < 0)
		return err_errno(e, "/");
	return args->is_dry ? run_dry(args, &r, e) : move(args, &r, e);
}

static int run_places(const struct args *args, struct err *e)
{
	CLEANUP(top_dir_close) struct top_dir old_dir = { .fd = -1 };
	CLEANUP(top_dir_close) struct top_dir new_dir = { .fd = -1 };
	int rc;

	if (top_dir_open_soon(&old_dir, args->from ? args->from : args->users_of, args->is_dead,
			      e) < 0 ||
	    open_new(args, &new_dir, e) < 0)
		return e->code;
	rc = run_between(args, &old_dir, &new_dir, e);
	/* It is still empty. */
	if (rc < 0 && new_dir.was_made && !args->is_dry)
		(void)top_dir_remove(&new_dir);
	return rc;
}

/* What the child of run_apart() reports. */
struct outcome {
	int rc;
	struct err e;
};

struct outcome_report {
	struct outcome outcome;
	int to;
	pid_t leader;
};

/* Once the first thread has ended, it traces nothing of the job any more. Then ending the process
 * closes files, and storage may keep it. */
static void *end_process(void *self)
{
	const struct outcome_report *r = self;
	const struct timespec tick = { .tv_nsec = 1000000 };
	struct proc_stat stat;

	while (proc_stat_read(&stat, r->leader) && !strchr("ZX", stat.state))
		nanosleep(&tick, NULL);
	(void)!write(r->to, &r->outcome, sizeof r->outcome);
	close(r->to);
	_exit(0);
}

/* Ends the child. Without its descriptors nobody waits for it. */
static _Noreturn void report_outcome(int to, int rc, const struct err *e)
{
	static struct outcome_report report; /* outlives this thread */
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pthread_t thread;

	report = (struct outcome_report){ { rc, *e }, to, getpid() };
	(void)!fflush(stdout);
	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		(void)!dup2(null, fd);
	if (pthread_create(&thread, NULL, end_process, &report) != 0) {
		(void)!write(to, &report.outcome, sizeof report.outcome);
		_exit(0);
	}
	for (;;)
		syscall(SYS_exit, 0); /* of this thread alone */
}

/* Runs in a child: a thread in a call that storage does not answer would keep this process from
 * ending. */
static int run_apart(const struct args *args, struct err *e)
{
	struct outcome o = { 0 };
	int ends[2];
	pid_t child;
	ssize_t got;

	if (pipe2(ends, O_CLOEXEC) < 0 || (child = fork()) < 0)
		return err_errno(e, "fork");
	if (child == 0) {
		close(ends[0]);
		o.rc = run_places(args, &o.e);
		report_outcome(ends[1], o.rc, &o.e);
	}
	close(ends[1]);
	do
		got = read(ends[0], &o, sizeof o);
	while (got < 0 && errno == EINTR);
	close(ends[0]);
	if (got != sizeof o)
		return err_set(e, -EIO, "the process that moved the job has ended");
	*e = o.e;
	return o.rc;
}

static int undo(const struct args *args, struct err *e)
{
	CLEANUP(top_dir_close) struct top_dir new_dir = { .fd = -1 };

	return top_dir_open(&new_dir, args->to, e) < 0 ? e->code : relocate_undo(&new_dir, e);
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .max_pause = 1000 };
	int first, rc = cmd_parse(&cmd_relocate, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (first < argc)
		return err_usage(e, "'%s': relocate takes no operands", argv[first]);
	rc = check_args(&args, e);
	if (rc < 0)
		return rc;
	catch_signals();
	if (args.undoes)
		return undo(&args, e);
	return args.is_dead ? run_apart(&args, e) : run_places(&args, e);
}

const struct cmd cmd_relocate = {
	.name = "relocate",
	.operands = "",
	.summary = "move what a running job has open to new storage, while it runs",
	.verbose = "Also show the parts of the pause, and print each step",
	.opts = opts,
	.run = run,
};

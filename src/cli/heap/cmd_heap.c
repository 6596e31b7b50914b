/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/quote.h"
#include "cli/cmd.h"
#include "cli/heap/summary.h"
#include "cli/size_option.h"
#include "heap/attach.h"
#include "heap/collect.h"
#include "heap/run.h"
#include "source/load.h"
#include "source/record_output.h"
#include "symbol/symbolize.h"
#include "target/runloop.h"

enum { FOLLOW_ALL, FOLLOW_NONE };
static const char *const follows[] = { [FOLLOW_ALL] = "all", [FOLLOW_NONE] = "none", NULL };

struct args {
	const char *output, *sample, *show, *pid;
	bool is_exact, has_mappings, has_python;
	double seconds; /* 0: not given */
	int follow;     /* FOLLOW_ALL, FOLLOW_NONE */
};

static const struct opt opts[] = {
	OPT_OUTPUT('o', "output", "FILE", struct args, output,
		   "Write the profile to FILE [default " DEFAULT_PROFILE
		   "; an older one is renamed]"),
	OPT_STR('p', "pid", "PID", struct args, pid,
		"Record this running process from now on; older blocks are not known"),
	OPT_REAL('d', "duration", "SECONDS", struct args, seconds, 0, 1000000000,
		 "Stop after SECONDS (with -p) [default: at Ctrl-C]"),
	OPT_STR(0, "show", "PID|FILE", struct args, show,
		"Show what a recorded process holds now, or what a heap file or a folder of them has"),
	OPT_STR(0, "sample", "SIZE", struct args, sample,
		"Record about one block in SIZE bytes, such as 512k, and estimate [default: all blocks]"),
	OPT_FLAG(
		0, "exact-peak", struct args, is_exact,
		"Put the allocations of all threads in one order, so that the peak is exact; slower"),
	OPT_FLAG(0, "mmap", struct args, has_mappings,
		 "Record what is mapped, too: mmap, mremap, brk, and the stacks of threads"),
	OPT_CHOICE(0, "follow", "all|none", struct args, follow, follows,
		   "Record the children of the command, too, or the command alone [default all]"),
	OPT_FLAG(0, "python", struct args, has_python,
		 "Let Python allocate each object by malloc, so that it is recorded; slower"),
	OPT_END,
};

static int check_usage(const struct args *args, bool has_command, struct err *e)
{
	if (has_command + !!args->show + !!args->pid != 1)
		return err_usage(e, "whose memory? one of '-- CMD', -p PID and --show PID");
	if (args->seconds > 0 && !args->pid)
		return err_usage(e, "-d goes with -p only; 'timeout SECONDS CMD' ends a command");
	if (args->pid && (args->has_python || args->follow))
		return err_usage(e, "--python and --follow are for commands, not for -p");
	if (args->show && (args->sample || args->is_exact || args->has_mappings ||
			   args->has_python || args->follow))
		return err_usage(e, "--show goes with -o only: how to record is said to '-- CMD'");
	return 0;
}

static void add_comment(struct profile *p, struct buf *text)
{
	if (buf_error(text) < 0)
		profile_fail_nomem(p);
	else if (text->len)
		profile_add_comment(p, text->data);
	buf_clear(text);
}

/* Describes the recording in the profile. argv NULL: auger did not start the process. */
static void put_comments(const struct heap_collection *c, char *const *argv)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	buf_put_str(&text, argv ? "command:" : "");
	for (size_t i = 0; argv && argv[i]; i++) {
		buf_put_byte(&text, ' ');
		quote_argument(&text, argv[i]);
	}
	add_comment(c->profile, &text);
	buf_printf(&text, "heap%s of %zu process%s, lost allocations: %llu",
		   c->has_mappings ? " and mappings" : "", c->process_count,
		   c->process_count == 1 ? "" : "es", (unsigned long long)c->lost);
	if (c->peak_error_bytes)
		buf_printf(&text, ", peak within %llu bytes",
			   (unsigned long long)c->peak_error_bytes);
	add_comment(c->profile, &text);
	profile_add_comment(c->profile, "recorded by: auger " AUGER_VERSION);
}

static int name(struct profile *p, struct err *e)
{
	static const struct symbolize_opts by_path;
	int rc = profile_symbolize(p, &by_path, e);

	if (rc != -ENOMEM || profile_error(p) < 0)
		return rc;
	log_msg(LOG_WARN, "heap",
		"out of memory for names: code is shown by address; 'auger report' names it");
	return 0;
}

/* To standard output, or beside what a command writes there. */
static int print_summary(struct heap_collection *c, const struct heap_summary *s, int fd,
			 struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	int rc = heap_summary_put(&text, c, s, e);

	if (rc == 0)
		rc = file_write_all(fd, text.data, text.len);
	return rc < 0 && !e->code ? err_set(e, rc, "cannot write: %s", strerror(-rc)) : rc;
}

static void warn(const struct heap_collection *c, const struct heap_run *r)
{
	if (!c->process_count)
		log_msg(LOG_WARN, "heap",
			"nothing was recorded: there was no room in %s, or the command did not "
			"load the library",
			r ? r->folder : "the folder");
	if (c->full_count)
		log_msg(LOG_WARN, "heap",
			"no room in %s for all stacks: the rest has none, but is counted",
			r ? r->folder : "the file");
	if (c->living_count && r)
		log_msg(LOG_WARN, "heap",
			"%zu process%s still running: 'auger heap --show %s' shows them at any time",
			c->living_count, c->living_count == 1 ? " is" : "es are", r->folder);
}

/* argv, r: NULL of a process that was attached to. */
static int save_and_print(char *const *argv, const struct record_output *output,
			  const struct heap_run *r, const struct heap_summary *summary,
			  struct heap_collection *c, struct err *e)
{
	int rc;

	put_comments(c, argv);
	rc = name(c->profile, e);
	if (rc == 0)
		rc = record_save(c->profile, output, e);
	if (output->is_quiet && !cmd_is_verbose())
		return rc;
	warn(c, r);
	return rc < 0 ? rc : print_summary(c, summary, STDERR_FILENO, e);
}

static int finish_run(const struct args *args, char *const *argv,
		      const struct record_output *output, const struct heap_run *r,
		      struct heap_collection *c, struct err *e)
{
	const struct heap_summary summary = { .title = "auger: ",
					      .path = record_output_name(output),
					      .has_path = true,
					      .peak_rss_bytes = r->peak_rss_bytes };
	int rc;

	c->only_pid = args->follow == FOLLOW_NONE ? r->pid : 0;
	rc = heap_collect_path(c, r->folder, e);
	if (rc < 0)
		return rc;
	profile_info(c->profile)->time_ns = r->start_ns;
	profile_info(c->profile)->duration_ns = r->duration_ns;
	return save_and_print(argv, output, r, &summary, c, e);
}

/* A failure occurs again at the end, and is reported there. */
static void take_ended(void *collection, const char *folder)
{
	struct err e;

	if (heap_collect_ended(collection, folder, &e) < 0)
		log_msg(LOG_INFO, "heap", "%s", e.msg);
}

/* A profile that cannot be written can be made again. */
static int finish_or_keep(const struct args *args, char *const *argv,
			  const struct record_output *output, const struct heap_run *r,
			  struct heap_collection *c, bool *ret_is_kept, struct err *e)
{
	int rc = finish_run(args, argv, output, r, c, e);

	*ret_is_kept = c->living_count > 0 || rc < 0;
	if (rc < 0)
		log_msg(LOG_WARN, "heap",
			"what was recorded is kept: 'auger heap --show %s -o FILE' writes it",
			r->folder);
	return rc;
}

/* The files of processes that still run are theirs. */
static int record(const struct args *args, struct heap_run_opts o, struct err *e)
{
	struct heap_collection c;
	struct record_output output;
	struct heap_run r = { 0 };
	bool is_kept = false;
	int rc = record_output_init(&output, args->output, e);

	if (rc < 0)
		return rc;
	rc = heap_collection_init(&c, e);
	o.tick = args->follow == FOLLOW_NONE ? NULL : take_ended;
	o.context = &c;
	if (rc == 0)
		rc = heap_run(&o, &r, e);
	if (rc < 0 && r.is_no_exec)
		rc = cmd_exec_failed("heap", e);
	else if (rc == 0)
		rc = finish_or_keep(args, o.argv, &output, &r, &c, &is_kept, e);
	rc = rc == 0 ? r.status : rc;
	heap_run_fini(&r, is_kept);
	heap_collection_fini(&c);
	record_output_fini(&output);
	return rc;
}

/* Digits alone are a process; a file of such a name is "./123". */
static bool is_pid(const char *text, pid_t *ret)
{
	char *end;
	long pid = strtol(text, &end, 10);

	*ret = (pid_t)pid;
	return text[0] >= '0' && text[0] <= '9' && !*end && pid > 0 && pid <= INT32_MAX;
}

/* Until it ends, or the time or a signal says so. The signals come to the loop before the process
 * is recorded, so that none ends us in between. */
static int run_attached(const struct args *args, struct heap_attach_opts *o,
			struct heap_attachment *a, struct err *e)
{
	struct runloop loop;
	int rc = runloop_open(&loop, e);

	if (rc == 0)
		rc = runloop_add_pid(&loop, o->pid, e);
	if (rc == 0)
		rc = heap_attach(o, a, e);
	if (args->seconds > 0)
		loop.end_ns = clock_mono_ns() + (int64_t)(args->seconds * (double)NS_PER_S);
	while (rc == 0 && runloop_step(&loop, RUNLOOP_FOREVER))
		;
	if (rc == 0)
		rc = heap_detach(a, e);
	runloop_close(&loop);
	return rc;
}

static int finish_attached(const struct record_output *output, const struct heap_attachment *a,
			   int64_t start_ns, struct heap_collection *c, struct err *e)
{
	const struct heap_summary summary = { .title = "auger: ",
					      .path = record_output_name(output),
					      .has_path = true,
					      .is_attached = true };
	int rc = heap_collect_fd(c, a->file, "heap file", e);

	if (rc < 0)
		return rc;
	profile_info(c->profile)->time_ns = start_ns;
	profile_info(c->profile)->duration_ns = clock_wall_ns() - start_ns;
	return save_and_print(NULL, output, NULL, &summary, c, e);
}

static int attach(const struct args *args, const struct heap_run_opts *how, struct err *e)
{
	struct heap_attach_opts o = { .sample_bytes = how->sample_bytes,
				      .is_exact = how->is_exact,
				      .has_mappings = how->has_mappings };
	struct heap_attachment a = { .file = -1 };
	struct heap_collection c;
	struct record_output output;
	int64_t start_ns = clock_wall_ns();
	int rc;

	if (!is_pid(args->pid, &o.pid))
		return err_usage(e, "--pid: '%s' is no process", args->pid);
	rc = record_output_init(&output, args->output, e);
	if (rc < 0)
		return rc;
	rc = heap_collection_init(&c, e);
	if (rc == 0)
		rc = run_attached(args, &o, &a, e);
	if (rc == 0)
		rc = finish_attached(&output, &a, start_ns, &c, e);
	heap_attachment_fini(&a);
	heap_collection_fini(&c);
	record_output_fini(&output);
	return rc;
}

static int collect_shown(struct heap_collection *c, const struct args *args, struct err *e)
{
	pid_t pid;
	int rc = is_pid(args->show, &pid) ? heap_collect_pid(c, pid, e)
					  : heap_collect_path(c, args->show, e);

	if (rc == 0 && !c->process_count)
		rc = err_set(e, -ENOENT, "%s: no heap files in it", args->show);
	if (rc < 0)
		return rc;
	put_comments(c, NULL);
	return name(c->profile, e);
}

static int show(const struct args *args, struct err *e)
{
	struct heap_collection c;
	struct heap_summary summary = {
		.title = "", .path = args->output, .has_path = args->output != NULL, .is_live = true
	};
	struct record_output output = { 0 };
	int rc = args->output ? record_output_init(&output, args->output, e) : 0;
	bool owns_stdout = args->output && strcmp(args->output, "-") == 0;

	if (rc < 0)
		return rc;
	rc = heap_collection_init(&c, e);
	if (rc == 0)
		rc = collect_shown(&c, args, e);
	if (rc == 0 && args->output)
		rc = record_save(c.profile, &output, e);
	summary.is_live = c.living_count > 0;
	if (rc == 0)
		warn(&c, NULL);
	if (rc == 0)
		rc = print_summary(&c, &summary, owns_stdout ? STDERR_FILENO : STDOUT_FILENO, e);
	heap_collection_fini(&c);
	record_output_fini(&output);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
	struct heap_run_opts o = { 0 };
	int first, rc = cmd_parse(&cmd_heap, &args, argc, argv, &first, e);

	if (rc == 0)
		rc = check_usage(&args, first < argc, e);
	if (rc == 0 && args.sample)
		rc = size_option_parse("sample", args.sample, &o.sample_bytes, e);
	if (rc < 0)
		return rc;
	if (args.show)
		return show(&args, e);
	o.is_exact = args.is_exact;
	o.has_mappings = args.has_mappings;
	if (args.pid)
		return attach(&args, &o, e);
	o.argv = argv + first;
	o.has_python = args.has_python;
	o.is_alone = args.follow == FOLLOW_NONE;
	o.owns_stdout = args.output && strcmp(args.output, "-") == 0;
	return record(&args, o, e);
}

const struct cmd cmd_heap = {
	.name = "heap",
	.operands = "[--] [CMD [ARG...]]",
	.summary = "record which code allocates memory: what holds the peak, what leaks",
	.verbose = "Also print 25 functions of each kind instead of 5",
	.opts = opts,
	.runs_program = true,
	.run = run,
};

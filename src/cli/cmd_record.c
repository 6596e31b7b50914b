/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/profile_opts.h"
#include "cli/record_words.h"
#include "cli/sampling.h"
#include "sample/comments.h"
#include "sample/recording.h"
#include "source/load.h"
#include "source/record_output.h"
#include "source/spool.h"
#include "symbol/elf/debuginfod.h"
#include "symbol/symbolize.h"

#define NO_LIMIT (-1)

struct args {
	struct sampling_args sampling;
	double seconds; /* NO_LIMIT: not given */
	bool has_off_cpu, has_gil, has_page;
	int waits; /* enum offcpu_method */
	struct opt_list labels;
	const char *output, *raw, *recover, *debuginfod;
};

static const char *const methods[] = { [OFFCPU_METHOD_BEST] = "auto",
				       [OFFCPU_METHOD_BPF] = "bpf",
				       [OFFCPU_METHOD_PERF] = "perf",
				       NULL };

static const struct opt opts[] = {
	OPT_INCLUDE(struct args, sampling, sampling_opts),
	OPT_REAL('d', "duration", "SECONDS", struct args, seconds, 0, 1000000000,
		 "Stop after SECONDS (with -a and -p) [default: at Ctrl-C]"),
	OPT_FLAG(0, "off-cpu", struct args, has_off_cpu,
		 "Record time off the CPU, too, by stack and reason"),
	OPT_FLAG(0, "gil", struct args, has_gil,
		 "Record as --off-cpu does, and label what holds Python's GIL or waits for it"),
	OPT_LIST(0, "label", "cpu|address", struct args, labels,
		 "Label samples with the CPU, or page faults with their addresses; again for more"),
	OPT_CHOICE(
		0, "method", "auto|bpf|perf", struct args, waits, methods,
		"Record time off the CPU by BPF in the kernel, or by perf switch by switch [default auto]"),
	OPT_OUTPUT('o', "output", "FILE", struct args, output,
		   "Write the profile to FILE [default " DEFAULT_PROFILE
		   "; an older one is renamed]"),
	OPT_FLAG(0, "view", struct args, has_page,
		 "Also write the page of 'auger view', named as the profile: auger.html"),
	OPT_OUTPUT(0, "raw", "FILE", struct args, raw,
		   "Keep the kernel's records, too, as a perf.data file"),
	OPT_STR(0, "recover", "SPOOL", struct args, recover,
		"Make the profile of a killed recording from its spool, and record nothing"),
	OPT_STR(0, "debuginfod", "URLS", struct args, debuginfod, DEBUGINFOD_HELP),
	OPT_END,
};

static int take_labels(struct recording_opts *o, const struct opt_list *labels, struct err *e)
{
	for (size_t i = 0; i < labels->count; i++) {
		if (strcmp(labels->items[i], "cpu") == 0)
			o->has_cpu_label = true;
		else if (strcmp(labels->items[i], "address") == 0)
			o->has_address_label = true;
		else
			return err_usage(e, "--label: '%s' is not cpu or address",
					 labels->items[i]);
	}
	return 0;
}

static int take_waits(struct recording_opts *o, const struct args *args, struct err *e)
{
	bool has_off_cpu = args->has_off_cpu || args->has_gil;

	if (has_off_cpu && o->cpus)
		return err_usage(e, "--off-cpu and --cpu do not go together: threads move");
	if (args->waits != OFFCPU_METHOD_BEST && !has_off_cpu)
		return err_usage(e, "--method goes with --off-cpu");
	if (args->waits == OFFCPU_METHOD_BPF && args->raw)
		return err_usage(e, "--method bpf and --raw do not go together: BPF leaves no "
				    "records of the kernel");
	if (args->has_gil && (args->raw || args->waits == OFFCPU_METHOD_PERF))
		return err_usage(e,
				 "--gil goes with neither --raw nor --method perf: it needs BPF");
	if (args->has_gil && o->python != PYTHON_AUTO)
		return err_usage(e, "--gil and --python do not go together");
	o->has_off_cpu = has_off_cpu;
	o->has_gil = args->has_gil;
	o->offcpu_method = (enum offcpu_method)args->waits;
	return 0;
}

static int make_plan(struct sampling_plan *plan, const struct args *args, char **operands,
		     struct err *e)
{
	int rc = sampling_plan(plan, &args->sampling, operands, e);

	if (rc < 0)
		return rc;
	if (args->seconds == 0)
		return err_usage(e, "--duration: 0 seconds are nothing to record");
	if (plan->opts.argv && args->seconds > 0)
		return err_usage(e,
				 "-d does not go with a command; 'timeout SECONDS CMD' ends one");
	rc = take_waits(&plan->opts, args, e);
	if (rc < 0)
		return rc;
	if (args->raw && strcmp(args->raw, args->output ? args->output : DEFAULT_PROFILE) == 0)
		return err_usage(e, "--raw and --output are the same file");
	plan->opts.has_times = true;
	plan->opts.raw = args->raw;
	plan->opts.owns_stdout = args->output && strcmp(args->output, "-") == 0;
	if (args->seconds > 0)
		plan->opts.duration_ns = (int64_t)(args->seconds * (double)NS_PER_S);
	return take_labels(&plan->opts, &args->labels, e);
}

/* What a snapshot is made of. */
struct snapshots {
	struct profile *profile;
	const struct output *output;
	pid_t writer; /* of the last one; 0: none */
};

/* Bytes of a path without the endings of its name. */
static size_t stem_of(const char *path)
{
	const char *dot = strchr(path_base(path), '.');

	return dot ? (size_t)(dot - path) : strlen(path);
}

/* "run.pb.gz": "run.snapshot.pb.gz". */
static int name_snapshot(const char *output, struct buf *ret)
{
	const char *path = strcmp(output, "-") == 0 ? DEFAULT_PROFILE : output;
	size_t stem = stem_of(path);

	buf_put(ret, path, stem);
	buf_put_str(ret, ".snapshot");
	buf_put_str(ret, path + stem);
	return buf_error(ret);
}

static int write_snapshot(const struct snapshots *s, struct recording *c, struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct output output = *s->output;
	int rc = name_snapshot(s->output->path, &path);

	if (rc < 0)
		return err_nomem(e);
	output.path = path.data;
	rc = profile_symbolize(s->profile, &(struct symbolize_opts){ .files = recording_files(c) },
			       e);
	if (rc == 0)
		rc = save_profile(s->profile, &output, e);
	if (rc == 0)
		log_msg(LOG_WARN, "record", "a snapshot is written to %s", path.data);
	return rc;
}

/* Naming takes long, and the rings must be read meanwhile: by a process with a copy of all. */
static void take_snapshot(void *snapshots, struct recording *c)
{
	struct snapshots *s = snapshots;
	struct err e;

	if (s->writer > 0 && waitpid(s->writer, NULL, WNOHANG) == 0) {
		log_msg(LOG_WARN, "record", "the snapshot before is still being written");
		return;
	}
	s->writer = fork();
	if (s->writer < 0)
		log_msg(LOG_WARN, "record", "no snapshot: %s", strerror(errno));
	if (s->writer != 0)
		return;
	if (write_snapshot(s, c, &e) < 0)
		log_msg(LOG_WARN, "record", "no snapshot: %s", e.msg);
	_exit(0);
}

static void end_snapshots(const struct snapshots *s)
{
	if (s->writer > 0)
		waitpid(s->writer, NULL, 0);
}

static bool step_spool(void *spool)
{
	if (*(struct spool **)spool)
		spool_step(*(struct spool **)spool);
	return true;
}

/* What cannot be named for lack of memory is kept by address. */
static int name(struct profile *p, struct recording *c, struct err *e)
{
	int rc = profile_symbolize(p, &(struct symbolize_opts){ .files = recording_files(c) }, e);

	if (rc != -ENOMEM || profile_error(p) < 0)
		return rc;
	log_msg(LOG_WARN, "record",
		"out of memory for names: code is shown by address; 'auger report' names it");
	return 0;
}

/* Of many ranks one prints. */
static bool is_silent(const struct record_output *output)
{
	return output->is_quiet && !cmd_is_verbose();
}

static int record(const struct recording_opts *o, struct recording *c, struct profile *p,
		  const struct record_output *output, struct spool *spool, struct err *e)
{
	struct recording_result result;
	int rc = recording_run(c, &result, e);

	if (rc < 0 && recording_exec_error(c))
		return cmd_exec_failed("record", e);
	if (rc < 0)
		return rc;
	recording_put_result(p, o, c, &result);
	rc = profile_check(p, e);
	if (rc == 0 && spool)
		spool_complete(spool); /* naming takes long, and we may be killed */
	if (rc == 0)
		rc = name(p, c, e);
	if (rc == 0)
		rc = record_save(p, output, e);
	if (rc == 0)
		rc = recording_finish_raw(c, e);
	if (rc < 0)
		return rc;
	if (!is_silent(output)) {
		record_print_summary(p, o, c, &result, record_output_name(output));
		record_print_rank(output);
	}
	return result.status;
}

/* With a spool, which is kept when there is no profile of what was sampled. */
static int record_safely(const struct recording_opts *o, struct recording *c, struct profile *p,
			 const struct record_output *output, struct spool **spool, struct err *e)
{
	int rc;

	recording_put_head(p, o, c);
	*spool = spool_new(output->output.path, p);
	rc = *spool ? record(o, c, p, output, *spool, e) : err_nomem(e);
	spool_free(*spool, rc < 0 && profile_sample_count(p));
	return rc;
}

static int run_plan(const struct sampling_plan *plan, const struct record_output *output,
		    struct err *e)
{
	struct profile *p = profile_new();
	struct recording *c = NULL;
	struct spool *spool = NULL;
	struct snapshots snapshots = { p, &output->output, 0 };
	struct recording_opts recorded = plan->opts;
	int rc;

	if (!p)
		return err_nomem(e);
	recorded.tick = step_spool;
	recorded.tick_context = &spool;
	recorded.snapshot = take_snapshot;
	recorded.snapshot_context = &snapshots;
	recorded.labels = output->labels;
	recorded.label_count = output->label_count;
	rc = recording_new(&recorded, p, &c, e);
	if (rc == 0)
		rc = record_safely(&recorded, c, p, output, &spool, e);
	end_snapshots(&snapshots);
	recording_free(c);
	profile_free(p);
	return rc;
}

/* Of "x.pb.gz.spool" and "x.pb.gz.2.spool": "x.pb.gz". */
static int name_recovered(const char *path, struct buf *ret, struct err *e)
{
	size_t len = strlen(path), digits;

	if (!text_ends_with(path, SPOOL_ENDING) || strcmp(path_base(path), SPOOL_ENDING) == 0)
		return err_usage(e,
				 "--recover: %s does not end with " SPOOL_ENDING
				 ": name the profile by -o",
				 path);
	len -= strlen(SPOOL_ENDING);
	for (digits = len; digits && number_is_digit(path[digits - 1]);)
		digits--;
	if (digits < len && digits > 1 && path[digits - 1] == '.')
		len = digits - 1;
	buf_put(ret, path, len);
	return buf_error(ret) < 0 ? err_nomem(e) : 0;
}

static int save_recovered(const char *spool, const struct output *output, struct err *e)
{
	CLEANUP(buf_fini) struct buf comment = { 0 };
	struct profile *p;
	int rc = load_whole_profile(spool, "pprof", NULL, &p, e);

	if (rc < 0)
		return rc;
	buf_printf(&comment, "recovered from %s: what was sampled until it was written last",
		   path_base(spool));
	if (buf_error(&comment) < 0)
		profile_fail_nomem(p);
	else
		profile_add_comment(p, comment.data);
	rc = profile_check(p, e);
	if (rc == 0)
		rc = save_profile(p, output, e);
	if (rc == 0)
		record_print_recovered(p, output->path);
	profile_free(p);
	return rc;
}

static int recover(const struct args *args, char **operands, struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct output output;
	int rc = 0;

	if (operands[0] || args->sampling.is_all || args->sampling.pids.count)
		return err_usage(e, "--recover records nothing: it takes no command, -a or -p");
	if (!args->output)
		rc = name_recovered(args->recover, &path, e);
	if (rc == 0)
		rc = choose_output(args->output ? args->output : path.data, NULL, "pprof", &output,
				   e);
	if (rc < 0)
		return rc;
	output.is_new = !args->output;
	if (spool_is_active(args->recover))
		log_msg(LOG_WARN, "record", "%s is still being written", args->recover);
	return save_recovered(args->recover, &output, e);
}

static void nobody_reads(int number)
{
	(void)number;
}

/* A pipe without reader that our words go to does not end a recording. With a handler, because
 * the command would inherit that the signal is ignored. */
static void outlive_closed_pipes(void)
{
	const struct sigaction action = { .sa_handler = nobody_reads, .sa_flags = SA_RESTART };
	struct sigaction old;

	if (sigaction(SIGPIPE, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(SIGPIPE, &action, NULL);
}

/* The page of the profile that was written: run.html of run.pb.gz. */
static int write_page(const char *output, struct err *e)
{
	CLEANUP(buf_fini) struct buf page = { 0 }, profile = { 0 };
	char view[] = "view", to[] = "-o", *argv[] = { view, to, NULL, NULL, NULL };

	buf_put_str(&profile, output);
	if (buf_error(&profile) < 0)
		return err_nomem(e);
	for (size_t i = 0; i < stem_of(profile.data); i++)
		buf_put(&page, "%%", 1 + (profile.data[i] == '%')); /* of a pattern: itself */
	buf_put_str(&page, ".html");
	if (buf_error(&page) < 0)
		return err_nomem(e);
	argv[2] = page.data;
	argv[3] = profile.data;
	return cmd_view.run((int)ARRAY_LEN(argv) - 1, argv, e);
}

static int run_record(const struct args *args, char **operands, struct err *e)
{
	struct sampling_plan plan = { 0 };
	struct record_output output = { 0 };
	int rc = make_plan(&plan, args, operands, e), failure = 0;

	if (rc == 0)
		rc = record_output_init(&output, args->output, e);
	if (rc == 0 && is_silent(&output))
		log_hush();
	if (rc == 0)
		rc = run_plan(&plan, &output, e);
	if (rc >= 0 && args->has_page)
		failure = write_page(output.output.path, e);
	record_output_fini(&output);
	sampling_plan_fini(&plan);
	return failure < 0 ? failure : rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .seconds = NO_LIMIT };
	int first, rc = cmd_parse(&cmd_record, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (args.has_page && args.output && strcmp(args.output, "-") == 0)
		return err_usage(e, "--view: name a file with -o");
	outlive_closed_pipes();
	if (args.debuginfod)
		debuginfod_set_urls(args.debuginfod);
	if (!args.recover)
		return run_record(&args, argv + first, e);
	rc = recover(&args, argv + first, e);
	if (rc >= 0 && args.has_page)
		return write_page(args.output ? args.output : DEFAULT_PROFILE, e);
	return rc;
}

const struct cmd cmd_record = {
	.name = "record",
	.operands = "[--] [CMD [ARG...]]",
	.summary = "sample where a command, processes or the machine spend their CPU time",
	.verbose = "Also print how the profile was recorded, and the 25 hottest functions",
	.opts = opts,
	.runs_program = true,
	.run = run,
};

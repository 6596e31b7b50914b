/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "base/output/outfile.h"
#include "cli/cmd.h"
#include "cli/pids.h"
#include "cli/screen.h"
#include "source/save.h"
#include "syscalls/syscalls.h"
#include "view/tables/syscalls_slowest.h"
#include "view/tables/syscalls_table.h"
#include "view/tables/syscalls_trace.h"

struct args {
	struct opt_list pids;
	bool is_all, is_path, is_histogram, is_slowest, is_trace, has_stacks, is_filtered;
	double seconds; /* 0: not given */
	int by;         /* enum syscalls_by */
	int method;     /* enum syscall_method */
	int format;     /* enum emit_format */
	uint64_t limit;
	const char *output, *stacks, *longer;
	struct opt_list names, on_paths;
	bool is_failed;
	struct syscall_selection selection; /* of the three */
};

static const struct opt opts[] = {
	OPT_LIST('p', "pid", "PID,...", struct args, pids,
		 "Trace these running processes, and what they start; again for more"),
	OPT_FLAG('a', "all", struct args, is_all, "Trace all processes of the machine"),
	OPT_REAL('d', "duration", "SECONDS", struct args, seconds, 0, 1000000000,
		 "Stop after SECONDS (with -a and -p) [default: at Ctrl-C]"),
	OPT_LIST(
		'e', "event", "NAME,...", struct args, names,
		"Report only these calls, or of a class: %file, %desc, %network, %process, %memory, "
		"%signal, %ipc; !NAME,...: all others"),
	OPT_LIST('P', "trace-path", "PATH", struct args, on_paths,
		 "Report only calls on PATH or a descriptor of it; again for more"),
	OPT_FLAG(0, "failed", struct args, is_failed, "Report only calls that failed"),
	OPT_STR(0, "longer", "TIME", struct args, longer,
		"Report only calls that took longer, such as 10ms or 50us"),
	OPT_CHOICE(0, "by", "call|thread|process|file|fd|errno", struct args, by, syscalls_by_names,
		   "Split calls by this, besides their name [default call]"),
	OPT_FLAG(0, "path", struct args, is_path, "Show the paths of calls, those not found first"),
	OPT_FLAG(0, "histogram", struct args, is_histogram,
		 "Show how many calls took how long, by powers of two"),
	OPT_FLAG(0, "slowest", struct args, is_slowest,
		 "Show the ten slowest calls with their threads, arguments and results"),
	OPT_FLAG(0, "trace", struct args, is_trace,
		 "Print each call as it happens, with decoded arguments"),
	OPT_FLAG('k', "stack-trace", struct args, has_stacks,
		 "Print the stack of each call below it (with --trace; ptrace)"),
	OPT_OUTPUT(0, "stacks", "FILE", struct args, stacks,
		   "Write a profile of the calls by the code that made them, too"),
	OPT_CHOICE(0, "method", "auto|bpf|perf|ptrace", struct args, method, syscall_methods,
		   "Trace calls by this [default auto: the cheapest that works here]"),
	OPT_FLAG(0, "seccomp", struct args, is_filtered,
		 "Stop CMD at calls with paths only (ptrace, --path); it cannot run without auger"),
	OPT_UINT('n', "rows", "N", struct args, limit, 0, 0,
		 "Show N rows, 0 for all [default 0; 50 with --path, 3 calls with --histogram]"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Write the rows as a table, CSV or JSON [default table]"),
	OPT_OUTPUT(
		'o', "output", "FILE", struct args, output,
		"Write the rows to FILE [default: standard error with CMD, else standard output]"),
	OPT_END,
};

struct target {
	pid_t pids[PIDS_MAX];
	size_t pid_count;
	char *const *argv; /* NULL: no command */
	struct buf words;
};

static int check(const struct args *args, const struct target *t, struct err *e)
{
	if (!!t->argv + (t->pid_count > 0) + args->is_all != 1)
		return err_usage(e, "whose calls? one of '-- CMD', -p PID and -a");
	if (t->argv && args->seconds > 0)
		return err_usage(e,
				 "-d does not go with a command; 'timeout SECONDS CMD' ends one");
	if (args->is_path && args->by != SYSCALLS_BY_CALL)
		return err_usage(e, "--path and --by do not go together");
	if (args->is_trace && (args->is_path || args->is_histogram || args->by != SYSCALLS_BY_CALL))
		return err_usage(e,
				 "--trace prints each call; --by, --path and --histogram sum them");
	if (args->has_stacks && !args->is_trace)
		return err_usage(e, "-k goes with --trace; --stacks FILE writes a profile");
	if (args->is_slowest &&
	    (args->is_trace || args->is_path || args->is_histogram || args->by != SYSCALLS_BY_CALL))
		return err_usage(e, "--slowest shows single calls; it does not go with --trace, "
				    "--by, --path and --histogram");
	if (args->stacks && (args->is_trace || args->is_path || args->by == SYSCALLS_BY_FILE))
		return err_usage(e, "--stacks does not go with --trace, --path or --by file");
	if (args->stacks && (args->is_failed || args->longer || args->on_paths.count))
		return err_usage(e,
				 "--stacks has calls as they begin; --failed, --longer and -P are "
				 "of their ends");
	if (args->is_filtered && !(t->argv && args->is_path && args->method == SYSCALL_PTRACE))
		return err_usage(e, "--seccomp goes with --method ptrace, --path and a command");
	if (args->is_path && args->is_histogram)
		return err_usage(e, "--path and --histogram do not go together");
	return 0;
}

static int name_target(struct target *t, struct err *e)
{
	if (!t->argv && !t->pid_count)
		buf_put_str(&t->words, "all processes");
	for (size_t i = 0; t->argv && t->argv[i]; i++)
		buf_printf(&t->words, "%s%s", i ? " " : "", t->argv[i]);
	for (size_t i = 0; i < t->pid_count; i++)
		buf_printf(&t->words, "%s%d", i ? "," : "process ", (int)t->pids[i]);
	return buf_error(&t->words) < 0 ? err_nomem(e) : 0;
}

/* Standard output is the command's. */
static int write_text(const struct args *args, const struct target *t, const struct buf *text,
		      struct err *e)
{
	int fd = t->argv ? STDERR_FILENO : STDOUT_FILENO, rc;

	if (args->output)
		return outfile_replace(args->output, text->data, text->len, e);
	rc = file_write_all(fd, text->data, text->len);
	return rc < 0 ? err_set(e, rc, "cannot write: %s", strerror(-rc)) : 0;
}

/* Behind the table of sums. */
static bool shows_slowest_too(const struct args *args)
{
	return cmd_is_verbose() && args->format == EMIT_TABLE && !args->is_slowest &&
	       !args->is_trace && !args->is_path && !args->is_histogram;
}

static int show(const struct args *args, const struct target *t, struct syscalls *s,
		const struct syscall_result *r, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	int fd = t->argv ? STDERR_FILENO : STDOUT_FILENO;
	const struct emit_opts o = { .format = (enum emit_format)args->format,
				     .is_verbose = cmd_is_verbose(),
				     .width = args->output ? 0 : screen_width(fd) };
	const struct syscalls_table table = {
		.target = t->words.data,
		.method = syscall_methods[r->method],
		.is_histogram = args->is_histogram,
		.limit = args->limit,
	};
	int rc = args->is_slowest ? syscalls_put_slowest(&o, s, &table, &text, e)
				  : syscalls_put_table(&o, s, &table, &text, e);

	if (rc == 0 && shows_slowest_too(args) && s->slow_count) {
		buf_put_str(&text, "\n");
		rc = syscalls_put_slowest(&o, s, &(struct syscalls_table){ 0 }, &text, e);
	}
	return rc < 0 ? rc : write_text(args, t, &text, e);
}

/* Nothing stands beside JSON and CSV that may go to standard error themselves. */
static void report_method(const struct args *args, const struct syscall_result *r,
			  const struct syscalls *s)
{
	bool is_text = args->format == EMIT_TABLE || args->output;

	if (is_text || cmd_is_verbose())
		fprintf(stderr, "auger: calls seen by %s%s%s%s\n", syscall_methods[r->method],
			r->why[0] ? " (" : "", r->why, r->why[0] ? ")" : "");
	if (s->lost && (is_text || args->is_trace || args->format != EMIT_JSON))
		fprintf(stderr,
			"auger: %llu calls were lost: they came faster than they were read\n",
			(unsigned long long)s->lost);
}

/* Where --trace writes to. */
struct trace {
	struct syscalls_trace text;
	int fd;
	bool owns_fd;
	int error; /* -errno of the first write that failed */
};

static int trace_open(struct trace *t, const struct args *args, const struct profile *stacks,
		      bool has_command, struct err *e)
{
	*t = (struct trace){ .text = { .format = (enum emit_format)args->format, .stacks = stacks },
			     .fd = has_command ? STDERR_FILENO : STDOUT_FILENO };
	if (args->output && strcmp(args->output, "-") == 0) {
		t->fd = STDOUT_FILENO;
	} else if (args->output) {
		int rc = outfile_open_stream(args->output, &t->fd, e);

		if (rc < 0)
			return rc;
		t->owns_fd = true;
	}
	syscalls_trace_head(&t->text);
	return 0;
}

static void trace_flush(struct trace *t)
{
	struct buf *lines = &t->text.lines;

	if (lines->len && !t->error)
		t->error = file_write_all(t->fd, lines->data, lines->len);
	if (!t->error)
		t->error = buf_error(lines);
	buf_clear(lines);
}

static void trace_put(void *context, const struct syscall_decoded *call)
{
	struct trace *t = context;

	syscalls_trace_put(&t->text, call);
	if (!t->text.stacks)
		trace_flush(t);
}

static void trace_release(void *context)
{
	struct trace *t = context;

	syscalls_trace_release(&t->text);
	trace_flush(t);
}

static void trace_close(struct trace *t)
{
	if (t->owns_fd)
		close(t->fd);
	syscalls_trace_fini(&t->text);
}

static int trace_finish(struct trace *t, struct err *e)
{
	trace_flush(t);
	return t->error < 0 ? err_set(e, t->error, "cannot write: %s", strerror(-t->error)) : 0;
}

static int observe(const struct args *args, const struct target *t, struct syscalls *s,
		   struct profile *stacks, struct err *e)
{
	CLEANUP(trace_close) struct trace trace = { .fd = -1 };
	struct syscall_result result = { 0 };
	struct syscall_opts o = {
		.selection = &args->selection,
		.on_paths = args->on_paths.items,
		.on_path_count = args->on_paths.count,
		.method = (enum syscall_method)args->method,
		.argv = t->argv,
		.pids = t->pids,
		.pid_count = t->pid_count,
		.is_all = args->is_all,
		.owns_stdout = args->output && strcmp(args->output, "-") == 0,
		.is_filtered = args->is_filtered,
		.duration_ns = (int64_t)(args->seconds * (double)NS_PER_S),
		.tally = s,
		.stacks = stacks,
	};
	int rc = 0;

	if (args->is_trace) {
		rc = trace_open(&trace, args, stacks, t->argv != NULL, e);
		o.on_call = trace_put;
		o.on_names = trace_release;
		o.traces_stacks = args->has_stacks;
		o.context = &trace;
	}
	if (args->is_filtered)
		log_msg(LOG_WARN, "syscalls",
			"the command cannot run on without auger: if auger is killed, its calls "
			"with paths fail");
	if (rc == 0)
		rc = syscall_run(&o, &result, e);
	if (rc < 0)
		return result.is_no_exec ? cmd_exec_failed("syscalls", e) : rc;
	rc = args->is_trace ? trace_finish(&trace, e) : show(args, t, s, &result, e);
	report_method(args, &result, s);
	return rc < 0 ? rc : result.status;
}

/* With a profile beside the rest. */
static int observe_stacks(const struct args *args, const struct target *t, struct syscalls *s,
			  struct err *e)
{
	struct profile *p = profile_new();
	struct output output;
	int rc = p ? choose_output(args->stacks, NULL, "pprof", &output, e) : err_nomem(e), saved;

	if (rc < 0)
		goto out;
	rc = observe(args, t, s, p, e);
	if (rc < 0 || !profile_type_count(p))
		goto out;
	saved = save_profile(p, &output, e);
	rc = saved < 0 ? saved : rc;
out:
	profile_free(p);
	return rc;
}

static int trace_stacks(const struct args *args, const struct target *t, struct syscalls *s,
			struct err *e)
{
	struct profile *p = profile_new();
	int rc = p ? observe(args, t, s, p, e) : err_nomem(e);

	profile_free(p);
	return rc;
}

static int observe_target(const struct args *args, struct target *t, struct err *e)
{
	struct syscalls s = { 0 };
	enum syscalls_by by = args->is_path ? SYSCALLS_BY_PATH : (enum syscalls_by)args->by;
	int rc = name_target(t, e);

	if (rc == 0 && syscalls_init(&s, by) < 0)
		rc = err_nomem(e);
	s.wants_slowest = args->is_slowest || shows_slowest_too(args);
	if (rc == 0)
		rc = args->has_stacks ? trace_stacks(args, t, &s, e)
		     : args->stacks   ? observe_stacks(args, t, &s, e)
				      : observe(args, t, &s, NULL, e);
	syscalls_fini(&s);
	return rc;
}

/* Whole numbers of ns, us, ms or s. */
static int parse_duration(const char *text, int64_t *ret)
{
	static const struct {
		const char *unit;
		int64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", NS_PER_S } };
	uint64_t number;
	size_t len = number_parse(text, strlen(text), &number);

	for (size_t i = 0; i < ARRAY_LEN(units) && len; i++) {
		if (strcmp(text + len, units[i].unit) != 0)
			continue;
		*ret = (int64_t)number;
		return number > INT32_MAX || !number                    ? -EINVAL
		       : __builtin_mul_overflow(*ret, units[i].ns, ret) ? -EINVAL
									: 0;
	}
	return -EINVAL;
}

static int select_calls(struct args *args, struct err *e)
{
	struct err reason;

	args->selection.is_failed = args->is_failed;
	if (args->longer && parse_duration(args->longer, &args->selection.longer_ns) < 0)
		return err_usage(e, "--longer: '%s' is no time, such as 10ms or 50us",
				 args->longer);
	for (size_t i = 0; i < args->on_paths.count; i++)
		if (!*args->on_paths.items[i])
			return err_usage(e, "-P: a path is empty");
	for (size_t i = 0; i < args->names.count; i++)
		if (syscall_select(&args->selection, args->names.items[i], &reason) < 0)
			return err_usage(e, "-e: %s", reason.msg);
	return 0;
}

/* Rows of a table; of --histogram each has a picture. */
static uint64_t default_limit(const struct args *args)
{
	if (args->format != EMIT_TABLE)
		return 0;
	return args->is_path ? 50 : args->is_histogram ? 3 : 0;
}

static int run(int argc, char **argv, struct err *e)
{
	static const uint64_t unset = UINT64_MAX;
	struct args args = { .limit = unset };
	struct target t = { 0 };
	int first, rc = cmd_parse(&cmd_syscalls, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (args.limit == unset)
		args.limit = default_limit(&args);
	t.argv = first < argc ? argv + first : NULL;
	rc = select_calls(&args, e);
	if (rc == 0)
		rc = pids_parse(&args.pids, t.pids, &t.pid_count, e);
	if (rc == 0)
		rc = check(&args, &t, e);
	if (rc == 0 && args.output && strcmp(args.output, "-") != 0)
		rc = outfile_check(args.output, e);
	if (rc == 0)
		rc = observe_target(&args, &t, e);
	buf_fini(&t.words);
	return rc;
}

const struct cmd cmd_syscalls = {
	.name = "syscalls",
	.operands = "[--] [CMD [ARG...]]",
	.summary = "count and time system calls: by error, thread, file, path and stack",
	.verbose = "Also print which method is used and why no other, and the slowest calls",
	.opts = opts,
	.runs_program = true,
	.run = run,
};

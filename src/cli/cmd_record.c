/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/load.h"
#include "cli/record_output.h"
#include "cli/record_words.h"
#include "collect/cpu.h"

#define DEFAULT_HZ 999
#define MAX_PIDS 1024

struct args {
	struct opt_list events;
	uint64_t frequency_hz, period; /* 0: not given */
	bool is_all;
	struct opt_list pids;
	double seconds; /* 0: no limit */
	bool is_user_only, is_kernel_only;
	const char *cpus, *stack;
	struct opt_list labels;
	const char *output;
};

static const struct opt opts[] = {
	OPT_LIST('e', "event", "EVENT", struct args, events,
		 "what to sample: cycles, cpu-clock, page-faults, GROUP:TRACEPOINT, ... (default "
		 "cycles, or cpu-clock where there are none); again for more"),
	OPT_UINT('F', "frequency", "HZ", struct args, frequency_hz, 1, 1000000,
		 "samples a second and thread (default 999)"),
	OPT_UINT('c', "period", "N", struct args, period, 1, INT64_MAX,
		 "a sample each N events, or nanoseconds of a clock, instead"),
	OPT_FLAG('a', "all", struct args, is_all, "all processes of the machine"),
	OPT_LIST('p', "pid", "PID,...", struct args, pids,
		 "these running processes; again for more"),
	OPT_REAL('d', "duration", "SECONDS", struct args, seconds, 0, 1000000000,
		 "end after this time (with -a and -p; default: by Ctrl-C)"),
	OPT_FLAG(0, "user", struct args, is_user_only, "only user code"),
	OPT_FLAG(0, "kernel", struct args, is_kernel_only, "only the kernel's code"),
	OPT_STR(0, "cpu", "LIST", struct args, cpus, "only on these CPUs, e.g. 0-3,8"),
	OPT_STR('g', "stack", "fp|none", struct args, stack,
		"how stacks are taken: by frame pointers, or not (default fp)"),
	OPT_LIST(0, "label", "cpu", struct args, labels,
		 "label samples with the CPU, besides pid, tid and comm"),
	OPT_STR('o', "output", "FILE", struct args, output,
		"where the profile goes (default " DEFAULT_PROFILE "; an older one is renamed)"),
	OPT_END,
};

/* What the options become; owns what cpu_opts borrows. */
struct plan {
	struct cpu_opts opts;
	struct cpulist cpus;
	pid_t pids[MAX_PIDS];
};

static int wrong_value(struct err *e, const char *option)
{
	const struct err reason = *e;

	return cmd_usage(e, "%s: %s", option, reason.msg);
}

static int take_event(struct cpu_opts *o, const char *text, size_t len, struct err *e)
{
	char name[256];
	int rc;

	if (o->event_count == CPU_EVENTS_MAX)
		return cmd_usage(e, "--event: more than %d events", CPU_EVENTS_MAX);
	if (len >= sizeof name)
		return cmd_usage(e, "--event: no event '%.*s'", (int)len, text);
	memcpy(name, text, len);
	name[len] = '\0';
	rc = event_parse(name, &(struct event_roots){ 0 }, &o->events[o->event_count++], e);
	return rc == -EINVAL ? wrong_value(e, "--event") : rc;
}

/* Commas part events, but not within the slashes of PMU/A=1,B=2/. */
static size_t event_len(const char *text)
{
	bool is_inside = false;
	size_t n = 0;

	for (; text[n] && (is_inside || text[n] != ','); n++)
		is_inside ^= text[n] == '/';
	return n;
}

static int take_events(struct cpu_opts *o, const struct opt_list *events, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < events->count; i++) {
		const char *at = events->items[i];
		size_t len = event_len(at);

		rc = take_event(o, at, len, e);
		while (rc == 0 && at[len]) {
			at += len + 1;
			len = event_len(at);
			rc = take_event(o, at, len, e);
		}
	}
	return rc;
}

static int take_pids(struct plan *plan, const struct opt_list *pids, struct err *e)
{
	for (size_t i = 0; i < pids->count; i++) {
		const char *at = pids->items[i];

		do {
			char *end;
			long pid = strtol(at, &end, 10);

			if (end == at || pid <= 0 || pid > INT32_MAX || (*end && *end != ','))
				return cmd_usage(e, "--pid: '%s' is not a list of process ids",
						 pids->items[i]);
			if (plan->opts.pid_count == MAX_PIDS)
				return cmd_usage(e, "--pid: more than %d processes", MAX_PIDS);
			plan->pids[plan->opts.pid_count++] = (pid_t)pid;
			at = *end ? end + 1 : end;
		} while (*at);
	}
	plan->opts.pids = plan->pids;
	return 0;
}

static int take_stack(struct cpu_opts *o, const char *text, struct err *e)
{
	if (!text || strcmp(text, "fp") == 0)
		o->stack = STACK_FP;
	else if (strcmp(text, "none") == 0)
		o->stack = STACK_NONE;
	else
		return cmd_usage(e, "--stack: '%s' is not fp or none", text);
	return 0;
}

static int take_labels(struct cpu_opts *o, const struct opt_list *labels, struct err *e)
{
	for (size_t i = 0; i < labels->count; i++) {
		if (strcmp(labels->items[i], "cpu") != 0)
			return cmd_usage(e, "--label: '%s' is not cpu", labels->items[i]);
		o->has_cpu_label = true;
	}
	return 0;
}

/* What does not go together. */
static int check(const struct args *args, const struct cpu_opts *o, struct err *e)
{
	if (!o->argv && !o->pid_count && !o->is_all)
		return cmd_usage(e, "what to record? '-- CMD', -p PID or -a");
	if (o->is_all && o->pid_count)
		return cmd_usage(e, "-a and -p do not go together");
	if (o->argv && args->seconds > 0)
		return cmd_usage(e,
				 "-d does not go with a command; 'timeout SECONDS CMD' ends one");
	if (args->frequency_hz && args->period)
		return cmd_usage(e, "-F and -c do not go together");
	if (o->is_user_only && o->is_kernel_only)
		return cmd_usage(e, "--user and --kernel do not go together");
	return 0;
}

static int make_plan(struct plan *plan, const struct args *args, char **operands, struct err *e)
{
	struct cpu_opts *o = &plan->opts;
	int rc;

	o->argv = operands[0] ? operands : NULL;
	o->is_all = args->is_all;
	o->is_user_only = args->is_user_only;
	o->is_kernel_only = args->is_kernel_only;
	o->period = args->period;
	o->frequency_hz = args->frequency_hz ? args->frequency_hz : DEFAULT_HZ;
	o->duration_ns = (int64_t)(args->seconds * (double)NS_PER_S);
	rc = take_pids(plan, &args->pids, e);
	if (rc == 0)
		rc = take_stack(o, args->stack, e);
	if (rc == 0)
		rc = take_labels(o, &args->labels, e);
	if (rc == 0)
		rc = check(args, o, e);
	if (rc == 0 && args->cpus) {
		rc = cpulist_parse(args->cpus, &plan->cpus, e);
		o->cpus = &plan->cpus;
		if (rc == -EINVAL)
			rc = wrong_value(e, "--cpu");
	}
	return rc == 0 ? take_events(o, &args->events, e) : rc;
}

/* 127 and 126, as shells have it. */
static int exec_failed(const struct cpu *c, const struct err *e)
{
	fprintf(stderr, "auger record: %s\n", e->msg);
	return cpu_exec_error(c) == ENOENT ? 127 : 126;
}

static int record(const struct cpu_opts *o, struct cpu *c, struct profile *p, const char *output,
		  struct err *e)
{
	struct cpu_result result;
	int rc = cpu_run(c, &result, e);

	if (rc < 0 && cpu_exec_error(c))
		return exec_failed(c, e);
	if (rc < 0)
		return rc;
	record_put_comments(p, o, c, &result);
	rc = profile_check(p, e);
	if (rc == 0)
		rc = record_write(p, output, e);
	if (rc < 0)
		return rc;
	record_print_summary(p, c, &result, output);
	return result.status;
}

static int run_plan(const struct plan *plan, const char *output, struct err *e)
{
	struct profile *p = profile_new();
	struct cpu *c = NULL;
	int rc;

	if (!p)
		return err_nomem(e);
	rc = record_check_output(output, e);
	if (rc == 0)
		rc = cpu_new(&plan->opts, p, &c, e);
	if (rc == 0)
		rc = record(&plan->opts, c, p, output, e);
	cpu_free(c);
	profile_free(p);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
	struct plan plan = { 0 };
	int first, rc = cmd_parse(&cmd_record, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	rc = make_plan(&plan, &args, argv + first, e);
	if (rc == 0)
		rc = run_plan(&plan, args.output, e);
	cpulist_fini(&plan.cpus);
	return rc;
}

const struct cmd cmd_record = {
	.name = "record",
	.operands = "[--] [CMD [ARG...]]",
	.summary = "sample where a command, processes or the machine spend their CPU time",
	.opts = opts,
	.runs_program = true,
	.run = run,
};

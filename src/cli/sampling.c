/* SPDX-License-Identifier: MIT */
#include "cli/sampling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"

#define DEFAULT_HZ 999
#define DEFAULT_STACK_BYTES 32768 /* 99.6 % of a C++ compiler's stacks; 16384: 98.4 */

static const char *const python_modes
	[] = { [PYTHON_AUTO] = "auto", [PYTHON_READ] = "read", [PYTHON_OFF] = "off", NULL };

const struct opt sampling_opts[] = {
	OPT_LIST(
		'e', "event", "EVENT", struct sampling_args, events,
		"Sample this event: cycles, cpu-clock, page-faults, GROUP:TRACEPOINT, ... [default cycles, or cpu-clock where the machine counts none]; again for more"),
	OPT_UINT('F', "frequency", "HZ", struct sampling_args, frequency_hz, 1, 1000000,
		 "Take HZ samples a second and thread [default 999]"),
	OPT_UINT('c', "period", "N", struct sampling_args, period, 1, INT64_MAX,
		 "Take a sample each N events, or N nanoseconds of a clock"),
	OPT_FLAG('a', "all", struct sampling_args, is_all, "Sample all processes of the machine"),
	OPT_LIST('p', "pid", "PID,...", struct sampling_args, pids,
		 "Sample these running processes; again for more"),
	OPT_FLAG(0, "user", struct sampling_args, is_user_only, "Sample user code only"),
	OPT_FLAG(0, "kernel", struct sampling_args, is_kernel_only, "Sample kernel code only"),
	OPT_STR(0, "cpu", "LIST", struct sampling_args, cpus, "Sample these CPUs only, e.g. 0-3,8"),
	OPT_STR('g', "stack", "dwarf[,BYTES]|fp|none", struct sampling_args, stack,
		"Take stacks by unwinding tables from a copy of BYTES, by frame pointers, or not [default dwarf,32768]"),
	OPT_UINT(0, "stack-size", "BYTES", struct sampling_args, stack_bytes, 8, ATTR_STACK_MAX,
		 "Copy BYTES of the user stack with each sample, like -g dwarf,BYTES"),
	OPT_CHOICE(
		0, "python", "auto|read|off", struct sampling_args, python, python_modes,
		"Name Python functions: by BPF at each sample, or by reading the program's memory [default auto: by BPF where that is permitted]"),
	OPT_FLAG(0, "native", struct sampling_args, has_native,
		 "Show the Python interpreter's own functions, too"),
	OPT_END,
};

static int wrong_value(struct err *e, const char *option)
{
	const struct err reason = *e;

	return err_usage(e, "%s: %s", option, reason.msg);
}

static int take_event(struct recording_opts *o, const char *text, size_t len, struct err *e)
{
	char name[256];
	int rc;

	if (o->event_count == RECORDING_EVENTS_MAX)
		return err_usage(e, "--event: more than %d events", RECORDING_EVENTS_MAX);
	if (len >= sizeof name)
		return err_usage(e, "--event: no event '%.*s'", (int)len, text);
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

static bool has_type_of(const struct recording_opts *o, size_t event)
{
	const char *type = event_sample_type(&o->events[event]);

	for (size_t i = 0; i < o->event_count; i++)
		if (i != event && strcmp(event_sample_type(&o->events[i]), type) == 0)
			return true;
	return false;
}

/* Events that would be added up as one sample type go by their full names: "cpu-clock:u". */
static int tell_apart(struct recording_opts *o, struct err *e)
{
	bool is_alike[RECORDING_EVENTS_MAX];

	for (size_t i = 0; i < o->event_count; i++)
		is_alike[i] = has_type_of(o, i);
	for (size_t i = 0; i < o->event_count; i++)
		if (is_alike[i])
			event_use_full_name(&o->events[i]);
	for (size_t i = 0; i < o->event_count; i++)
		if (has_type_of(o, i))
			return err_usage(e, "--event: '%s' is there twice", o->events[i].name);
	return 0;
}

static int take_events(struct recording_opts *o, const struct opt_list *events, struct err *e)
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
	return rc == 0 ? tell_apart(o, e) : rc;
}

static int wrong_stack(const char *text, struct err *e)
{
	return err_usage(e, "--stack: '%s' is not dwarf, dwarf,BYTES (8 to %d), fp or none", text,
			 ATTR_STACK_MAX);
}

static int take_stack(struct recording_opts *o, const char *text, struct err *e)
{
	unsigned long bytes = DEFAULT_STACK_BYTES;
	char *end;

	if (strncmp(text, "dwarf", 5) == 0 && (!text[5] || text[5] == ',')) {
		o->stack = STACK_DWARF;
		if (text[5])
			bytes = strtoul(text + 6, &end, 10);
		if ((text[5] && *end) || bytes < 8 || bytes > ATTR_STACK_MAX)
			return wrong_stack(text, e);
		o->stack_bytes = (uint32_t)(bytes & ~7ul);
	} else if (strcmp(text, "fp") == 0) {
		o->stack = STACK_FP;
	} else if (strcmp(text, "none") == 0) {
		o->stack = STACK_NONE;
	} else {
		return wrong_stack(text, e);
	}
	return 0;
}

/* What does not go together. */
static int check(const struct sampling_args *args, const struct recording_opts *o, struct err *e)
{
	if (!o->argv && !o->pid_count && !o->is_all)
		return err_usage(e, "what to record? '-- CMD', -p PID or -a");
	if (o->is_all && o->pid_count)
		return err_usage(e, "-a and -p do not go together");
	if (args->stack_bytes &&
	    (o->stack != STACK_DWARF || strchr(args->stack ? args->stack : "", ',')))
		return err_usage(e, "--stack-size goes with -g dwarf");
	if (args->frequency_hz && args->period)
		return err_usage(e, "-F and -c do not go together");
	if (o->is_user_only && o->is_kernel_only)
		return err_usage(e, "--user and --kernel do not go together");
	return 0;
}

static int take_cpus(struct sampling_plan *plan, const char *cpus, struct err *e)
{
	int rc = cpulist_parse(cpus, &plan->cpus, e);

	plan->opts.cpus = &plan->cpus;
	return rc == -EINVAL ? wrong_value(e, "--cpu") : rc;
}

int sampling_plan(struct sampling_plan *plan, const struct sampling_args *args, char **argv,
		  struct err *e)
{
	struct recording_opts *o = &plan->opts;
	int rc;

	o->argv = argv[0] ? argv : NULL;
	o->is_all = args->is_all;
	o->is_user_only = args->is_user_only;
	o->is_kernel_only = args->is_kernel_only;
	o->python = (enum python_mode)args->python;
	o->has_native = args->has_native;
	o->period = args->period;
	o->frequency_hz = args->frequency_hz ? args->frequency_hz : DEFAULT_HZ;
	plan->opts.pids = plan->pids;
	rc = pids_parse(&args->pids, plan->pids, &plan->opts.pid_count, e);
	if (rc == 0)
		rc = take_stack(o, args->stack ? args->stack : "dwarf", e);
	if (rc == 0)
		rc = check(args, o, e);
	if (rc == 0 && args->stack_bytes)
		o->stack_bytes = (uint32_t)(args->stack_bytes & ~UINT64_C(7));
	if (rc == 0 && args->cpus)
		rc = take_cpus(plan, args->cpus, e);
	if (rc == 0)
		rc = take_events(o, &args->events, e);
	for (size_t i = 0; args->frequency_hz && i < o->event_count; i++)
		o->events[i].period = 0;
	return rc;
}

void sampling_plan_fini(struct sampling_plan *plan)
{
	cpulist_fini(&plan->cpus);
}

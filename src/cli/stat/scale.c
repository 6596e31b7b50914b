/* SPDX-License-Identifier: MIT */
#include "cli/stat/scale.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/cmd.h"
#include "target/cgroup.h"
#include "usage/scale_runs.h"
#include "view/tables/scale_table.h"

static int wrong_list(const char *list, struct err *e)
{
	return err_usage(e, "--scale: '%s' is not a list of ascending numbers from 1 to %d", list,
			 COPIES_MAX);
}

static int take_list(struct scale_runs *r, const char *list, struct err *e)
{
	const char *at = list;
	long last = 0;

	do {
		char *end;
		long n = strtol(at, &end, 10);

		if (end == at || (*end && *end != ',') || n <= last || n > COPIES_MAX)
			return wrong_list(list, e);
		if (r->step_count == SCALE_STEPS_MAX)
			return err_usage(e, "--scale: more than %d numbers", SCALE_STEPS_MAX);
		r->steps[r->step_count++].copies = n;
		last = n;
		at = *end ? end + 1 : NULL;
	} while (at);
	return 0;
}

/* The CPUs that we, and the copies, may run on. */
static int find_cpus(struct cpulist *ret, struct err *e)
{
	cpu_set_t *set = CPU_ALLOC(CPULIST_MAX);
	size_t bytes = CPU_ALLOC_SIZE(CPULIST_MAX);
	int rc = 0;

	if (!set)
		return err_nomem(e);
	if (sched_getaffinity(0, bytes, set) < 0)
		rc = err_errno(e, "sched_getaffinity");
	if (rc == 0) {
		ret->cpus = calloc((size_t)CPU_COUNT_S(bytes, set), sizeof *ret->cpus);
		if (!ret->cpus)
			rc = err_nomem(e);
	}
	for (uint32_t cpu = 0; rc == 0 && cpu < CPULIST_MAX; cpu++)
		if (CPU_ISSET_S(cpu, bytes, set))
			ret->cpus[ret->count++] = cpu;
	CPU_FREE(set);
	return rc;
}

/* In thousandths: by the affinity, and by the quota of the control group. */
static int count_cpus(const struct cpulist *cpus, int64_t *ret, struct err *e)
{
	struct cgroup group;
	struct cgroup_usage usage;
	int rc = cgroup_find("self", &group, e);

	if (rc < 0)
		return rc;
	*ret = (int64_t)cpus->count * 1000;
	cgroup_read(&group, &usage);
	if (usage.cpu_quota_ns.has_value && !usage.cpu_quota_ns.is_unlimited &&
	    usage.cpu_period_ns.value > 0) {
		int64_t quota = usage.cpu_quota_ns.value * 1000 / usage.cpu_period_ns.value;

		if (quota > 0 && quota < *ret)
			*ret = quota;
	}
	return 0;
}

static int collect_growth(const struct scale_runs *r, const char *type, struct growth *g,
			  const struct growth **ret, struct err *e)
{
	const struct growth_side before = { r->profiles[0], r->steps[0].copies };
	const struct growth_side after = { r->profiles[r->step_count - 1],
					   r->steps[r->step_count - 1].copies };
	int rc;

	if (!before.profile || !after.profile)
		return 0;
	rc = growth_collect(g, type, &before, &after, e);
	if (rc == 0)
		*ret = g;
	return rc;
}

static int show(const struct scale_runs *r, const struct scale_args *args, int64_t cpus,
		const char *command, struct buf *out, struct err *e)
{
	struct growth cpu = { 0 }, faults = { 0 };
	const char *files[SCALE_FILES_MAX];
	struct scale s = { .command = command,
			   .rounds = (int64_t)args->rounds,
			   .cpus = cpus,
			   .is_pinned = args->is_pinned,
			   .steps = r->steps,
			   .step_count = r->step_count,
			   .event_names = machine_event_names,
			   .files = files,
			   .file_count = r->file_count };
	int rc = 0;

	for (size_t i = 0; i < r->file_count; i++)
		files[i] = r->files[i];
	if (r->step_count > 1)
		rc = collect_growth(r, "cpu", &cpu, &s.cpu, e);
	if (rc == 0 && r->step_count > 1)
		rc = collect_growth(r, GROWTH_FAULTS, &faults, &s.faults, e);
	if (rc == 0)
		rc = scale_table(&args->emit, &s, out, e);
	growth_fini(&cpu);
	growth_fini(&faults);
	return rc;
}

static int join_words(char *const *argv, struct buf *ret, struct err *e)
{
	for (size_t i = 0; argv[i]; i++)
		buf_printf(ret, "%s%s", i ? " " : "", argv[i]);
	return buf_error(ret) < 0 ? err_nomem(e) : 0;
}

int stat_scale(const struct scale_args *args, char *const *argv, struct buf *out, int *ret_status,
	       struct err *e)
{
	CLEANUP(buf_fini) struct buf command = { 0 };
	CLEANUP(cpulist_fini) struct cpulist cpus = { 0 };
	struct scale_runs r = { .argv = argv, .rounds = args->rounds };
	int64_t allowed = 0;
	int rc = take_list(&r, args->list, e);

	if (rc == 0)
		rc = find_cpus(&cpus, e);
	if (rc == 0)
		rc = count_cpus(&cpus, &allowed, e);
	r.pins = args->is_pinned ? &cpus : NULL;
	if (rc == 0)
		rc = join_words(argv, &command, e);
	if (rc == 0)
		rc = scale_runs_make_folder(&r, args->profiles, e);
	if (rc == 0)
		rc = scale_runs_measure(&r, e);
	if (rc == 0 && !r.is_over)
		rc = scale_runs_record(&r, e);
	if (rc == 0 && !r.is_over)
		rc = show(&r, args, allowed, command.data, out, e);
	*ret_status = r.status;
	scale_runs_fini(&r);
	return rc;
}

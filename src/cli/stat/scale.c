/* SPDX-License-Identifier: MIT */
#include "cli/stat/scale.h"

#include <stdlib.h>

#include "cli/cmd.h"
#include "cli/stat/scale_files.h"
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

static int show(const struct scale_runs *r, const struct scale_files *files,
		const struct scale_args *args, int64_t cpus, const char *command, struct buf *out,
		struct err *e)
{
	struct growth cpu = { 0 }, faults = { 0 };
	const struct scale s = { .command = command,
				 .rounds = (int64_t)args->rounds,
				 .cpus = cpus,
				 .is_pinned = args->is_pinned,
				 .steps = r->steps,
				 .step_count = r->step_count,
				 .event_names = machine_event_names };
	struct scale_view v = { .scale = &s,
				.files = (const char *const *)files->files,
				.file_count = files->count };
	int rc = 0;

	if (r->step_count > 1)
		rc = collect_growth(r, "cpu", &cpu, &v.cpu, e);
	if (rc == 0 && r->step_count > 1)
		rc = collect_growth(r, GROWTH_FAULTS, &faults, &v.faults, e);
	if (rc == 0)
		rc = scale_table(&args->emit, &v, out, e);
	growth_fini(&cpu);
	growth_fini(&faults);
	return rc;
}

static int run_and_show(struct scale_runs *r, struct scale_files *files,
			const struct scale_args *args, int64_t cpus, struct buf *out, struct err *e)
{
	CLEANUP(buf_fini) struct buf command = { 0 };
	int rc = scale_files_open(files, args->profiles, e);

	for (size_t i = 0; r->argv[i]; i++)
		buf_printf(&command, "%s%s", i ? " " : "", r->argv[i]);
	if (rc == 0 && buf_error(&command) < 0)
		rc = err_nomem(e);
	if (rc == 0)
		rc = scale_runs_measure(r, e);
	if (rc == 0 && !r->is_over)
		rc = scale_runs_record(r, e);
	if (rc < 0 || r->is_over)
		return rc;
	rc = scale_files_save(files, e);
	return rc < 0 ? rc : show(r, files, args, cpus, command.data, out, e);
}

int stat_scale(const struct scale_args *args, char *const *argv, struct buf *out, int *ret_status,
	       struct err *e)
{
	CLEANUP(cpulist_fini) struct cpulist allowed = { 0 };
	struct scale_runs r = { .argv = argv, .rounds = args->rounds };
	struct scale_files files = { .runs = &r };
	int64_t cpus = 0;
	int rc = take_list(&r, args->list, e);

	if (rc == 0)
		rc = cpulist_allowed(&allowed, e);
	if (rc == 0)
		rc = scale_runs_cpus(&allowed, &cpus, e);
	r.pins = args->is_pinned ? &allowed : NULL;
	if (rc == 0)
		rc = run_and_show(&r, &files, args, cpus, out, e);
	*ret_status = r.status;
	if (rc < 0 && r.exec_error) {
		*ret_status = cmd_exec_failed("stat", e);
		rc = 0;
	}
	scale_files_fini(&files);
	scale_runs_fini(&r);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/* What the metrics of a scaling run say, in words. */
#include <inttypes.h>
#include <math.h>

#include "model/units.h"
#include "view/tables/scale_table.h"

#define LITTLE 0.05       /* of CPU time or its growth: by chance */
#define LOSS_TOLD 0.02    /* of wall time */
#define FOREIGN_TOLD 0.10 /* of the machine */
#define FAULTS_TOLD 1.5   /* times as many */
#define SPREAD_TOLD 2     /* most through least */
#define IPC_TOLD 0.9      /* times as many instructions a cycle */

static double metric(const struct scale_step *s, enum scale_metric f)
{
	return (double)s->metrics[f];
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double cpu_time(const struct scale_step *s)
{
	return metric(s, SCALE_USER) + metric(s, SCALE_SYSTEM);
}

static void put_efficiency(const struct scale *s, const struct scale_step *last, struct buf *to)
{
	buf_printf(
		to,
		"%" PRId64 " copies at once take %.2f times as long as %" PRId64
		": weak-scaling efficiency %.0f %%, %.0f %% of what %g CPU%s can give, %.0f %% by "
		"CPU time\n",
		last->copies, ratio(metric(last, SCALE_WALL), metric(&s->steps[0], SCALE_WALL)),
		s->steps[0].copies, 100 * scale_efficiency(s, last),
		100 * scale_adjusted_efficiency(s, last), (double)s->cpus / 1000,
		s->cpus == 1000 ? "" : "s", 100 * scale_cpu_efficiency(s, last));
}

static double growth_of(const struct scale *s, const struct scale_step *last, enum scale_metric f)
{
	if (last->metrics[f] == SCALE_NONE || s->steps[0].metrics[f] == SCALE_NONE)
		return 0;
	return metric(last, f) - metric(&s->steps[0], f);
}

static void put_loss(const struct scale *s, const struct scale_step *last, struct buf *to)
{
	static const struct {
		enum scale_metric metric;
		const char *words;
	} parts[] = {
		{ SCALE_RUN_WAIT, "waiting for a CPU" },
		{ SCALE_SYSTEM, "system time" },
		{ SCALE_USER, "user time" },
		{ SCALE_BLOCKED, "blocked" },
	};
	double lost = growth_of(s, last, SCALE_WALL), sum = 0;
	bool is_whole = last->metrics[SCALE_BLOCKED] != SCALE_NONE;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		sum += fmax(growth_of(s, last, parts[i].metric), 0);
	buf_put_str(to, is_whole ? "of the " : "a copy takes ");
	units_put(to, (int64_t)lost, "nanoseconds");
	buf_put_str(to, is_whole ? " that a copy takes longer:"
				 : " longer; of what its threads and processes lose together:");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (last->metrics[parts[i].metric] != SCALE_NONE)
			buf_printf(to, "%s %.0f %% %s", i ? "," : "",
				   100 * ratio(fmax(growth_of(s, last, parts[i].metric), 0), sum),
				   parts[i].words);
	buf_put_str(to, "\n");
}

/* Why there was no CPU. */
static void put_crowd(const struct scale *s, const struct scale_step *last, struct buf *to)
{
	double foreign = ratio(metric(last, SCALE_FOREIGN), metric(last, SCALE_CAPACITY));

	if (scale_sharing(s, last) > 1)
		buf_printf(to, "there are more copies (%" PRId64 ") than CPUs to run on (%g)\n",
			   last->copies, (double)s->cpus / 1000);
	if (last->metrics[SCALE_FOREIGN] != SCALE_NONE && foreign >= FOREIGN_TOLD)
		buf_printf(to,
			   "others used %.0f %% of the machine meanwhile: go by the efficiency by "
			   "CPU time\n",
			   100 * foreign);
}

/* row: NULL: none. */
static void put_share(const struct growth_row *row, int64_t whole, struct buf *to)
{
	double share = row ? ratio((double)(row->after - row->before), (double)whole) : 0;

	if (share >= LITTLE)
		buf_printf(to, ": %s under %s, %.0f %% of the growth", row->what, row->function,
			   share > 1 ? 100 : 100 * share); /* others have shrunk */
	buf_put_str(to, "\n");
}

static void put_system(const struct scale_view *v, const struct scale_step *last, struct buf *to)
{
	const struct scale *s = v->scale;
	const struct scale_step *first = &s->steps[0];
	const struct growth_row *row = v->cpu ? growth_most(v->cpu, true) : NULL;

	buf_printf(to, "system time %.0f %% → %.0f %%",
		   100 * ratio(metric(first, SCALE_SYSTEM), cpu_time(first)),
		   100 * ratio(metric(last, SCALE_SYSTEM), cpu_time(last)));
	put_share(row, row ? v->cpu->kernel_after - v->cpu->kernel_before : 0, to);
}

static void put_user(const struct scale_view *v, const struct scale_step *last, struct buf *to)
{
	const struct scale *s = v->scale;
	const struct growth_row *row = v->cpu ? growth_most(v->cpu, false) : NULL;
	int64_t before = v->cpu ? v->cpu->before - v->cpu->kernel_before : 0;
	int64_t after = v->cpu ? v->cpu->after - v->cpu->kernel_after : 0;

	buf_put_str(to, "user time ");
	units_put(to, s->steps[0].metrics[SCALE_USER], "nanoseconds");
	buf_put_str(to, " → ");
	units_put(to, last->metrics[SCALE_USER], "nanoseconds");
	buf_put_str(to, " a copy");
	put_share(row, after - before, to);
}

static void put_ipc(const struct scale *s, const struct scale_step *last, struct buf *to)
{
	const struct scale_step *first = &s->steps[0];
	double before = ratio(metric(first, SCALE_INSTRUCTIONS), metric(first, SCALE_CYCLES));
	double after = ratio(metric(last, SCALE_INSTRUCTIONS), metric(last, SCALE_CYCLES));

	if (before > 0 && after > 0 && after < IPC_TOLD * before)
		buf_printf(to,
			   "%.2f → %.2f instructions a cycle: the copies hinder one another in "
			   "caches, memory or hyper-threads\n",
			   before, after);
}

static void put_growth(const struct scale_view *v, const struct scale_step *last, struct buf *to)
{
	const struct scale *s = v->scale;
	const struct scale_step *first = &s->steps[0];
	double system = growth_of(s, last, SCALE_SYSTEM), user = growth_of(s, last, SCALE_USER);

	if (system + user < LITTLE * cpu_time(first)) {
		buf_printf(to,
			   "a copy uses as much CPU time as before (%+.0f %%): no more is done, "
			   "there is only more waiting\n",
			   100 * ratio(system + user, cpu_time(first)));
		return;
	}
	buf_put_str(to, "CPU time ");
	units_put(to, (int64_t)cpu_time(first), "nanoseconds");
	buf_put_str(to, " → ");
	units_put(to, (int64_t)cpu_time(last), "nanoseconds");
	buf_printf(to, " a copy, %.0f %% of what it grew is system time\n",
		   100 * ratio(fmax(system, 0), fmax(system, 0) + fmax(user, 0)));
	if (system > LITTLE * (system + user))
		put_system(v, last, to);
	if (user > LITTLE * (system + user))
		put_user(v, last, to);
}

static void put_faults(const struct scale_view *v, const struct scale_step *last, struct buf *to)
{
	const struct scale *s = v->scale;
	double before = metric(&s->steps[0], SCALE_MINOR), after = metric(last, SCALE_MINOR);
	double least = metric(last, SCALE_MINOR_LEAST), most = metric(last, SCALE_MINOR_MOST);
	const struct growth_row *row = v->faults && v->faults->count ? v->faults->rows : NULL;

	if (after >= FAULTS_TOLD * before && after - before > 1000) {
		buf_printf(to, "minor faults %.0f → %.0f a copy, %.1f times as many", before, after,
			   ratio(after, before));
		put_share(row, row ? v->faults->after - v->faults->before : 0, to);
	}
	if (most > SPREAD_TOLD * least && most - least > 1000)
		buf_printf(to,
			   "the copies are not alike: %.0f to %.0f minor faults; some were given "
			   "larger pages, or found memory ready\n",
			   least, most);
}

/* Copies that end early are no measure of anything. */
static bool put_failed(const struct scale *s, struct buf *to)
{
	bool has_failed = false;

	for (size_t i = 0; i < s->step_count; i++) {
		const struct scale_step *step = &s->steps[i];

		if (step->metrics[SCALE_FAILED] <= 0)
			continue;
		buf_printf(to, "%s%" PRId64 " of %" PRId64 " cop%s", has_failed ? ", " : "",
			   step->metrics[SCALE_FAILED], step->copies,
			   step->copies == 1 ? "y" : "ies");
		has_failed = true;
	}
	if (has_failed)
		buf_put_str(to, " failed: the numbers do not show how the command scales\n");
	return has_failed;
}

void scale_summary(const struct scale_view *v, struct buf *to)
{
	const struct scale *s = v->scale;
	const struct scale_step *last = &s->steps[s->step_count - 1];

	if (s->step_count < 2)
		return;
	if (put_failed(s, to))
		return;
	put_efficiency(s, last, to);
	if (growth_of(s, last, SCALE_WALL) < LOSS_TOLD * metric(&s->steps[0], SCALE_WALL)) {
		buf_put_str(to, "the copies do not hinder one another\n");
		return;
	}
	put_loss(s, last, to);
	put_crowd(s, last, to);
	put_growth(v, last, to);
	put_ipc(s, last, to);
	put_faults(v, last, to);
}

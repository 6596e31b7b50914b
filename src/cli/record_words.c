/* SPDX-License-Identifier: MIT */
#include "cli/record_words.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/rows.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "cli/top_functions.h"
#include "model/merge.h"
#include "model/units.h"
#include "model/wait_frames.h"
#include "sample/attr.h"
#include "sample/comments.h"
#include "source/load.h"
#include "view/activity.h"
#include "view/stacks.h"

#define HOTTEST 5 /* functions in the summary */
#define HOTTEST_VERBOSE 25
#define CLASS_PERCENT 1.0          /* less is not shown of a class of activity */
#define CALL_COLUMNS 40            /* of a function in it */
#define MANY 20                    /* one in so many stacks is not complete: 5 % */
#define UNSEEN_PERCENT 5.0         /* of the CPU time: said when so much was not sampled */
#define WAITING_SHARE 0.8          /* of the duration: with less CPU time it is said to wait */
#define WAITING_NS (NS_PER_S / 10) /* a shorter recording is not said to wait */
#define SHORT_PERIODS 3            /* with less CPU time, no sample is no surprise */

static size_t distinct_stacks(const struct profile *p, const struct recording *c)
{
	size_t nodes = profile_node_count(p), count = 0;
	unsigned char *seen = calloc(nodes, 1);

	for (size_t i = 0; seen && i < profile_sample_count(p); i++) {
		struct sample s = profile_get_sample(p, i);
		bool is_sampled = false;

		for (size_t event = 0; event < recording_event_count(c); event++)
			is_sampled |= s.values[1 + event] != 0; /* neither lost nor waited */
		count += is_sampled && !seen[s.node];
		seen[s.node] |= is_sampled;
	}
	free(seen);
	return count;
}

static void put_first_line(struct buf *out, const struct profile *p, const struct recording *c,
			   const struct recording_result *r)
{
	size_t stacks = distinct_stacks(p, c);

	units_put_grouped(out, r->counts.samples);
	buf_put_str(out, r->counts.samples == 1 ? " sample of " : " samples of ");
	for (size_t i = 0; i < recording_event_count(c); i++)
		buf_printf(out, "%s%s", i ? " and " : "", recording_event(c, i)->name);
	buf_put_str(out, " in ");
	units_put(out, r->duration_ns, "nanoseconds");
	buf_put_str(out, ", ");
	units_put_grouped(out, stacks);
	buf_put_str(out, stacks == 1 ? " distinct stack, " : " distinct stacks, ");
	if (r->counts.lost)
		units_put_grouped(out, r->counts.lost);
	buf_put_str(out, r->counts.lost ? " LOST" : "none lost");
	buf_put_str(out, "; recording took ");
	units_put(out, r->own_ns, "nanoseconds");
	buf_put_str(out, " of CPU\n");
}

/* CPU time that the samples of the first event stand for. */
static int64_t sampled_ns(const struct profile *p)
{
	int64_t sum = 0;

	for (size_t i = 0; i < profile_sample_count(p); i++)
		sum = stacks_add(sum, profile_get_sample(p, i).values[1]);
	return sum;
}

/* How much of the command's CPU time no sample stands for, when it is much. */
static void put_unseen(struct buf *out, const struct profile *p, const struct recording_opts *o,
		       const struct recording *c, const struct recording_result *r)
{
	int64_t sampled = sampled_ns(p);

	if (!recording_event(c, 0)->is_clock || r->target_ns < NS_PER_S / 10 ||
	    r->counts.samples == 0)
		return;
	if (!recording_has_kernel(c) || o->is_kernel_only || o->cpus ||
	    recording_event(c, 0)->is_user_only || recording_event(c, 0)->is_kernel_only)
		return; /* only a part was to be sampled */
	if ((double)sampled < (1 - UNSEEN_PERCENT / 100) * (double)r->target_ns) {
		buf_printf(
			out,
			"  %.0f %% of the CPU time was not sampled: of processes that live less "
			"than a period few are seen; -F raises the rate, as root more are seen\n",
			100 - 100 * (double)sampled / (double)r->target_ns);
	}
}

/* The CPU time of what is recorded when it is known; 0: unknown. */
static int64_t cpu_ns(const struct profile *p, const struct recording_opts *o,
		      const struct recording *c, const struct recording_result *r)
{
	if (o->is_all || o->cpus)
		return 0;
	if (r->target_ns)
		return r->target_ns;
	return recording_event(c, 0)->is_clock && recording_has_kernel(c) ? sampled_ns(p) : 0;
}

/* A program that mostly waits: its CPU samples are not where its time goes. */
static void put_waiting(struct buf *out, const struct profile *p, const struct recording_opts *o,
			const struct recording *c, const struct recording_result *r)
{
	int64_t cpu = cpu_ns(p, o, c, r);

	if (o->has_off_cpu || !cpu || r->duration_ns < WAITING_NS ||
	    (double)cpu > WAITING_SHARE * (double)r->duration_ns)
		return;
	buf_put_str(out, "  CPU ");
	units_put(out, cpu, "nanoseconds");
	buf_put_str(out, " of ");
	units_put(out, r->duration_ns, "nanoseconds");
	buf_put_str(out, "; the rest was waiting: --off-cpu shows it\n");
}

/* Time between two samples of the first event; 0: it is not a clock. */
static int64_t period_ns(const struct recording_opts *o, const struct recording *c)
{
	const struct event *event = recording_event(c, 0);
	uint64_t hz = recording_frequency(c);

	if (!event->is_clock)
		return 0;
	return hz ? NS_PER_S / (int64_t)hz : (int64_t)event_period(event, o->period);
}

static void put_no_command_samples(struct buf *out, const struct recording_opts *o,
				   const struct recording *c, const struct recording_result *r)
{
	int64_t period = period_ns(o, c);

	buf_put_str(out, "  no sample: the command used ");
	units_put(out, r->target_ns, "nanoseconds");
	buf_put_str(out, " of CPU");
	if (r->target_ns < SHORT_PERIODS * period) {
		buf_put_str(out, ", and there is one sample each ");
		units_put(out, period, "nanoseconds");
		buf_put_str(out, "; -F raises the rate\n");
	} else if (geteuid() == 0 && recording_has_kernel(c)) {
		buf_put_str(out, ", in processes that live less than a period, or not in what is "
				 "recorded\n");
	} else {
		buf_printf(out,
			   ": if not %s, it is setuid or unreadable, and only root may sample it\n",
			   recording_has_kernel(c) ? "in processes that live less than a period"
						   : "in the kernel");
	}
}

/* Why there is no sample. */
static void put_no_samples(struct buf *out, const struct recording_opts *o,
			   const struct recording *c, const struct recording_result *r)
{
	if (!recording_event(c, 0)->is_clock) {
		buf_printf(out, "  no sample: %s %s\n", recording_event(c, 0)->name,
			   event_period(recording_event(c, 0), o->period) == 1
				   ? "did not happen"
				   : "happened less often than one sample takes");
	} else if (r->target_ns) {
		put_no_command_samples(out, o, c, r);
	} else if (o->pid_count && kill(o->pids[0], 0) < 0 && errno == ESRCH) {
		buf_put_str(out, "  no sample: the process exited before it ran for a period\n");
	} else if (o->cpus) {
		buf_put_str(out, "  no sample: it did not run on these CPUs\n");
	} else {
		buf_printf(out, "  no sample: it did not run on a CPU%s\n",
			   o->has_off_cpu ? "" : "; --off-cpu shows what it waited for");
	}
}

/* What helps when many stacks are not complete. */
static void put_remedies(struct buf *out, const struct recording_opts *o, const struct recording *c,
			 const struct recording_result *r)
{
	const struct user_stack_counts *n = &r->counts.user;
	uint64_t all = n->complete + n->linked + n->joined + n->truncated + n->broken;

	/* less than asked for: the rings have no room for more */
	if (n->truncated * MANY > all && recording_stack_bytes(c) == o->stack_bytes &&
	    o->stack_bytes < ATTR_STACK_MAX)
		buf_printf(out,
			   "  %llu stacks end in [truncated]: they are larger than the %u bytes "
			   "that were copied; --stack-size %d copies more\n",
			   (unsigned long long)n->truncated, recording_stack_bytes(c),
			   ATTR_STACK_MAX);
	if (n->broken * MANY > all)
		buf_put_str(out, "  broken stacks end in code that has neither unwinding tables "
				 "nor frame pointers\n");
}

/* What is missing from the profile. */
static void put_caveats(struct buf *out, const struct profile *p, const struct recording_opts *o,
			const struct recording *c, const struct recording_result *r)
{
	const struct ingest_counts *n = &r->counts;

	if (n->throttled)
		buf_printf(out,
			   "  the kernel paused sampling %llu time%s "
			   "(kernel.perf_event_max_sample_rate, perf_cpu_time_max_percent)\n",
			   (unsigned long long)n->throttled, n->throttled == 1 ? "" : "s");
	if (n->lost_side)
		buf_printf(out, "  %llu %s of new mappings %s lost: frames may be unknown\n",
			   (unsigned long long)n->lost_side,
			   n->lost_side == 1 ? "record" : "records",
			   n->lost_side == 1 ? "is" : "are");
	if (n->bad)
		buf_printf(out, "  %llu record%s could not be understood: samples may be missing\n",
			   (unsigned long long)n->bad, n->bad == 1 ? "" : "s");
	if (n->cut)
		buf_printf(out,
			   "  %llu stacks are cut at their outer end; 'sysctl "
			   "kernel.perf_event_max_stack=1000' lets the kernel walk further\n",
			   (unsigned long long)n->cut);
	put_remedies(out, o, c, r);
	put_unseen(out, p, o, c, r);
	if (r->counts.samples == 0)
		put_no_samples(out, o, c, r);
	put_waiting(out, p, o, c, r);
}

/* "mpi" as people write it. */
static const char *family_name(const char *family)
{
	static const char *const names[][2] = { { ACTIVITY_MPI, "MPI" },
						{ "openmp", "OpenMP waits" },
						{ "gpu", "GPU" } };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i][0], family) == 0)
			return names[i][1];
	return family;
}

static void put_function_name(struct buf *out, const struct profile *p, uint32_t function)
{
	CLEANUP(buf_fini) struct buf name = { 0 };

	activity_put_name(&name, profile_text(p, profile_get_function(p, function)->name));
	if (buf_error(&name) < 0)
		out->bad = true;
	else
		top_functions_put_name(out, name.len ? name.data : "", CALL_COLUMNS);
}

/* " (MPI_Allreduce in solve 24 %)" */
static void put_call(struct buf *out, const struct profile *p, const struct activity_sum *sum,
		     int64_t total)
{
	double percent = 100 * (double)sum->call_value / (double)total;

	if (!sum->operation || percent < CLASS_PERCENT)
		return;
	buf_put_str(out, " (");
	put_function_name(out, p, sum->operation);
	if (sum->caller) {
		buf_put_str(out, " in ");
		put_function_name(out, p, sum->caller);
	}
	buf_printf(out, " %.0f %%)", percent);
}

/* What the time was spent on: "compute 61 %, MPI 27 % (MPI_Allreduce in solve 24 %)". Nothing when
 * all is compute. */
static int put_classes(struct buf *out, const struct profile *p, size_t type, struct err *e)
{
	CLEANUP(activity_fini) struct activity rules = { 0 };
	CLEANUP(rows_fini) struct rows sums = { 0 };
	const struct activity_sum *sum;
	int rc = activity_add_ours(&rules, e);
	int64_t total = 0;

	if (rc == 0)
		rc = activity_sum(p, &rules, type, &sums, e);
	sum = sums.data;
	for (size_t i = 0; rc == 0 && i < sums.count; i++)
		total = stacks_add(total, sum[i].value);
	if (sums.count == 1 && strcmp(sum[0].family, ACTIVITY_OTHER) == 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < sums.count; i++) {
		double percent = 100 * (double)sum[i].value / (double)total;

		if (i && percent < CLASS_PERCENT)
			break;
		buf_printf(out, "%s%s %.0f %%", i ? ", " : "  ", family_name(sum[i].family),
			   percent);
		put_call(out, p, &sum[i], total);
	}
	if (sums.count)
		buf_put_byte(out, '\n');
	return rc;
}

static void put_activities(struct buf *out, const struct profile *p)
{
	struct err e;

	if (put_classes(out, p, profile_default_type(p), &e) < 0)
		buf_printf(out, "  %s\n", e.msg);
}

static int put_hottest(struct buf *out, const struct profile *p, size_t type, struct err *e)
{
	return top_functions_put(out, p, type, cmd_is_verbose() ? HOTTEST_VERBOSE : HOTTEST, false,
				 e);
}

/* The functions that waited longest, each with its reason. */
static int put_longest_waits(struct buf *out, const struct profile *p, struct err *e)
{
	struct profile *charged = profile_new();
	int rc = charged ? profile_merge(charged, p, NULL, 0, e) : err_nomem(e);

	if (rc == 0)
		rc = profile_charge_waits(&charged, WAIT_LEAF_NAMED, e);
	if (rc == 0)
		rc = put_hottest(out, charged, (size_t)profile_find_type(charged, "offcpu"), e);
	profile_free(charged);
	return rc;
}

static void put_next_steps(struct buf *out, const char *path)
{
	const char *file = path ? path : DEFAULT_PROFILE;

	if (strcmp(file, "-") == 0)
		return;
	buf_put_str(out, "next: auger report");
	if (path) {
		buf_put_byte(out, ' ');
		quote_argument(out, path);
	}
	buf_put_str(out, "   or   auger flame ");
	if (path) {
		quote_argument(out, path);
		buf_put_byte(out, ' ');
	}
	buf_put_str(out, "-o flame.svg\n");
}

/* To standard error; names are what others chose. */
static void put_visible(const struct buf *out)
{
	CLEANUP(buf_fini) struct buf visible = { 0 };

	if (buf_error(out) == 0)
		utf8_put_valid(&visible, out->data, out->len);
	if (buf_error(&visible) == 0 && visible.len)
		fputs(visible.data, stderr);
}

/* The hottest functions, or the longest waits, and the next steps; then all of it goes to standard
 * error. */
static void put_end(struct buf *out, const struct profile *p, const char *path)
{
	struct err e;
	int rc = profile_find_type(p, "offcpu") >= 0
			 ? put_longest_waits(out, p, &e)
			 : put_hottest(out, p, profile_default_type(p), &e);

	if (rc < 0)
		buf_printf(out, "  %s\n", e.msg);
	put_next_steps(out, path);
	put_visible(out);
}

void record_print_summary(const struct profile *p, const struct recording_opts *o,
			  const struct recording *c, const struct recording_result *r,
			  const char *path)
{
	CLEANUP(buf_fini) struct buf out = { 0 };

	for (size_t i = 0; cmd_is_verbose() && i < profile_comment_count(p); i++)
		buf_printf(&out, "auger: %s\n", profile_get_comment(p, i));
	buf_put_str(&out, "auger: ");
	put_first_line(&out, p, c, r);
	put_activities(&out, p);
	if (recording_has_stacks(r)) {
		buf_put_str(&out, "  ");
		recording_put_stacks(&out, c, r);
		buf_put_byte(&out, '\n');
	}
	if (recording_has_python(r)) {
		buf_put_str(&out, "  ");
		recording_put_python(&out, r);
		buf_put_byte(&out, '\n');
	}
	if (r->counts.waits.waits) {
		buf_put_str(&out, "  ");
		recording_put_waits(&out, r);
		buf_put_byte(&out, '\n');
	}
	put_caveats(&out, p, o, c, r);
	put_end(&out, p, path);
}

void record_print_rank(const struct record_output *output)
{
	CLEANUP(buf_fini) struct buf out = { 0 }, folder = { 0 };
	const struct job_place *place = &output->place;
	const char *path = output->output.path;

	if (!place->is_parallel)
		return;
	buf_printf(&out, "  this is rank %s", place->rank);
	if (*place->size)
		buf_printf(&out, " of %s", place->size);
	buf_put(&folder, path, path_folder_len(path));
	if (!output->is_named && buf_error(&folder) == 0) {
		buf_put_str(&out, "; all of them: auger report --by rank ");
		quote_argument(&out, folder.data);
	}
	buf_put_byte(&out, '\n');
	put_visible(&out);
}

void record_print_recovered(const struct profile *p, const char *path)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	size_t stacks = profile_sample_count(p);

	buf_put_str(&out, "auger: ");
	units_put_grouped(&out, stacks);
	buf_put_str(&out, stacks == 1 ? " stack of " : " stacks of ");
	units_put(&out, profile_get_info(p)->duration_ns, "nanoseconds");
	buf_put_str(&out, " are recovered\n");
	put_activities(&out, p);
	put_end(&out, p, path);
}

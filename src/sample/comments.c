/* SPDX-License-Identifier: MIT */
#include "sample/comments.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "interp/python_layout.h"
#include "model/units.h"

#define WORST 3 /* files with broken stacks */

static void put_who(struct buf *out, const struct recording_opts *o)
{
	buf_put_str(out, o->pid_count ? "processes:" : "processes: all");
	for (size_t i = 0; i < o->pid_count; i++)
		buf_printf(out, " %d", (int)o->pids[i]);
}

/* "cpu-clock, 999 Hz, frame pointers, user code only" */
static void put_how(struct buf *out, const struct recording_opts *o, const struct recording *c)
{
	uint64_t period = event_period(recording_event(c, 0), o->period);

	for (size_t i = 0; i < recording_event_count(c); i++)
		buf_printf(out, "%s%s", i ? " and " : "", recording_event(c, i)->name);
	if (period == 1)
		buf_put_str(out, ", each one");
	else if (period)
		buf_printf(out, ", each %llu", (unsigned long long)period);
	else
		buf_printf(out, ", %llu Hz", (unsigned long long)recording_frequency(c));
	if (o->stack == STACK_DWARF)
		buf_printf(out, ", stacks by unwinding tables from %u bytes",
			   recording_stack_bytes(c));
	else
		buf_put_str(out,
			    o->stack == STACK_FP ? ", stacks by frame pointers" : ", no stacks");
	if (!recording_has_kernel(c))
		buf_put_str(out, ", user code only");
	if (o->is_kernel_only)
		buf_put_str(out, ", kernel code only");
}

/* Moves the text of out to a comment, if there is any. */
static void add_comment(struct profile *p, struct buf *out)
{
	CLEANUP(buf_fini) struct buf line = { 0 };

	if (!out->len)
		return;
	utf8_put_visible(&line, out->data, out->len);
	if (line.data)
		profile_add_comment(p, line.data);
	buf_clear(out);
}

static void put_counts(struct buf *out, const struct recording_result *r)
{
	const struct ingest_counts *n = &r->counts;

	buf_printf(out, "samples: %llu, lost: %llu", (unsigned long long)n->samples,
		   (unsigned long long)n->lost);
	if (n->lost_side)
		buf_printf(out, ", lost records of processes: %llu",
			   (unsigned long long)n->lost_side);
	if (n->throttled)
		buf_printf(out, ", times throttled: %llu", (unsigned long long)n->throttled);
	if (n->cut)
		buf_printf(out, ", stacks cut at kernel.perf_event_max_stack: %llu",
			   (unsigned long long)n->cut);
	if (n->unknown)
		buf_printf(out, ", frames in unknown code: %llu", (unsigned long long)n->unknown);
	if (n->bad)
		buf_printf(out, ", broken records: %llu", (unsigned long long)n->bad);
}

/* How many user stacks reach the program's start, and why others do not. */
void recording_put_stacks(struct buf *out, const struct recording *c,
			  const struct recording_result *r)
{
	uint64_t times;
	size_t shown = 0;

	user_stack_put_counts(out, &r->counts.user);
	for (; shown < WORST; shown++) {
		const char *name = recording_worst(c, shown, &times);

		if (!times)
			break;
		buf_printf(out, "%s%s: %llu", shown ? ", " : " (", path_base(name),
			   (unsigned long long)times);
	}
	if (shown)
		buf_put_byte(out, ')');
}

/* "3.68 s in 1,234 waits: 92.1 % sleeping, 7.9 % preempted" */
void recording_put_waits(struct buf *out, const struct recording_result *r)
{
	const struct offcpu_counts *n = &r->counts.waits;
	uint64_t all = 0;
	unsigned shown = 0;

	for (size_t i = 0; i < OFFCPU_STATES; i++)
		all += n->ns[i];
	buf_put_str(out, "off the CPU: ");
	units_put(out, (int64_t)all, "nanoseconds");
	buf_put_str(out, " in ");
	units_put_grouped(out, n->waits);
	buf_put_str(out, n->waits == 1 ? " wait" : " waits");
	for (size_t i = 0; i < OFFCPU_STATES; i++)
		if (n->ns[i])
			buf_printf(out, "%s%.1f %% %s", shown++ ? ", " : ": ",
				   100 * (double)n->ns[i] / (double)all, offcpu_state_names[i]);
	if (n->before)
		buf_printf(out, "; %llu began before the recording", (unsigned long long)n->before);
	if (n->unfinished)
		buf_printf(out, "%s %llu unfinished at its end", n->before ? "," : ";",
			   (unsigned long long)n->unfinished);
	if (n->cut)
		buf_printf(out, "; stacks of %llu cut", (unsigned long long)n->cut);
	if (n->lost)
		buf_printf(out, "; begin or end of %llu lost", (unsigned long long)n->lost);
	if (r->counts.lost_waits)
		buf_printf(out, "; LOST records: %llu", (unsigned long long)r->counts.lost_waits);
}

/* Pythons whose frames are not known. */
static void put_refused(struct buf *out, const struct python_counts *n)
{
	if (n->is_free_threaded)
		buf_put_str(out, "; builds of Python without the GIL are shown by their own code");
	else if (n->is_refused)
		buf_printf(
			out,
			"; of Python, 3.%d to 3.%d are known: others are shown by their own code",
			PYTHON_MINOR_MIN, PYTHON_MINOR_MAX);
}

bool recording_has_python(const struct recording_result *r)
{
	return r->python.is_seen && (r->counts.interp.merged || r->counts.interp.native ||
				     r->python.is_refused || r->python.is_free_threaded);
}

/* "python: 99.8 % of 1,234 samples have its frames, by BPF; ..." */
void recording_put_python(struct buf *out, const struct recording_result *r)
{
	const struct ingest_interp_counts *n = &r->counts.interp;
	const struct python_counts *p = &r->python;
	uint64_t all = n->merged + n->native;

	buf_put_str(out, "python: ");
	if (all)
		buf_printf(out, "%.1f %% of ",
			   (double)(n->merged * 1000 / all) / 10); /* rounded down: 100 is all */
	units_put_grouped(out, all);
	buf_put_str(out, all == 1 ? " sample in it has" : " samples in it have");
	buf_put_str(out, " its functions");
	if (p->method != PYTHON_METHOD_NONE)
		buf_put_str(out,
			    p->method == PYTHON_METHOD_BPF ? ", by BPF" : ", read from memory");
	if (n->misfit)
		buf_printf(out, "; in %llu the order of native ones is open",
			   (unsigned long long)n->misfit);
	if (p->lost)
		buf_printf(out, "; LOST: %llu", (unsigned long long)p->lost);
	if (p->method == PYTHON_METHOD_READ && p->reason[0])
		buf_printf(out, " (no BPF: %s)", p->reason);
	put_refused(out, p);
}

bool recording_has_stacks(const struct recording_result *r)
{
	const struct user_stack_counts *n = &r->counts.user;

	return n->complete + n->linked + n->joined + n->truncated + n->broken > 0;
}

static void put_host(struct buf *out, const struct recording *c)
{
	struct utsname host;

	if (uname(&host) == 0)
		buf_printf(out, "host: %s, %s %s %s, %zu of %ld CPUs", host.nodename, host.sysname,
			   host.release, host.machine, recording_cpu_count(c),
			   sysconf(_SC_NPROCESSORS_ONLN));
}

void recording_put_head(struct profile *p, const struct recording_opts *o,
			const struct recording *c)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct profile_info *info = profile_info(p);
	const struct event *event = recording_event(c, 0);

	info->time_ns = clock_wall_ns();
	info->period_type.type = profile_str(p, event_sample_type(event));
	info->period_type.unit = profile_str(p, event->unit);
	info->period = (int64_t)event_period(event, o->period);
	if (!info->period && event->is_clock)
		info->period = NS_PER_S / (int64_t)recording_frequency(c);
	for (size_t i = 0; o->argv && o->argv[i]; i++) {
		buf_put_str(&out, i ? " " : "command: ");
		quote_argument(&out, o->argv[i]);
	}
	add_comment(p, &out);
	if (!o->argv || o->is_all || o->pid_count)
		put_who(&out, o);
	add_comment(p, &out);
	put_how(&out, o, c);
	add_comment(p, &out);
	put_host(&out, c);
	add_comment(p, &out);
	profile_add_comment(p, "recorded by: auger " AUGER_VERSION);
}

void recording_put_result(struct profile *p, const struct recording_opts *o,
			  const struct recording *c, const struct recording_result *r)
{
	CLEANUP(buf_fini) struct buf out = { 0 };

	profile_info(p)->time_ns = r->start_ns;
	profile_info(p)->duration_ns = r->duration_ns;
	put_counts(&out, r);
	add_comment(p, &out);
	if (recording_has_stacks(r))
		recording_put_stacks(&out, c, r);
	add_comment(p, &out);
	if (o->has_off_cpu)
		recording_put_waits(&out, r);
	add_comment(p, &out);
	if (recording_has_python(r))
		recording_put_python(&out, r);
	add_comment(p, &out);
	if (r->target_ns) {
		buf_put_str(&out, "CPU time of the command: ");
		units_put(&out, r->target_ns, "nanoseconds");
	}
	add_comment(p, &out);
}

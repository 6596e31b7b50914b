/* SPDX-License-Identifier: MIT */
/* What cpu records: events, CPUs, and the rings for it. */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/privilege.h"
#include "sample/recording_internal.h"
#include "sample/synthesize.h"
#include "target/proc.h"

/* The sample ring of a CPU: a fifth of a second of samples, within these bounds, and all rings
 * together at most the last. */
#define RING_MIN_BYTES ((uint64_t)512 << 10)
#define RING_MAX_BYTES ((uint64_t)64 << 20)
#define RINGS_MAX_BYTES ((uint64_t)256 << 20)
#define RINGS_A_SECOND 5
#define RINGS_PART \
	4 /* of the address space that is left: one part for sampling rings, one for BPF's */
#define PLAIN_SAMPLE_BYTES 1024 /* with a chain, without a copy of the stack */
#define RAW_SAMPLE_BYTES 256    /* an upper bound: these come in millions a second */
#define UNKNOWN_HZ 1000         /* by period */
#define EACH_HZ 100000          /* each call, each page fault: room for a burst */
#define SIDE_BYTES ((size_t)256 << 10)
#define SWITCH_BYTES \
	((uint64_t)16 << 20) /* switch ring of a CPU: 100,000 switches a second for 80 ms */

/* Are samples unlimited by a rate? */
static bool has_bursts(const struct recording *c)
{
	for (size_t i = 0; i < c->opts.event_count; i++) {
		const struct event *event = &c->opts.events[i];
		uint64_t period = event_period(event, c->opts.period);

		if (period == 1 || (period && event->has_address))
			return true;
	}
	return c->opts.tap;
}

static size_t ring_bytes(const struct recording *c)
{
	const struct recording_opts *o = &c->opts;
	uint64_t sample = o->is_raw_only ? RAW_SAMPLE_BYTES : PLAIN_SAMPLE_BYTES;
	uint64_t rate = has_bursts(c) ? EACH_HZ : o->period ? UNKNOWN_HZ : o->frequency_hz;
	uint64_t want;
	uint64_t bytes = RING_MIN_BYTES;

	if (o->stack == STACK_DWARF)
		sample += o->stack_bytes;
	want = rate * sample / RINGS_A_SECOND;
	while (bytes < want && bytes < RING_MAX_BYTES &&
	       2 * bytes * c->cpus->count <= RINGS_MAX_BYTES)
		bytes *= 2;
	return bytes;
}

static size_t switch_bytes(const struct recording *c)
{
	uint64_t bytes = SWITCH_BYTES;

	while (bytes > RING_MIN_BYTES && bytes * c->cpus->count > RINGS_MAX_BYTES)
		bytes /= 2;
	return bytes;
}

bool recording_has_addresses(const struct recording *c)
{
	for (size_t i = 0; i < c->opts.event_count; i++)
		if (c->opts.events[i].has_address)
			return true;
	return false;
}

static struct attr_opts attr_opts_of(const struct recording *c)
{
	const struct recording_opts *o = &c->opts;
	bool follows = !o->is_all;

	return (struct attr_opts){
		.frequency_hz = o->frequency_hz,
		.period = o->period,
		.stack = o->stack,
		.stack_bytes = o->stack_bytes,
		.is_user_only = o->is_user_only,
		.is_kernel_only = o->is_kernel_only,
		.has_inherit = follows,
		.has_exec = follows && !o->pid_count,
		.has_identifier =
			((o->event_count > 1 || o->pid_count) && !o->is_raw_only) || o->raw,
		.has_no_user_chain = o->raw,
		.has_raw = o->tap,
		.is_raw_only = o->is_raw_only,
		.has_address = recording_has_addresses(c),
		.wakes_each = c->python && python_wants_wakeups(c->python),
		.has_data_maps = o->raw && o->stack == STACK_DWARF,
	};
}

/* Off-CPU stacks come before a side-band record, which may change their address space. Their
 * failure is the profile's. */
static bool tap(void *context, const struct record *r, bool is_side)
{
	struct recording *c = context;

	if (is_side && c->offcpu_bpf &&
	    offcpu_bpf_put_stacks(c->offcpu_bpf, c->ingest, r->time) < 0)
		return false;
	return !c->opts.tap || c->opts.tap(c->opts.tap_context, r, is_side);
}

/* What RLIMIT_AS leaves; the rest of it is for what is sampled and its names. */
static uint64_t address_space_left(void)
{
	struct rlimit limit;
	uint64_t used;

	if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	used = proc_status_number(getpid(), "VmSize", 10, 0) * 1024;
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

static bool wants_python(const struct recording_opts *o)
{
	return o->python != PYTHON_OFF && o->stack != STACK_NONE && !o->is_kernel_only &&
	       !o->is_raw_only && !o->tap;
}

/* Stacks of the user's code get Python frames. */
static int open_python(struct recording *c, struct err *e)
{
	const struct recording_opts *o = &c->opts;
	struct walker_maps maps;
	struct python_opts opts = { .keeps_native = o->has_native,
				    .has_locks = o->has_gil,
				    .has_no_bpf = o->python == PYTHON_READ };
	int rc;

	if (!wants_python(o))
		return 0;
	if (c->offcpu_bpf && offcpu_bpf_maps(c->offcpu_bpf, &maps))
		opts.shared = &maps;
	rc = python_new(&opts, &c->python, e);
	if (rc == 0 && o->argv)
		python_expect_command(c->python, o->argv);
	if (rc == 0 && o->has_gil && (!opts.shared || python_program(c->python) < 0))
		log_msg(LOG_WARN, "python",
			"no label 'gil' without BPF; 'auger doctor' has the reason");
	if (rc == 0 && c->offcpu_bpf)
		offcpu_bpf_use_python(c->offcpu_bpf, c->python);
	for (size_t i = 0; rc == 0 && i < o->pid_count; i++)
		python_expect_process(c->python, o->pids[i]);
	return rc;
}

static int open_sampler(struct recording *c, struct err *e)
{
	struct sampler_opts o = {
		.events = c->opts.events,
		.event_count = c->opts.event_count,
		.attr = attr_opts_of(c),
		.cpus = c->cpus,
		.has_duplicates = c->opts.pid_count && !c->opts.is_raw_only,
		.ring_bytes = ring_bytes(c),
		.side_bytes = SIDE_BYTES,
		.rings_max = address_space_left() / RINGS_PART,
		.python = c->python,
		.raw = c->raw,
		.switches = c->switches.count ? &c->switches : NULL,
		.switch_bytes = switch_bytes(c),
		.tap = tap,
		.tap_context = c,
	};

	return sampler_new(&o, &c->sampler, &c->has_no_kernel, e);
}

/* The default event: cycles where the machine counts them. Other failures than that it does
 * not are left to the opening. */
static void choose_default(struct recording *c)
{
	struct attr_opts o = attr_opts_of(c);
	struct perf_event_attr attr;
	bool ignored;
	struct err e;

	c->opts.event_count = 1;
	if (c->opts.has_off_cpu) { /* off-CPU time adds to CPU time */
		c->opts.events[0] = event_cpu_clock;
		return;
	}
	c->opts.events[0] = event_cycles;
	c->opts.events[0].precise = 3; /* attr_probe() weakens it */
	attr = attr_sampling(&c->opts.events[0], &o);
	if (attr_probe(&attr, event_cycles.name, &ignored, &e) != -ENOENT)
		return;
	log_msg(LOG_WARN, "cpu", "this machine counts no cycles; sampling cpu-clock instead");
	c->opts.events[0] = event_cpu_clock;
}

static void limit_frequency(struct recording_opts *o)
{
	int64_t max = attr_sysctl("perf_event_max_sample_rate", INT64_MAX);

	if (o->period || max <= 0 || o->frequency_hz <= (uint64_t)max)
		return;
	log_msg(LOG_WARN, "cpu",
		"%lld samples a second instead of %llu: kernel.perf_event_max_sample_rate",
		(long long)max, (unsigned long long)o->frequency_hz);
	o->frequency_hz = (uint64_t)max;
}

static int choose_cpus(struct recording *c, struct err *e)
{
	uint32_t missing;
	int rc = cpulist_online(NULL, &c->online, e);

	if (rc < 0)
		return rc;
	c->cpus = c->opts.cpus ? c->opts.cpus : &c->online;
	if (!cpulist_within(c->cpus, &c->online, &missing))
		return err_set(e, -EINVAL, "CPU %u does not run", missing);
	return 0;
}

static uint64_t clock_events(const struct recording *c)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < c->opts.event_count; i++)
		if (c->opts.events[i].is_clock)
			bits |= UINT64_C(1) << i;
	return bits;
}

/* The BPF method; it writes no records for perf.data files. */
static int open_offcpu_bpf(struct recording *c, struct err *e)
{
	struct offcpu_bpf_opts o = {
		.stack = c->opts.stack,
		.is_user_only = c->opts.is_user_only,
		.is_kernel_only = c->opts.is_kernel_only,
		.has_cpu_label = c->opts.has_cpu_label,
		.has_times = c->opts.has_times,
		.has_python = wants_python(&c->opts) && c->opts.python != PYTHON_READ,
		.command = c->opts.is_all || c->opts.pid_count ? 0 : runloop_pid(&c->loop),
		.pids = c->opts.pids,
		.pid_count = c->opts.pid_count,
		.is_all = c->opts.is_all,
		.ring_max = address_space_left() / RINGS_PART,
	};
	int rc = offcpu_bpf_new(&o, &c->offcpu_bpf, e);

	if (rc == 0)
		rc = runloop_add_fd(&c->loop, offcpu_bpf_fd(c->offcpu_bpf), RUNLOOP_FILLING, e);
	c->waits.is_on = c->waits.is_summed = rc == 0;
	c->waits.own_pid = (uint32_t)getpid();
	c->waits.is_user_only = c->opts.is_user_only;
	return rc;
}

static int open_offcpu_perf(struct recording *c, struct err *e)
{
	struct attr_opts o = attr_opts_of(c);
	int rc = offcpu_perf_find(&c->switches, &o, &(struct event_roots){ 0 }, &c->waits, e);

	if (rc < 0)
		return rc;
	c->waits.is_on = true;
	c->waits.own_pid = (uint32_t)getpid();
	c->waits.is_user_only = c->opts.is_user_only;
	c->waits.running = clock_events(c);
	c->waits.sleep_count = synthesize_find_functions(
		RECORDING_PROC "/kallsyms", offcpu_perf_sleeps, INGEST_SLEEPS_MAX, c->waits.sleeps);
	return 0;
}

static int open_offcpu(struct recording *c, struct err *e)
{
	int rc;

	if (!c->opts.has_off_cpu)
		return 0;
	if (c->opts.offcpu_method == OFFCPU_METHOD_PERF ||
	    (c->opts.offcpu_method == OFFCPU_METHOD_BEST && c->raw))
		return open_offcpu_perf(c, e);
	rc = open_offcpu_bpf(c, e);
	if (rc == 0 || rc == -ENOMEM || c->opts.offcpu_method == OFFCPU_METHOD_BPF)
		return rc;
	log_msg(LOG_WARN, "cpu", "off-CPU time comes from perf events, not BPF: %s", e->msg);
	return open_offcpu_perf(c, e);
}

static void report_lacks(const struct recording *c)
{
	bool has_no_stacks = c->waits.is_on && c->switches.has_no_stacks;

	if (c->has_no_kernel || has_no_stacks)
		log_msg(LOG_WARN, "cpu",
			"kernel.perf_event_paranoid is %lld: %s%s%s; %s, CAP_PERFMON or 'sysctl "
			"kernel.perf_event_paranoid=1' shows %s",
			(long long)attr_sysctl("perf_event_paranoid", 2),
			c->has_no_kernel ? "only user code is sampled" : "",
			c->has_no_kernel && has_no_stacks ? ", and " : "",
			has_no_stacks ? "off-CPU time has no stacks" : "", privilege_root(),
			has_no_stacks ? "all" : "the kernel, too");
}

int recording_open_events(struct recording *c, struct err *e)
{
	int rc = choose_cpus(c, e);

	if (rc < 0)
		return rc;
	limit_frequency(&c->opts);
	if (c->opts.event_count == 0)
		choose_default(c);
	rc = open_offcpu(c, e);
	if (rc == 0)
		rc = open_python(c, e);
	if (rc == 0)
		rc = open_sampler(c, e);
	if (rc == 0)
		report_lacks(c);
	return rc;
}

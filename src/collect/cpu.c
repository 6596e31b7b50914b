/* SPDX-License-Identifier: MIT */
#include "collect/cpu.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "collect/found.h"
#include "collect/launch.h"
#include "collect/procmaps.h"
#include "collect/rawfile.h"
#include "collect/sampler.h"
#include "collect/watch.h"
#include "collect/widen.h"

/* Of samples, a CPU: what comes in a fifth of a second, within these bounds, and not more than
 * the last for all CPUs. */
#define RING_MIN_BYTES ((uint64_t)512 << 10)
#define RING_MAX_BYTES ((uint64_t)64 << 20)
#define RINGS_MAX_BYTES ((uint64_t)256 << 20)
#define RINGS_A_SECOND 5
#define PLAIN_SAMPLE_BYTES 1024 /* with a chain, but without a copy of the stack */
#define UNKNOWN_HZ 1000         /* by period */
#define SIDE_BYTES ((size_t)256 << 10)
#define SWITCH_BYTES ((uint64_t)16 << 20) /* of switches, a CPU: 100,000 a second for 80 ms */
#define FOUND_BYTES ((uint32_t)65536)     /* read of the stack of a thread that waits already */
#define TICK_NS INT64_C(100000000)        /* between two looks at rings that are not full */
#define LIVELY_NS                                                                          \
	INT64_C(20000000) /* while processes come and go: of one that ended no file can be \
			   * found */
#define HURRY_NICE (-20)  /* priority while the rings are to be kept from running over */
#define PROC "/proc"

struct cpu {
	struct cpu_opts opts;
	struct cpulist online; /* when no CPUs were asked for */
	const struct cpulist *cpus;
	struct switches switches;
	struct ingest_waits waits;
	struct sampler *sampler;
	struct ingest *ingest;
	struct launch launch;
	struct watch watch;
	struct widen widen;
	struct rawfile *raw;             /* NULL: none */
	int64_t start_ns, start_wall_ns; /* when sampling began; of clock_mono, clock_wall */
	size_t alive;                    /* of opts.pids that are watched */
	bool has_no_kernel;
	int exec_error; /* errno of a failed exec; 0: none */
};

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Children get the old limit. */
static void raise_file_limit(struct rlimit *ret_old)
{
	struct rlimit raised;

	if (getrlimit(RLIMIT_NOFILE, ret_old) < 0)
		*ret_old = (struct rlimit){ 1024, 1024 };
	raised = *ret_old;
	raised.rlim_cur = raised.rlim_max;
	setrlimit(RLIMIT_NOFILE, &raised);
}

static size_t file_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 256;
}

static size_t ring_bytes(const struct cpu *c)
{
	const struct cpu_opts *o = &c->opts;
	uint64_t sample = PLAIN_SAMPLE_BYTES + (o->stack == STACK_DWARF ? o->stack_bytes : 0);
	uint64_t rate = o->period ? UNKNOWN_HZ : o->frequency_hz;
	uint64_t want = rate * sample / RINGS_A_SECOND;
	uint64_t bytes = RING_MIN_BYTES;

	while (bytes < want && bytes < RING_MAX_BYTES &&
	       2 * bytes * c->cpus->count <= RINGS_MAX_BYTES)
		bytes *= 2;
	return bytes;
}

static size_t switch_bytes(const struct cpu *c)
{
	uint64_t bytes = SWITCH_BYTES;

	while (bytes > RING_MIN_BYTES && bytes * c->cpus->count > RINGS_MAX_BYTES)
		bytes /= 2;
	return bytes;
}

static struct attr_opts attr_opts_of(const struct cpu *c)
{
	const struct cpu_opts *o = &c->opts;
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
		.has_identifier = o->event_count > 1 || o->raw,
		.has_no_user_chain = o->raw,
		.has_data_maps = o->raw && o->stack == STACK_DWARF,
	};
}

static int open_sampler(struct cpu *c, struct err *e)
{
	struct sampler_opts o = {
		.events = c->opts.events,
		.event_count = c->opts.event_count,
		.attr = attr_opts_of(c),
		.cpus = c->cpus,
		.ring_bytes = ring_bytes(c),
		.side_bytes = SIDE_BYTES,
		.raw = c->raw,
		.switches = c->switches.count ? &c->switches : NULL,
		.switch_bytes = switch_bytes(c),
	};

	return sampler_new(&o, &c->sampler, &c->has_no_kernel, e);
}

/* The default event: cycles where the machine counts them. Other failures than that it does
 * not are left to the opening. */
static void choose_default(struct cpu *c)
{
	struct attr_opts o = attr_opts_of(c);
	struct perf_event_attr attr;
	bool ignored;
	struct err e;

	c->opts.event_count = 1;
	if (c->opts.has_off_cpu) { /* goes with time on the CPU */
		c->opts.events[0] = event_cpu_clock;
		return;
	}
	c->opts.events[0] = event_cycles;
	c->opts.events[0].precise = 3; /* lessened to what is there */
	attr = attr_sampling(&c->opts.events[0], &o);
	if (attr_probe(&attr, event_cycles.name, &ignored, &e) != -ENOENT)
		return;
	log_msg(LOG_WARN, "cpu", "this machine counts no cycles; sampling cpu-clock instead");
	c->opts.events[0] = event_cpu_clock;
}

static void limit_frequency(struct cpu_opts *o)
{
	int64_t max = attr_sysctl("perf_event_max_sample_rate", INT64_MAX);

	if (o->period || max <= 0 || o->frequency_hz <= (uint64_t)max)
		return;
	log_msg(LOG_WARN, "cpu",
		"%lld samples a second instead of %llu: kernel.perf_event_max_sample_rate",
		(long long)max, (unsigned long long)o->frequency_hz);
	o->frequency_hz = (uint64_t)max;
}

static int choose_cpus(struct cpu *c, struct err *e)
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

static uint64_t clock_events(const struct cpu *c)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < c->opts.event_count; i++)
		if (c->opts.events[i].is_clock)
			bits |= UINT64_C(1) << i;
	return bits;
}

static int find_switches(struct cpu *c, struct err *e)
{
	struct attr_opts o = attr_opts_of(c);
	int rc;

	if (!c->opts.has_off_cpu)
		return 0;
	rc = switches_find(&c->switches, &o, &(struct event_roots){ 0 }, &c->waits, e);
	if (rc < 0)
		return rc;
	c->waits.is_on = true;
	c->waits.own_pid = (uint32_t)getpid();
	c->waits.is_user_only = c->opts.is_user_only;
	c->waits.running = clock_events(c);
	c->waits.sleep_count = procmaps_find_code(PROC "/kallsyms", switches_sleeps,
						  INGEST_SLEEPS_MAX, c->waits.sleeps);
	if (c->switches.has_no_stacks)
		log_msg(LOG_WARN, "cpu",
			"kernel.perf_event_paranoid is %lld: waiting is told without stacks; root, "
			"CAP_PERFMON or 'sysctl kernel.perf_event_paranoid=1' shows them",
			(long long)attr_sysctl("perf_event_paranoid", 2));
	return 0;
}

static int open_events(struct cpu *c, struct err *e)
{
	int rc = choose_cpus(c, e);

	if (rc < 0)
		return rc;
	limit_frequency(&c->opts);
	if (c->opts.event_count == 0)
		choose_default(c);
	rc = find_switches(c, e);
	if (rc == 0)
		rc = open_sampler(c, e);
	if (rc == 0 && c->has_no_kernel)
		log_msg(LOG_WARN, "cpu",
			"kernel.perf_event_paranoid is %lld: only user code is sampled; root, "
			"CAP_PERFMON or 'sysctl kernel.perf_event_paranoid=1' shows the kernel, too",
			(long long)attr_sysctl("perf_event_paranoid", 2));
	return rc;
}

/* What is known besides by the kernel's records, to all who want to know. */
static int tell(void *context, const struct record *r)
{
	struct cpu *c = context;

	if (c->raw)
		rawfile_put_told(c->raw, r, sampler_id_bytes(c->sampler));
	return ingest_record(c->ingest, r, 0);
}

static struct procmaps_listener listener_of(struct cpu *c)
{
	return (struct procmaps_listener){ .tell = tell, .context = c, .wants_data = c->raw };
}

static void fetch(void *context, uint32_t pid)
{
	struct procmaps_listener to = listener_of(context);

	/* Out of memory is seen again by the caller. */
	if (procmaps_tell(&to, PROC, pid) < 0)
		return;
}

static int make_ingest(struct cpu *c, struct profile *p, struct err *e)
{
	struct ingest_event events[CPU_EVENTS_MAX];
	struct ingest_opts o = {
		.dsos = { .profile = p,
			  .proc = PROC,
			  .kernel_start = procmaps_kernel_start(PROC "/kallsyms"),
			  .fd_limit = file_limit() },
		.has_cpu_label = c->opts.has_cpu_label,
		.machine = user_stack_machine(),
		.waits = c->waits,
		.fetch = fetch,
		.context = c,
	};

	if (c->opts.stack == STACK_FP)
		o.max_frames = (unsigned)attr_sysctl("perf_event_max_stack", 127);
	for (size_t i = 0; i < c->opts.event_count; i++)
		events[i] = (struct ingest_event){ event_sample_type(&c->opts.events[i]),
						   c->opts.events[i].unit, 1 };
	c->ingest = ingest_new(&o, events, c->opts.event_count);
	return c->ingest ? 0 : err_nomem(e);
}

/* All threads that are not in seen; *ret_added: how many. */
static int attach_threads(struct cpu *c, pid_t pid, struct map *seen, size_t *ret_added,
			  struct err *e)
{
	CLEANUP(close_dir) DIR *dir = NULL;
	struct dirent *entry;
	char path[64];

	*ret_added = 0;
	snprintf(path, sizeof path, PROC "/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return err_set(e, -ESRCH, "process %d does not exist", (int)pid);
	while ((entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		int rc;

		if (tid <= 0 || map_get(seen, (uint64_t)tid) != MAP_NONE)
			continue;
		if (map_put(seen, (uint64_t)tid, 1) < 0)
			return err_nomem(e);
		rc = sampler_attach(c->sampler, tid, e);
		if (rc < 0 && rc != -ESRCH)
			return rc;
		*ret_added += rc == 0;
	}
	return 0;
}

/* A thread may be made by one that we are not attached to yet: again until there is no new
 * one. The children of attached threads are followed by the kernel. */
static int attach_process(struct cpu *c, pid_t pid, struct err *e)
{
	struct map seen = { 0 };
	size_t added, total = 0;
	int rc;

	do {
		rc = attach_threads(c, pid, &seen, &added, e);
		total += added;
	} while (rc == 0 && added);
	map_fini(&seen);
	if (rc == 0 && total == 0)
		rc = err_set(e, -ESRCH, "process %d does not exist", (int)pid);
	return rc;
}

static int attach(struct cpu *c, struct err *e)
{
	int rc = 0;

	if (c->opts.is_all)
		return sampler_attach(c->sampler, -1, e);
	if (!c->opts.pid_count)
		return sampler_attach(c->sampler, c->launch.pid, e);
	for (size_t i = 0; rc == 0 && i < c->opts.pid_count; i++)
		rc = attach_process(c, c->opts.pids[i], e);
	return rc;
}

/* Everything that can end the recording, or asks for its rings to be read. */
static int watch_all(struct cpu *c, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sampler_fd_count(c->sampler); i++)
		rc = watch_add(&c->watch, sampler_fd(c->sampler, i), WATCH_RING, e);
	if (rc == 0 && c->launch.pid_fd > 0)
		rc = watch_add(&c->watch, c->launch.pid_fd, WATCH_COMMAND, e);
	for (size_t i = 0; rc == 0 && i < c->opts.pid_count; i++) {
		rc = watch_pid(&c->watch, c->opts.pids[i], e);
		c->alive++;
		if (rc == -ENOSYS)
			rc = 0; /* an old kernel: a signal or the time ends the recording */
	}
	return rc;
}

static int build(struct cpu *c, struct profile *p, struct err *e)
{
	struct rlimit old;
	int rc;

	raise_file_limit(&old);
	rc = watch_open(&c->watch, e);
	if (rc == 0 && c->opts.raw)
		rc = rawfile_open(c->opts.raw, &c->raw, e);
	if (rc == 0 && c->opts.argv)
		rc = launch_new(&c->launch,
				&(struct launch_opts){ .argv = c->opts.argv,
						       .mask = watch_old_mask(&c->watch),
						       .files = &old,
						       .owns_stdout = c->opts.owns_stdout },
				e);
	if (rc == 0)
		rc = open_events(c, e);
	if (rc == 0)
		rc = make_ingest(c, p, e);
	if (rc == 0)
		rc = attach(c, e);
	if (rc == 0)
		rc = watch_all(c, e);
	return rc;
}

int cpu_new(const struct cpu_opts *o, struct profile *p, struct cpu **ret, struct err *e)
{
	struct cpu *c = calloc(1, sizeof *c);
	int rc;

	if (!c)
		return err_nomem(e);
	c->opts = *o;
	rc = build(c, p, e);
	if (rc < 0) {
		cpu_free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

void cpu_free(struct cpu *c)
{
	if (!c)
		return;
	sampler_free(c->sampler);
	rawfile_free(c->raw);
	ingest_free(c->ingest);
	launch_close(&c->launch);
	watch_close(&c->watch);
	cpulist_fini(&c->online);
	free(c);
}

/* A process that we started is known: nothing of it before the exec is of interest. */
static int tell_command(struct cpu *c)
{
	static const unsigned char name[] = "auger";
	uint32_t pid = (uint32_t)c->launch.pid;
	struct record r = {
		.type = PERF_RECORD_COMM,
		.comm = { .pid = pid, .tid = pid, .name = { name, sizeof name - 1 } },
	};

	return tell(c, &r);
}

/* What runs already: its mappings, and what waits. */
static int tell_running(struct cpu *c, struct err *e)
{
	struct procmaps_listener to = listener_of(c);
	int rc = 0;

	if (c->opts.is_all || c->opts.pid_count)
		sampler_enable_side(c->sampler);
	if (c->raw && procmaps_tell_kernel(&to, PROC "/kallsyms") < 0)
		rc = err_nomem(e);
	if (rc == 0 && c->opts.is_all)
		rc = procmaps_tell_all(&to, PROC, e);
	for (size_t i = 0; rc == 0 && i < c->opts.pid_count; i++)
		if (procmaps_tell(&to, PROC, (uint32_t)c->opts.pids[i]) < 0)
			rc = err_nomem(e);
	return rc;
}

static int tell_waiting(struct cpu *c, struct err *e)
{
	uint32_t bytes = c->opts.stack == STACK_NONE || c->opts.is_kernel_only ? 0 : FOUND_BYTES;
	uint64_t now = (uint64_t)clock_mono_ns();
	int rc = 0;

	if (!c->waits.is_on)
		return 0;
	ingest_begin_waits(c->ingest, now);
	if (c->opts.is_all)
		rc = found_tell_all(c->ingest, PROC, now, bytes, e);
	for (size_t i = 0; rc == 0 && i < c->opts.pid_count; i++)
		if (found_tell(c->ingest, PROC, (uint32_t)c->opts.pids[i], now, bytes) < 0)
			rc = err_nomem(e);
	return rc;
}

static int start(struct cpu *c, struct err *e)
{
	bool has_running = c->opts.is_all || c->opts.pid_count;
	int rc = tell_running(c, e);

	if (rc == 0 && c->launch.pid && tell_command(c) < 0)
		rc = err_nomem(e);
	c->start_ns = clock_mono_ns(); /* what ran is known: that takes its time */
	c->start_wall_ns = clock_wall_ns();
	if (rc == 0 && has_running) {
		sampler_enable(c->sampler);
		rc = tell_waiting(c, e);
	}
	if (rc < 0 || !c->launch.pid)
		return rc;
	rc = launch_start(&c->launch, c->opts.argv[0], e);
	c->exec_error = -rc;
	return rc;
}

static int64_t time_of(const struct rusage *u)
{
	return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * NS_PER_S +
	       (u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

/* The second signal does not wait for the command any more. */
static void take_signal(struct cpu *c, const struct watch_news *news, unsigned *seen,
			struct cpu_result *r, bool *ret_done)
{
	bool is_alive = c->launch.pid > 0;

	*seen += news->signals;
	if (!is_alive || *seen > 1) {
		*ret_done = true;
		r->is_cut = is_alive;
		r->status = is_alive ? 128 + news->signal : 0;
		return;
	}
	/* What the terminal sends reaches the command by itself. */
	if (!news->is_from_kernel || news->signal != SIGINT)
		kill(c->launch.pid, news->signal);
}

/* Reads the rings until something ends the recording. A profile that cannot grow is no
 * reason to leave a command alone: its end is waited for. */
static int loop(struct cpu *c, int64_t end_ns, struct cpu_result *r)
{
	struct rusage usage = { 0 };
	unsigned signals = 0;
	bool is_done = false;
	int rc = 0;

	while (!is_done) {
		int64_t tick = sampler_is_lively(c->sampler) ? LIVELY_NS : TICK_NS;
		int64_t left = end_ns ? end_ns - clock_mono_ns() : tick;
		struct watch_news news;

		watch_wait(&c->watch, left < tick ? left : tick, &news);
		if (rc == 0)
			rc = sampler_drain(c->sampler, c->ingest, false);
		if (c->opts.argv && !c->opts.is_all && !c->raw) /* that has only what it told */
			widen_look(&c->widen, c->sampler, c->ingest);
		c->alive -= news.ended;
		if (news.signals)
			take_signal(c, &news, &signals, r, &is_done);
		if (c->opts.argv)
			is_done |= launch_poll(&c->launch, &r->status, &usage);
		else if (c->opts.pid_count)
			is_done |= c->alive == 0 || rc < 0;
		else
			is_done |= rc < 0;
		is_done |= end_ns && clock_mono_ns() >= end_ns;
		if (rc == 0 && c->opts.tick && !c->opts.tick(c->opts.tick_context)) {
			r->is_cut = c->launch.pid > 0;
			is_done = true;
		}
	}
	r->target_ns = time_of(&usage);
	return rc;
}

/* Where all CPUs are busy, the rings would run over before it is our turn. Only for us, and only
 * who may; returns the priority before. */
static int hurry(void)
{
	int before = getpriority(PRIO_PROCESS, 0);

	if (before > HURRY_NICE)
		setpriority(PRIO_PROCESS, 0, HURRY_NICE);
	return before;
}

int cpu_run(struct cpu *c, struct cpu_result *ret, struct err *e)
{
	struct cpu_result r = { 0 };
	int64_t end_ns;
	struct rusage own;
	int rc = start(c, e), nice_before;

	if (rc < 0)
		return rc;
	nice_before = hurry();
	r.start_ns = c->start_wall_ns;
	rc = loop(c, c->opts.duration_ns ? c->start_ns + c->opts.duration_ns : 0, &r);
	end_ns = clock_mono_ns();
	r.duration_ns = end_ns - c->start_ns;
	sampler_disable(c->sampler);
	if (rc == 0)
		rc = sampler_drain(c->sampler, c->ingest, true);
	setpriority(PRIO_PROCESS, 0, nice_before);
	ingest_end_waits(c->ingest, (uint64_t)end_ns);
	if (rc == 0)
		rc = ingest_finish(c->ingest);
	watch_close(&c->watch);
	r.counts = *ingest_counts(c->ingest);
	if (getrusage(RUSAGE_SELF, &own) == 0)
		r.own_ns = time_of(&own);
	*ret = r;
	return rc < 0 ? err_set(e, rc, "the profile cannot be kept: %s", strerror(-rc)) : 0;
}

int cpu_finish_raw(struct cpu *c, struct err *e)
{
	return c->raw ? sampler_finish_raw(c->sampler, c->opts.argv, e) : 0;
}

int cpu_exec_error(const struct cpu *c)
{
	return c->exec_error;
}

const char *const *cpu_files(struct cpu *c)
{
	return dsos_files(ingest_dsos(c->ingest));
}

const char *cpu_worst(const struct cpu *c, size_t n, uint64_t *ret_count)
{
	return ingest_worst(c->ingest, n, ret_count);
}

uint32_t cpu_stack_bytes(const struct cpu *c)
{
	return sampler_stack_bytes(c->sampler);
}

const struct event *cpu_event(const struct cpu *c, size_t i)
{
	return &c->opts.events[i];
}

size_t cpu_event_count(const struct cpu *c)
{
	return c->opts.event_count;
}

size_t cpu_cpu_count(const struct cpu *c)
{
	return c->cpus->count;
}

bool cpu_has_wait_stacks(const struct cpu *c)
{
	return c->switches.count && !c->switches.has_no_stacks;
}

bool cpu_has_wait_states(const struct cpu *c)
{
	return c->switches.count && !c->switches.has_no_states;
}

bool cpu_has_kernel(const struct cpu *c)
{
	return !c->has_no_kernel && !c->opts.is_user_only;
}

uint64_t cpu_frequency(const struct cpu *c)
{
	return c->opts.period ? 0 : c->opts.frequency_hz;
}

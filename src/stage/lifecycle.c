/* SPDX-License-Identifier: MIT */
/* lifecycle: creates, resets and closes profilers, and keeps them usable over fork(2). */
#include "auger/stage.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stage/context.h"
#include "stage/names.h"
#include "stage/output.h"
#include "stage/profiler.h"
#include "stage/registry.h"
#include "stage/report.h"
#include "stage/sigterm.h"
#include "stage/thread.h"
#include "stage/ticks.h"

#define MAX_STAGES 1000
#define MAX_DEPTH 128
#define RSS_INTERVAL_US 100
#define IO_INTERVAL_US 1000
#define CLOCK_READ_US 20

EXPORT struct auger_profiler *auger_default;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int start_status;

static void start(void);

/* The level in AUGER_STAGES, else otherwise. A wrong value is off, with a warning. */
static enum auger_level level_of_env(enum auger_level otherwise)
{
	static const char *const names[] = {
		[AUGER_OFF] = "off", [AUGER_TIME] = "time", [AUGER_FULL] = "full"
	};
	const char *value = secure_getenv("AUGER_STAGES");

	if (!value || !*value)
		return otherwise;
	for (int i = AUGER_OFF; i <= AUGER_FULL; i++) {
		if (strcmp(value, names[i]) == 0)
			return (enum auger_level)i;
	}
	output_warn("AUGER_STAGES is off, time or full", value, "off");
	return AUGER_OFF;
}

/* secure_getenv: the caller of a setuid program must not choose files that its owner writes. */
static void decide_by_env(struct auger_opts *to)
{
	const char *on_sigterm = secure_getenv("AUGER_STAGES_SIGTERM");

	if (to->level < AUGER_OFF || to->level > AUGER_FULL)
		to->level = level_of_env(AUGER_FULL);
	if (!to->out)
		to->out = secure_getenv("AUGER_STAGES_OUT");
	if (on_sigterm && strcmp(on_sigterm, "1") == 0)
		to->on_sigterm = 1;
}

static void decide_opts(struct auger_opts *to, const struct auger_opts *from)
{
	if (from && from->size && from->size < sizeof *to)
		memcpy(to, from, from->size);
	else if (from)
		*to = *from;
	to->size = sizeof *to;
	decide_by_env(to);
	if (to->out && !*to->out)
		to->out = NULL;
	if (!to->max_stages || to->max_stages > NAMES_MAX)
		to->max_stages = to->max_stages ? NAMES_MAX : MAX_STAGES;
	if (!to->max_depth || to->max_depth > 65536)
		to->max_depth = to->max_depth ? 65536 : MAX_DEPTH;
	if (!to->rss_interval_us)
		to->rss_interval_us = RSS_INTERVAL_US;
	else if (to->rss_interval_us == UINT32_MAX)
		to->rss_interval_us = 0;
}

static const char *copy_text(struct auger_profiler *p, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = arena_alloc(&p->arena, size);

	return copy ? memcpy(copy, text, size) : NULL;
}

/* libauger-count.so may have another version than this library. */
static const struct heap_count *find_heap(void)
{
	const struct heap_count *(*get)(void);
	const struct heap_count *heap;

	*(void **)&get = dlsym(RTLD_DEFAULT, HEAP_COUNT_SYMBOL);
	heap = get ? get() : NULL;
	if (!heap || heap->version != HEAP_COUNT_VERSION ||
	    heap->thread_size != sizeof(struct heap_thread))
		return NULL;
	return heap;
}

static void choose_groups(struct auger_profiler *p)
{
	struct counters probe;

	p->heap = find_heap();
	counter_files_open(&p->files);
	counters_start(&probe, &p->files, &p->plan);
	p->has_perf_page = probe.page != NULL;
	counters_stop(&probe);
	p->groups = GROUP_WALL;
	if (p->heap)
		p->groups |= GROUP_HEAP;
	if (p->opts.level == AUGER_FULL)
		p->groups |= GROUP_PROCESS | GROUP_THREAD;
	if (p->has_perf_page)
		p->groups |= GROUP_THREAD;
	p->resets_rss = (p->groups & GROUP_PROCESS) && p->opts.reset_rss_peak &&
			counters_reset_rss_hwm() == 0;
}

/* Ticks in a time, by the first estimate of the clock ratio. */
static uint64_t ticks_in(double us)
{
	return (uint64_t)(us * 1000 / ticks_ns());
}

static void begin_report(struct auger_profiler *p)
{
	context_read_now(p, NULL, &p->reset);
	p->start_ns = clock_ns(CLOCK_REALTIME);
}

static int copy_out(struct auger_profiler *p, const char *out)
{
	char folder[PATH_MAX];
	bool is_known = *out != '/' && getcwd(folder, sizeof folder) && *folder == '/';

	p->opts.out = copy_text(p, out);
	if (is_known)
		p->folder = copy_text(p, folder);
	return p->opts.out && (p->folder || !is_known) ? 0 : -ENOMEM;
}

static int fill(struct auger_profiler *p, const struct auger_opts *opts)
{
	p->opts = *opts;
	if (opts->out && copy_out(p, opts->out) < 0)
		return -ENOMEM;
	if (paths_init(&p->paths, opts->max_stages, &p->arena) < 0)
		return -ENOMEM;
	p->retired = arena_alloc(&p->arena, (p->paths.max + 1) * sizeof(struct row *));
	if (!p->retired)
		return -ENOMEM;
	p->plan.rss_ticks = ticks_in(opts->rss_interval_us);
	p->plan.io_ticks = ticks_in(IO_INTERVAL_US);
	p->plan.clock_read_ticks = ticks_in(CLOCK_READ_US);
	job_place_read(&p->place);
	choose_groups(p);
	begin_report(p);
	return 0;
}

static void free_profiler(struct auger_profiler *p)
{
	counter_files_close(&p->files);
	arena_fini(&p->arena);
	pthread_mutex_destroy(&p->lock);
	munmap(p, sizeof *p);
}

static struct auger_profiler *make(const struct auger_opts *opts, int *ret_status)
{
	struct auger_profiler *p = pages_map(sizeof *p);

	if (!p) {
		*ret_status = -ENOMEM;
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	p->files = (struct counter_files){ .statm = -1, .io = -1 };
	*ret_status = fill(p, opts);
	if (*ret_status == 0) {
		registry_lock();
		*ret_status = registry_add(p);
		registry_unlock();
	}
	if (*ret_status == 0)
		return p;
	free_profiler(p);
	return NULL;
}

EXPORT struct auger_profiler *auger_profiler_new(const struct auger_opts *opts)
{
	struct auger_opts decided = { 0 };
	struct auger_profiler *p;
	int status;

	decide_opts(&decided, opts);
	errno = 0;
	if (decided.level == AUGER_OFF)
		return NULL;
	pthread_once(&once, start);
	p = start_status == 0 ? make(&decided, &status) : NULL;
	if (!p) {
		errno = start_status ? -start_status : -status;
		return NULL;
	}
	if (decided.on_sigterm)
		sigterm_install();
	errno = 0;
	return p;
}

EXPORT void auger_profiler_close(struct auger_profiler *p)
{
	if (!p || p == auger_default)
		return;
	registry_lock();
	output_write_out(p, false);
	registry_remove(p);
	registry_unlock();
	for (struct shard *s = p->shards; s; s = s->next)
		counters_stop(&s->counters);
	free_profiler(p);
}

EXPORT enum auger_level auger_profiler_level(const struct auger_profiler *p)
{
	return p ? p->opts.level : AUGER_OFF;
}

/* The caller holds the lock, or is the only thread. */
static void reset(struct auger_profiler *p)
{
	for (uint32_t i = 1; i <= p->paths.max; i++) {
		if (p->retired[i])
			row_clear(p->retired[i]);
	}
	STORE_RELEASE(p->stray_ends, 0);
	STORE_RELEASE(p->bad_names, 0);
	STORE_RELEASE(p->too_deep, 0);
	STORE_RELEASE(p->other_calls, 0);
	STORE_RELEASE(p->lost, 0);
	begin_report(p);
	STORE_RELEASE(p->epoch, p->epoch + 1);
}

EXPORT void auger_profiler_reset(struct auger_profiler *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	reset(p);
	pthread_mutex_unlock(&p->lock);
}

static struct key *find_key(struct auger_profiler *p, const char *name)
{
	for (unsigned i = 0; i < p->key_count; i++) {
		if (strcmp(p->keys[i].name, name) == 0)
			return &p->keys[i];
	}
	return NULL;
}

EXPORT void auger_profiler_set(struct auger_profiler *p, const char *key, const char *value)
{
	struct key *known;

	if (!p || !key || report_has_key(p, key))
		return;
	pthread_mutex_lock(&p->lock);
	known = find_key(p, key);
	if (!known && p->key_count < KEYS_MAX) {
		known = &p->keys[p->key_count];
		known->name = copy_text(p, key);
		p->key_count += known->name != NULL;
	}
	if (known)
		known->value = value ? copy_text(p, value) : NULL;
	pthread_mutex_unlock(&p->lock);
}

EXPORT int auger_profiler_source(struct auger_profiler *p, const struct auger_source *source)
{
	size_t len;

	if (!p)
		return 0;
	p->groups &= ~(uint32_t)GROUP_SOURCE;
	if (!source)
		return 0;
	len = source->name ? strlen(source->name) : 0;
	if (!len || len > SOURCE_NAME_MAX || !source->read ||
	    strspn(source->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != len)
		return -EINVAL;
	p->source = *source;
	memcpy(p->source_name, source->name, len + 1);
	strncpy(p->source_detail, source->detail ? source->detail : "",
		sizeof p->source_detail - 1);
	p->groups |= GROUP_SOURCE;
	return 0;
}

/* Around fork(): the forking thread holds all locks, so that the child can release them. */
static void before_fork(void)
{
	registry_lock();
	for (unsigned i = 0; i < PROFILERS_MAX; i++) {
		if (registry_get(i))
			pthread_mutex_lock(&registry_get(i)->lock);
	}
	names_lock();
}

static void after_fork(void)
{
	names_unlock();
	for (unsigned i = 0; i < PROFILERS_MAX; i++) {
		if (registry_get(i))
			pthread_mutex_unlock(&registry_get(i)->lock);
	}
	registry_unlock();
}

static void in_child(void)
{
	bool on_sigterm = false;

	for (unsigned i = 0; i < PROFILERS_MAX; i++) {
		struct auger_profiler *p = registry_get(i);

		if (!p)
			continue;
		counter_files_close(&p->files);
		counter_files_open(&p->files);
		thread_forked(p);
		p->early = (struct written){ 0 };
		p->source_peaks.is_locked = 0;
		p->rss_peaks.is_locked = 0;
		reset(p);
		on_sigterm |= p->opts.on_sigterm;
	}
	after_fork();
	if (on_sigterm)
		sigterm_forked();
}

static void start(void)
{
	ticks_start();
	start_status = threads_start(context_end_all);
	if (start_status == 0)
		start_status = -pthread_atfork(before_fork, after_fork, in_child);
}

__attribute__((constructor(101))) static void make_default(void)
{
	const char *out = secure_getenv("AUGER_STAGES_OUT");
	struct auger_opts opts = { .level = level_of_env(out && *out ? AUGER_FULL : AUGER_OFF) };

	if (opts.level != AUGER_OFF)
		auger_default = auger_profiler_new(&opts);
}

/* Other threads may run on; the report excludes what they do from here on. */
__attribute__((destructor)) static void write_all_out(void)
{
	registry_lock();
	for (unsigned i = 0; i < PROFILERS_MAX; i++) {
		if (registry_get(i))
			output_write_out(registry_get(i), false);
	}
	registry_unlock();
}

/* SPDX-License-Identifier: MIT */
/* profiling_commands: the thread that executes commands and writes at intervals. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "cachefs/profile/profile_tables.h"
#include "cachefs/profile/profiling_internal.h"
#include "cachefs/profile/slowest.h"

enum command_kind {
	COMMAND_DUMP,        /* what: enum table_dump */
	COMMAND_RESET_SUM,   /* enum metrics_sum */
	COMMAND_RESET_PATHS, /* enum path_class */
	COMMAND_CLEAR,
	COMMAND_RESET,
	COMMAND_SNAPSHOT,
	COMMAND_DUMP_COUNTS,  /* how often each command came */
	COMMAND_RESET_COUNTS, /* of commands */
};

/* Source: Copper's numbers. */
static const struct {
	int number;
	enum command_kind kind;
	int what;
} table[] = {
	{ CONTROL_CLEAR, COMMAND_CLEAR, 0 },
	{ 200, COMMAND_DUMP, DUMP_TABLES },
	{ 300, COMMAND_DUMP, DUMP_COUNTS },
	{ 400, COMMAND_DUMP, DUMP_TIMES },
	{ 500, COMMAND_DUMP, DUMP_HITS },
	{ 600, COMMAND_DUMP, DUMP_MISSES },
	{ 700, COMMAND_RESET_SUM, METRICS_CALLS },
	{ 800, COMMAND_RESET_SUM, METRICS_HITS },
	{ 900, COMMAND_RESET_SUM, METRICS_MISSES },
	{ 1000, COMMAND_RESET_SUM, METRICS_NS },
	{ 1100, COMMAND_DUMP, DUMP_DATA_EVENTS },
	{ 1200, COMMAND_DUMP, DUMP_TREE_EVENTS },
	{ 1300, COMMAND_DUMP, DUMP_METADATA_EVENTS },
	{ 1400, COMMAND_RESET_PATHS, PATH_DATA },
	{ 1500, COMMAND_RESET_PATHS, PATH_TREE },
	{ 1600, COMMAND_RESET_PATHS, PATH_METADATA },
	{ 1700, COMMAND_DUMP, DUMP_NEGATIVES },
	{ 1800, COMMAND_RESET_SUM, METRICS_NEGATIVES },
	{ CONTROL_RESET, COMMAND_RESET, 0 },
	{ CONTROL_SNAPSHOT, COMMAND_SNAPSHOT, 0 },
	{ 2100, COMMAND_RESET_COUNTS, 0 },
	{ 2200, COMMAND_DUMP_COUNTS, 0 },
	{ 2300, COMMAND_DUMP, DUMP_DATA_SIZE },
	{ 2400, COMMAND_DUMP, DUMP_TREE_SIZE },
	{ 2500, COMMAND_DUMP, DUMP_METADATA_SIZE },
};
static_assert(ARRAY_LEN(table) == PROFILING_COMMANDS, "one counter each");

struct queued {
	struct fifo_link link;
	struct profiling_command command;
	char path[]; /* NUL-terminated */
};

/* Its index in the table, or -1. */
static int find(int number)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].number == number)
			return (int)i;
	return -1;
}

bool profiling_has_command(int number)
{
	return find(number) >= 0;
}

/* 1: the result of a command that fails. */
static int fail(struct profiling *p, const struct err *e)
{
	profiling_note_failure(p, e);
	return 1;
}

/* Writes a text where job_files_put_beside does. 0 or 1. */
static int put_at_file(struct profiling *p, const char *path, const char *base, struct buf *text)
{
	struct err e = { 0 };
	int rc;

	buf_put_byte(text, '\n');
	rc = buf_error(text) < 0 ? err_nomem(&e)
				 : job_files_put_beside(&p->opts.files, p->config.target, path,
							base, text->data, text->len, &e);
	return rc < 0 ? fail(p, &e) : 0;
}

static int put_dump(struct profiling *p, const struct profile_facts *f, enum table_dump dump,
		    const char *path)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	if (table_dump_put(dump, f, p->cache, &text) < 0)
		return -ENOMEM;
	return put_at_file(p, path, table_dump_names[dump], &text);
}

static void put_command_counts(struct profiling *p, struct buf *out)
{
	buf_put_str(out, "Ioctl Events {\n");
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		uint64_t taken = atomic_load(&p->command_counts[i]);

		if (taken)
			buf_printf(out, "%d: %llu\n", table[i].number, (unsigned long long)taken);
	}
	buf_put_byte(out, '}');
}

static int put_counts_at_file(struct profiling *p, const char *path)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	put_command_counts(p, &text);
	return put_at_file(p, path, "ioctl_cache_event.output", &text);
}

/* False: it failed, and the log has the reason. */
static bool put_table(struct profiling *p, const char *base, struct buf *text)
{
	struct err e = { 0 };

	if (profiling_put_file(p, JOB_TABLES, NULL, base, text, &e) == 0)
		return true;
	fail(p, &e);
	return false;
}

/* Writes all dumps into the job's folder. */
static bool put_dumps(struct profiling *p, const struct profile_facts *f)
{
	static const struct err nomem = { -ENOMEM, "out of memory" };
	CLEANUP(buf_fini) struct buf text = { 0 };

	for (int dump = 0; dump < TABLE_DUMPS; dump++) {
		if (dump == DUMP_TTL_EVENTS && p->config.mode == PROFILE_OFF)
			continue;
		if (table_dump_put((enum table_dump)dump, f, p->cache, &text) < 0) {
			fail(p, &nomem);
			return false;
		}
		buf_put_byte(&text, '\n');
		if (!put_table(p, table_dump_names[dump], &text))
			return false;
	}
	put_command_counts(p, &text);
	buf_put_byte(&text, '\n');
	if (!put_table(p, "ioctl_cache_event.output", &text))
		return false;
	profile_put_usage(f, &text);
	return put_table(p, "cache_usage.csv", &text);
}

static void reset_node(void *context, struct node *n)
{
	struct path_counts *counts = atomic_load(&n->counts);

	if (counts)
		path_counts_reset(counts, *(enum path_class *)context);
}

static int reset_paths(struct profiling *p, enum path_class class)
{
	return cache_visit(p->cache, reset_node, &class);
}

/* Resets the counters, and keeps the cached data. */
static int reset_counters(struct profiling *p)
{
	struct cache_counts *c = cache_counts(p->cache);
	_Atomic uint64_t *const counts[] = { &c->storage.calls, &c->storage.failures,
					     &c->storage.timeouts, &c->storage.interrupts,
					     &c->stale };

	for (int sum = 0; sum < METRICS_SUMS; sum++)
		metrics_reset(p->metrics, (enum metrics_sum)sum);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		atomic_store(counts[i], 0);
	for (int i = 0; i < NEGATIVE_EVENTS; i++)
		atomic_store(&c->negatives[i], 0);
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		atomic_store(&p->command_counts[i], 0);
	return reset_paths(p, PATH_CLASSES);
}

static int reset_all(struct profiling *p)
{
	int rc = profiling_write(p, "pre-reset") ? 0 : 1;

	if (reset_counters(p) < 0 || cache_clear(p->cache, false) < 0)
		return -ENOMEM;
	return rc;
}

/* Commands that read all counters. */
static int write_out(struct profiling *p, enum command_kind kind, int what, const char *path)
{
	struct profile_facts *f;
	struct err e = { 0 };
	int rc;

	if (!p->opts.files.job) {
		err_set(&e, -ENOENT, "the view has no --job-dir");
		return fail(p, &e);
	}
	rc = profile_facts_read(&p->config, p->cache, p->metrics, p->config.mode >= PROFILE_TOP, &f,
				&e);
	if (rc < 0)
		return rc;
	if (kind == COMMAND_DUMP)
		rc = put_dump(p, f, (enum table_dump)what, path);
	else
		rc = !put_dumps(p, f) || !profiling_write(p, "ioctl-snapshot");
	profile_facts_free(f);
	return rc;
}

static int execute(struct profiling *p, int number, const char *path,
		   struct control_slowest *slowest)
{
	int i = find(number);

	if (slowest)
		return slowest_read(p->cache, p->config.target, slowest);
	atomic_fetch_add(&p->command_counts[i], 1);
	log_msg(LOG_INFO, "cache", "ioctl %d", number);
	switch (table[i].kind) {
	case COMMAND_DUMP:
	case COMMAND_SNAPSHOT:
		return write_out(p, table[i].kind, table[i].what, path);
	case COMMAND_RESET_SUM:
		metrics_reset(p->metrics, (enum metrics_sum)table[i].what);
		return 0;
	case COMMAND_RESET_PATHS:
		return reset_paths(p, (enum path_class)table[i].what);
	case COMMAND_CLEAR:
		return cache_clear(p->cache, true);
	case COMMAND_RESET:
		return reset_all(p);
	case COMMAND_DUMP_COUNTS:
		return put_counts_at_file(p, path);
	case COMMAND_RESET_COUNTS:
		for (size_t k = 0; k < ARRAY_LEN(table); k++)
			atomic_store(&p->command_counts[k], 0);
		return 0;
	}
	return -ENOTTY;
}

/* With the rights of the requester. */
static int execute_as(struct profiling *p, const struct queued *w)
{
	struct err e = { 0 };
	struct fsuser own;
	int rc;

	fsuser_read(&own);
	if (fsuser_enter(w->command.user, &e) < 0)
		return fail(p, &e);
	rc = execute(p, w->command.number, w->path, w->command.slowest);
	if (!fsuser_leave(&own))
		log_msg(LOG_WARN, "cache", "cannot return to the rights of user %u",
			(unsigned)own.uid);
	return rc;
}

void profiling_submit(struct profiling *p, const struct profiling_command *command,
		      const char *path)
{
	size_t len = strlen(path) + 1;
	struct queued *w = malloc(sizeof *w + len);
	bool is_taken = false;

	if (w) {
		w->command = *command;
		memcpy(w->path, path, len);
		pthread_mutex_lock(&p->lock);
		is_taken = !p->closing;
		if (is_taken)
			fifo_put(&p->commands, &w->link);
		pthread_cond_signal(&p->wake);
		pthread_mutex_unlock(&p->lock);
	}
	if (is_taken)
		return;
	command->done(command->request, w ? -ENODEV : -ENOMEM);
	free(w);
}

/* When the thread has to act without a command. */
struct plan {
	int64_t step_ns, files_ns; /* of the monotonic clock; INT64_MAX: never */
};

static struct plan next_plan(struct profiling *p, int64_t last_files_ns)
{
	struct plan plan = { INT64_MAX, INT64_MAX };

	if (p->config.mode == PROFILE_OFF)
		return plan;
	pthread_mutex_lock(&p->write_lock);
	plan.step_ns = p->config.start_ns + timeline_next_ns(&p->timeline);
	pthread_mutex_unlock(&p->write_lock);
	if (p->opts.interval_ns)
		plan.files_ns = last_files_ns + p->opts.interval_ns;
	return plan;
}

/* Under lock: the next command; NULL: the plan is due, or the end. */
static struct queued *await(struct profiling *p, const struct plan *plan)
{
	int64_t until_ns = plan->step_ns < plan->files_ns ? plan->step_ns : plan->files_ns;
	struct timespec until = { .tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S };
	int rc = 0;

	while (!p->commands.first && !p->closing && rc == 0)
		rc = until_ns == INT64_MAX ? pthread_cond_wait(&p->wake, &p->lock)
					   : pthread_cond_timedwait(&p->wake, &p->lock, &until);
	return (struct queued *)fifo_take(&p->commands);
}

static void keep_plan(struct profiling *p, const struct plan *plan, int64_t *last_files_ns)
{
	int64_t now_ns = clock_mono_ns();

	if (now_ns >= plan->step_ns)
		profiling_add_step(p);
	if (now_ns >= plan->files_ns) {
		*last_files_ns = now_ns;
		profiling_write(p, "runtime-snapshot");
	}
}

static void *work(void *profiling)
{
	struct profiling *p = profiling;
	int64_t last_files_ns = clock_mono_ns();
	bool is_over = false;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* the main thread handles them */
	while (!is_over) {
		struct plan plan = next_plan(p, last_files_ns);
		struct queued *w;

		pthread_mutex_lock(&p->lock);
		w = await(p, &plan);
		is_over = p->closing && !w;
		pthread_mutex_unlock(&p->lock);
		if (w) {
			w->command.done(w->command.request, execute_as(p, w));
			free(w);
		} else if (!is_over) {
			keep_plan(p, &plan, &last_files_ns);
		}
	}
	return NULL;
}

int profiling_start(struct profiling *p, struct err *e)
{
	int rc = pthread_create(&p->thread, NULL, work, p);

	if (rc)
		return err_set(e, -rc, "cannot start a thread: %s", strerror(rc));
	p->has_thread = true;
	return 0;
}

void profiling_stop(struct profiling *p)
{
	if (!p->has_thread)
		return;
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	p->has_thread = false;
}

/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/profiling.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compat/compat.h"
#include "base/log.h"
#include "cachefs/profile/profile_stacks.h"
#include "cachefs/profile/profile_summary.h"
#include "cachefs/profile/profile_tables.h"
#include "cachefs/profile/profiling_internal.h"
#include "view/markdown.h"

#define PROFILE_NAME "profile.pb.gz"
#define PRE_DESTROY "pre-destroy" /* the tag of the copies before the unmount */

int profiling_open(const struct profiling_opts *o, const struct profile_config *config,
		   struct cache *c, struct metrics *m, struct profiling **ret, struct err *e)
{
	struct profiling *p = calloc(1, sizeof *p);

	if (!p)
		return err_nomem(e);
	p->opts = *o;
	p->config = *config;
	p->config.mode = o->mode;
	p->config.top_paths = o->top_paths;
	p->config.is_copper = o->files.has_all;
	p->config.start_ns = clock_mono_ns();
	p->config.start_wall_ns = clock_wall_ns();
	p->cache = c;
	p->metrics = m;
	pthread_mutex_init(&p->write_lock, NULL);
	pthread_mutex_init(&p->lock, NULL);
	compat_cond_init(&p->wake);
	if (o->mode >= PROFILE_TOP)
		cache_enable_path_counts(c);
	*ret = p;
	return 0;
}

void profiling_close(struct profiling *p)
{
	if (!p)
		return;
	pthread_mutex_destroy(&p->write_lock);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	free(p);
}

void profiling_note_failure(struct profiling *p, const struct err *e)
{
	log_msg(LOG_WARN, "cache", "%s", e->msg);
	pthread_mutex_lock(&p->lock);
	strcpy(p->reason, e->msg);
	pthread_mutex_unlock(&p->lock);
}

int profiling_put_file(struct profiling *p, enum job_folder folder, const char *tag,
		       const char *base, struct buf *text, struct err *e)
{
	int rc = buf_error(text) < 0 ? err_nomem(e)
				     : job_files_put(&p->opts.files, folder, tag, base, text->data,
						     text->len, e);

	buf_clear(text);
	return rc;
}

/* One set of files. A failed file does not stop the others. */
struct writing {
	struct profiling *p;
	const struct profile_facts *f;
	struct buf text; /* of the next file */
	struct buf lost; /* the reasons why files are missing, as a list in Markdown */
};

static void note_lost(struct writing *w, const struct err *e)
{
	profiling_note_failure(w->p, e);
	buf_put_str(&w->lost, "- ");
	markdown_put_code(&w->lost, e->msg, strlen(e->msg));
	buf_put_byte(&w->lost, '\n');
}

/* made: the result of making the text, 0 or -ENOMEM. */
static void put_file(struct writing *w, enum job_folder folder, const char *base, int made)
{
	struct err e = { 0 };
	int rc = made < 0 ? err_nomem(&e)
			  : profiling_put_file(w->p, folder, w->f->tag, base, &w->text, &e);

	buf_clear(&w->text);
	if (rc < 0)
		note_lost(w, &e);
}

static void put_summary(struct writing *w)
{
	put_file(w, JOB_PROFILING, JOB_SUMMARY_NAME, profile_put_summary(w->f, &w->text));
}

/* Appends to the summary: on a full disk its last block mostly has room, when there is none for
 * another file. */
static void append_lost(struct writing *w)
{
	struct err e = { 0 };

	buf_put_str(&w->text, "\n## Not Written\n\nThese files are missing, or old.\n\n");
	buf_put(&w->text, w->lost.data, w->lost.len);
	if (buf_error(&w->text) < 0)
		return;
	if (job_files_append(&w->p->opts.files, JOB_PROFILING, w->f->tag, JOB_SUMMARY_NAME,
			     w->text.data, w->text.len, &e) < 0)
		log_msg(LOG_WARN, "cache", "the list of missing files: %s", e.msg);
}

static void put_totals(struct writing *w)
{
	profile_put_operations(w->f, &w->text);
	put_file(w, JOB_PROFILING, "profiling_operations.csv", 0);
	profile_put_aggregate(w->f, &w->text);
	put_file(w, JOB_PROFILING, "profiling_aggregate.csv", 0);
	profile_put_latency(w->f, &w->text);
	put_file(w, JOB_PROFILING, "profiling_latency.csv", 0);
	profile_put_timeline(&w->p->timeline, &w->text);
	put_file(w, JOB_PROFILING, "profiling_timeline.csv", 0);
	if (w->f->config->top_paths)
		put_file(w, JOB_PROFILING, "profiling_top_paths.csv",
			 profile_put_top_paths(w->f, &w->text));
}

static void put_paths(struct writing *w)
{
	static const enum table_dump dumps[] = { DUMP_DATA_EVENTS, DUMP_TREE_EVENTS,
						 DUMP_METADATA_EVENTS, DUMP_TTL_EVENTS };

	for (size_t i = 0; i < ARRAY_LEN(dumps); i++)
		put_file(w, JOB_TABLES, table_dump_names[dumps[i]],
			 table_dump_put(dumps[i], w->f, w->p->cache, &w->text));
	profile_put_paths(w->f, &w->text);
	put_file(w, JOB_PROFILING, "profiling_paths.csv", 0);
}

static int put_stacks(struct profiling *p, const struct profile_facts *f, struct err *e)
{
	CLEANUP(buf_fini) struct buf bytes = { 0 };
	struct profile *stacks;
	int rc = profile_make_stacks(f, &stacks, e);

	if (rc < 0)
		return rc;
	rc = p->opts.encode_profile(stacks, &bytes, e);
	profile_free(stacks);
	return rc < 0 ? rc : profiling_put_file(p, JOB_PROFILING, f->tag, PROFILE_NAME, &bytes, e);
}

void profiling_add_step(struct profiling *p)
{
	uint64_t sums[METRICS_SUMS] = { 0 };

	for (int op = 0; op < METRICS_OPS; op++) {
		uint64_t one[METRICS_SUMS];

		metrics_read_sums(p->metrics, (enum metrics_op)op, one);
		for (int i = 0; i < METRICS_SUMS; i++)
			sums[i] += one[i];
	}
	pthread_mutex_lock(&p->write_lock);
	timeline_add(&p->timeline, clock_mono_ns() - p->config.start_ns, sums);
	pthread_mutex_unlock(&p->write_lock);
}

/* The copies in case that the unmount hangs. */
static void remove_copies(const struct profiling *p)
{
	job_files_remove(&p->opts.files, JOB_PROFILING, PRE_DESTROY, JOB_SUMMARY_NAME);
	job_files_remove(&p->opts.files, JOB_PROFILING, PRE_DESTROY, PROFILE_NAME);
}

/* False: a file could not be written. The log and the summary, written first, have the reason. */
static bool put_all(struct profiling *p, const struct profile_facts *f)
{
	struct writing w = { p, f, { 0 }, { 0 } };
	struct err e = { 0 };
	bool is_good;

	put_summary(&w);
	if (p->opts.files.has_all)
		put_totals(&w);
	if (p->opts.files.has_all && p->config.mode == PROFILE_PATHS)
		put_paths(&w);
	if (p->config.mode >= PROFILE_TOP && put_stacks(p, f, &e) < 0)
		note_lost(&w, &e);
	is_good = !w.lost.len && buf_error(&w.lost) == 0;
	if (!is_good)
		append_lost(&w);
	buf_fini(&w.text);
	buf_fini(&w.lost);
	return is_good;
}

bool profiling_write(struct profiling *p, const char *tag)
{
	struct profile_facts *f = NULL;
	struct err e = { 0 };
	bool is_good;

	if (!p->opts.files.job || p->config.mode == PROFILE_OFF)
		return true;
	profiling_add_step(p);
	if (profile_facts_read(&p->config, p->cache, p->metrics, p->config.mode >= PROFILE_TOP, &f,
			       &e) < 0) {
		profiling_note_failure(p, &e);
		return false;
	}
	f->tag = tag;
	pthread_mutex_lock(&p->write_lock);
	is_good = put_all(p, f);
	if (is_good && !tag && !p->opts.files.has_all)
		remove_copies(p);
	pthread_mutex_unlock(&p->write_lock);
	profile_facts_free(f);
	return is_good;
}

static void add_requests(struct profiling *p, struct control_stats *ret)
{
	for (int op = 0; op < METRICS_OPS; op++) {
		uint64_t sums[METRICS_SUMS];

		metrics_read_sums(p->metrics, (enum metrics_op)op, sums);
		ret->requests += sums[METRICS_CALLS];
		ret->hits += sums[METRICS_HITS];
		ret->misses += sums[METRICS_MISSES];
		ret->failed += sums[METRICS_NEGATIVES];
		ret->bytes += sums[METRICS_BYTES];
		ret->latency_ns += sums[METRICS_NS];
		ret->wait_ns += sums[METRICS_STORAGE_NS];
	}
}

static void add_storage(const struct cache_counts *c, struct control_stats *ret)
{
	ret->storage_requests = atomic_load(&c->storage.calls);
	ret->storage_failures = atomic_load(&c->storage.failures);
	ret->storage_timeouts = atomic_load(&c->storage.timeouts);
	ret->storage_interrupts = atomic_load(&c->storage.interrupts);
	ret->stale = atomic_load(&c->stale);
}

void profiling_stats(struct profiling *p, struct control_stats *ret)
{
	const struct usage *usage = cache_usage(p->cache);
	const struct job_files *f = &p->opts.files;

	*ret = (struct control_stats){ .budget_bytes = p->config.budget_bytes,
				       .pid = getpid(),
				       .start_ns = p->config.start_wall_ns };
	add_requests(p, ret);
	add_storage(cache_counts(p->cache), ret);
	ret->hanging = cache_hanging(p->cache);
	for (int i = 0; i < USAGE_TABLES; i++) {
		ret->used_bytes[i] = atomic_load(&usage->bytes[i]);
		ret->entries[i] = atomic_load(&usage->entries[i]);
	}
	if (f->job && strlen(f->job) < sizeof ret->job)
		strcpy(ret->job, f->job);
	strcpy(ret->rank, f->rank);
	pthread_mutex_lock(&p->lock);
	strcpy(ret->reason, p->reason);
	pthread_mutex_unlock(&p->lock);
}

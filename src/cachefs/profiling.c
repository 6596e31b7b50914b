/* SPDX-License-Identifier: MIT */
#include "cachefs/profiling.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cachefs/profile_stacks.h"
#include "cachefs/profile_summary.h"
#include "cachefs/profile_tables.h"
#include "cachefs/profiling_inside.h"

int profiling_open(const struct profiling_opts *o, const struct profile_about *about,
		   struct cache *c, struct metrics *m, struct profiling **ret, struct err *e)
{
	struct profiling *p = calloc(1, sizeof *p);
	int rc;

	if (!p)
		return err_nomem(e);
	p->opts = *o;
	p->about = *about;
	p->about.mode = o->mode;
	p->about.top_paths = o->top_paths;
	p->about.start_ns = clock_mono_ns();
	p->about.start_wall_ns = clock_wall_ns();
	p->cache = c;
	p->metrics = m;
	pthread_mutex_init(&p->write_lock, NULL);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	rc = o->job ? job_files_open(&p->files, o->job, e) : 0;
	if (rc == 0 && o->mode >= PROFILE_TOP)
		cache_keep_counts(c);
	if (rc == 0)
		*ret = p;
	else
		profiling_close(p);
	return rc;
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

bool profiling_put_file(struct profiling *p, enum job_folder folder, const char *tag,
			const char *base, struct buf *text)
{
	struct err e = { 0 };

	if (buf_error(text) < 0)
		err_nomem(&e);
	else if (job_files_put(&p->files, folder, tag, base, text->data, text->len, &e) == 0)
		e.code = 0;
	if (e.code)
		log_msg(LOG_WARN, "cache", "%s", e.msg);
	buf_clear(text);
	return !e.code;
}

static bool put_profiling(struct profiling *p, const struct profile_facts *f, const char *base,
			  struct buf *text)
{
	return profiling_put_file(p, JOB_PROFILING, f->tag, base, text);
}

static bool put_totals(struct profiling *p, const struct profile_facts *f, struct buf *text)
{
	if (profile_put_summary(f, text) < 0 || !put_profiling(p, f, "profiling_summary.md", text))
		return false;
	profile_put_operations(f, text);
	if (!put_profiling(p, f, "profiling_operations.csv", text))
		return false;
	profile_put_aggregate(f, text);
	if (!put_profiling(p, f, "profiling_aggregate.csv", text))
		return false;
	profile_put_latency(f, text);
	if (!put_profiling(p, f, "profiling_latency.csv", text))
		return false;
	profile_put_timeline(&p->timeline, text);
	return put_profiling(p, f, "profiling_timeline.csv", text);
}

static bool put_top(struct profiling *p, const struct profile_facts *f, struct buf *text)
{
	if (!f->about->top_paths)
		return true;
	return profile_put_top_paths(f, text) == 0 &&
	       put_profiling(p, f, "profiling_top_paths.csv", text);
}

static bool put_paths(struct profiling *p, const struct profile_facts *f, struct buf *text)
{
	static const enum table_dump dumps[] = { DUMP_DATA_EVENTS, DUMP_TREE_EVENTS,
						 DUMP_METADATA_EVENTS, DUMP_ABSENT_EVENTS };

	if (f->about->mode < PROFILE_PATHS)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(dumps); i++)
		if (table_dump_put(dumps[i], f, p->cache, text) < 0 ||
		    !profiling_put_file(p, JOB_TABLES, f->tag, table_dump_names[dumps[i]], text))
			return false;
	profile_put_paths(f, text);
	return put_profiling(p, f, "profiling_paths.csv", text);
}

static int put_stacks(struct profiling *p, const struct profile_facts *f, struct err *e)
{
	char path[JOB_PATH_MAX];
	struct profile *stacks;
	int rc = job_files_path(&p->files, JOB_PROFILING, f->tag, "profile.pb.gz", path, e);

	if (rc == 0)
		rc = profile_make_stacks(f, &stacks, e);
	if (rc < 0)
		return rc;
	rc = p->opts.write_profile(stacks, path, e);
	profile_free(stacks);
	return rc;
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
	timeline_add(&p->timeline, clock_mono_ns() - p->about.start_ns, sums);
	pthread_mutex_unlock(&p->write_lock);
}

/* False: something could not be written, and that was told. */
static bool put_all(struct profiling *p, const struct profile_facts *f)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct err e = { 0 };
	bool is_good = put_totals(p, f, &text) && put_top(p, f, &text) && put_paths(p, f, &text);

	if (is_good && p->about.mode >= PROFILE_TOP && put_stacks(p, f, &e) < 0) {
		log_msg(LOG_WARN, "cache", "%s", e.msg);
		is_good = false;
	}
	return is_good;
}

bool profiling_write(struct profiling *p, const char *tag)
{
	struct profile_facts *f = NULL;
	struct err e = { 0 };
	bool is_good;

	if (!p->opts.job || p->about.mode == PROFILE_OFF)
		return true;
	profiling_add_step(p);
	if (profile_facts_read(&p->about, p->cache, p->metrics, p->about.mode >= PROFILE_TOP, &f,
			       &e) < 0) {
		log_msg(LOG_WARN, "cache", "%s", e.msg);
		return false;
	}
	f->tag = tag;
	pthread_mutex_lock(&p->write_lock);
	is_good = put_all(p, f);
	pthread_mutex_unlock(&p->write_lock);
	profile_facts_free(f);
	return is_good;
}

void profiling_stats(const struct profiling *p, struct control_stats *ret)
{
	const struct usage *usage = cache_usage(p->cache);

	*ret = (struct control_stats){ .budget_bytes = p->about.budget_bytes, .pid = getpid() };
	for (int i = 0; i < USAGE_TABLES; i++) {
		ret->used_bytes[i] = atomic_load(&usage->bytes[i]);
		ret->entries[i] = atomic_load(&usage->entries[i]);
	}
	if (p->opts.job && strlen(p->opts.job) < sizeof ret->job)
		strcpy(ret->job, p->opts.job);
}

/* SPDX-License-Identifier: MIT */
#include "stage/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "stage/names.h"
#include "stage/ticks.h"

struct report {
	const struct auger_profiler *p;
	const struct snapshot *s;
	struct text *out;
};

static void put_key(struct text *out, const char *key)
{
	char last = out->len ? out->data[out->len - 1] : '{';

	if (last != '{' && last != '[')
		text_put(out, ",", 1);
	text_put_quoted(out, key, strlen(key));
	text_put(out, ":", 1);
}

static void put_int(struct text *out, const char *key, int64_t value)
{
	put_key(out, key);
	text_put_int(out, value);
}

static void put_int_if(struct text *out, const char *key, bool is_known, int64_t value)
{
	put_key(out, key);
	if (is_known)
		text_put_int(out, value);
	else
		text_put_str(out, "null");
}

static void put_kb_if(struct text *out, const char *key, bool is_known, int64_t bytes)
{
	put_int_if(out, key, is_known, (bytes + (bytes < 0 ? -512 : 512)) / 1024);
}

static void put_s_if(struct text *out, const char *key, bool is_known, int64_t ns)
{
	put_key(out, key);
	if (is_known)
		text_put_seconds(out, ns);
	else
		text_put_str(out, "null");
}

static void put_bool(struct text *out, const char *key, bool value)
{
	put_key(out, key);
	text_put_str(out, value ? "true" : "false");
}

static void put_str(struct text *out, const char *key, const char *value)
{
	put_key(out, key);
	if (value)
		text_put_quoted(out, value, strlen(value));
	else
		text_put_str(out, "null");
}

/* A value of the environment: as a number if it is one. "": null. */
static void put_known(struct text *out, const char *key, const char *value)
{
	size_t digits = strspn(value, "0123456789");
	bool is_number =
		digits && digits < 19 && !value[digits] && (value[0] != '0' || digits == 1);

	if (!is_number) {
		put_str(out, key, *value ? value : NULL);
		return;
	}
	put_key(out, key);
	text_put_str(out, value);
}

/* The columns, in the order and with the names of auger-stage(3). */
static void put_first_columns(const struct report *r, const struct row *row)
{
	uint32_t groups = r->p->groups;
	bool has_py = (groups & GROUP_SOURCE) && strcmp(r->p->source_name, "py") == 0;
	const int64_t *total = row->total;

	put_int(r->out, "calls", (int64_t)row->calls);
	put_s_if(r->out, "wall_s", true, snapshot_ns(r->s, total[COST_WALL]));
	put_s_if(r->out, "wall_max_s", row->calls, snapshot_ns(r->s, (int64_t)row->wall_max));
	put_s_if(r->out, "cpu_s", groups & GROUP_PROCESS, total[COST_CPU_US] * 1000);
	put_kb_if(r->out, "py_kb_delta", has_py && row->source_peak.is_known, total[COST_SOURCE]);
	put_kb_if(r->out, "py_kb_peak_max", has_py && row->source_peak.is_known,
		  row->source_peak.value);
	put_int_if(r->out, "rss_kb_delta", profiler_has_rss(r->p), total[COST_RSS_KB]);
}

static void put_percentile(const struct report *r, const struct row *row, const char *key,
			   double share)
{
	put_s_if(r->out, key, row->calls,
		 row->calls ? snapshot_ns(r->s, (int64_t)row_percentile(row, share)) : 0);
}

static void put_times(const struct report *r, const struct row *row)
{
	bool has_thread =
		(r->p->groups & GROUP_THREAD) && row->total[COST_MIGRATED] < row->total[COST_WALL];
	int64_t wait_ns = snapshot_wait_ns(r->s, row->total);
	int64_t cpu_ns = snapshot_cpu_ns(r->s, row->total);

	put_s_if(r->out, "self_wall_s", true,
		 snapshot_ns(r->s, row->total[COST_WALL] - row->inner[COST_WALL]));
	put_s_if(r->out, "wall_min_s", row->calls, snapshot_ns(r->s, (int64_t)row->wall_min));
	put_percentile(r, row, "wall_p50_s", 0.50);
	put_percentile(r, row, "wall_p95_s", 0.95);
	put_percentile(r, row, "wall_p99_s", 0.99);
	put_s_if(r->out, "cpu_thread_s", has_thread, cpu_ns);
	put_s_if(r->out, "wait_s", has_thread, wait_ns);
}

static void put_source(const struct report *r, const struct row *row)
{
	char key[SOURCE_NAME_MAX + 16];

	if (!(r->p->groups & GROUP_SOURCE) || strcmp(r->p->source_name, "py") == 0)
		return;
	strcpy(stpcpy(key, r->p->source_name), "_kb_delta");
	put_kb_if(r->out, key, row->source_peak.is_known, row->total[COST_SOURCE]);
	strcpy(stpcpy(key, r->p->source_name), "_kb_peak_max");
	put_kb_if(r->out, key, row->source_peak.is_known, row->source_peak.value);
}

static void put_memory(const struct report *r, const struct row *row)
{
	bool heap = r->p->groups & GROUP_HEAP;
	bool rss_peak =
		row->rss_peak.is_known && (row->rss_peak.is_exact || profiler_has_rss(r->p));

	put_kb_if(r->out, "heap_kb_delta", heap, row->total[COST_HEAP]);
	put_kb_if(r->out, "heap_kb_peak_max", heap && row->heap_peak.is_known,
		  row->heap_peak.value);
	put_int_if(r->out, "allocs", heap, row->total[COST_ALLOCS]);
	put_kb_if(r->out, "alloc_kb", heap, row->total[COST_ALLOC_BYTES]);
	put_int_if(r->out, "rss_kb_peak", rss_peak, row->rss_peak.value);
	put_key(r->out, "rss_kb_peak_exact");
	if (rss_peak)
		text_put_str(r->out, row->rss_peak.is_exact ? "true" : "false");
	else
		text_put_str(r->out, "null");
}

static bool has_io(const struct auger_profiler *p)
{
	return (p->groups & GROUP_PROCESS) && p->files.io >= 0;
}

static void put_row(const struct report *r, uint32_t path, const struct row *row)
{
	const struct path *label = &r->s->paths[path];
	bool process = r->p->groups & GROUP_PROCESS;
	bool io = has_io(r->p);

	text_put_str(r->out, r->out->data && r->out->data[r->out->len - 1] == '}' ? ",{" : "{");
	put_key(r->out, "stage");
	text_put_quoted(r->out, label->label, label->len);
	put_first_columns(r, row);
	put_int(r->out, "depth", label->depth);
	put_times(r, row);
	put_source(r, row);
	put_memory(r, row);
	put_int_if(r->out, "minor_faults", process, row->total[COST_MINOR_FAULTS]);
	put_int_if(r->out, "major_faults", process, row->total[COST_MAJOR_FAULTS]);
	put_int_if(r->out, "ctx_switches", process, row->total[COST_SWITCHES]);
	put_kb_if(r->out, "read_kb", io, row->total[COST_READ_BYTES]);
	put_kb_if(r->out, "write_kb", io, row->total[COST_WRITE_BYTES]);
	put_int(r->out, "errors", (int64_t)row->errors);
	put_int(r->out, "open", (int64_t)row->open);
}

static void put_stages(const struct report *r)
{
	put_key(r->out, "stages");
	text_put(r->out, "[", 1);
	for (uint32_t i = 0; i < r->s->row_count; i++) {
		const struct row *row = r->s->rows[r->s->order[i]];

		put_row(r, r->s->order[i], row);
		put_int(r->out, "threads", (int64_t)row->threads);
		text_put(r->out, "}", 1);
	}
	text_put(r->out, "]", 1);
}

static void put_threads(const struct report *r, uint32_t *order)
{
	put_key(r->out, "threads");
	text_put(r->out, "[", 1);
	for (uint32_t i = 0; i < r->s->thread_count; i++) {
		const struct snapshot_thread *t = &r->s->threads[i];
		uint32_t count = snapshot_sort(r->s, t->rows, order);

		text_put_str(r->out, i ? ",{" : "{");
		put_int(r->out, "tid", t->tid);
		put_key(r->out, "stages");
		text_put(r->out, "[", 1);
		for (uint32_t k = 0; k < count; k++) {
			put_row(r, order[k], t->rows[order[k]]);
			text_put(r->out, "}", 1);
		}
		text_put_str(r->out, "]}");
	}
	text_put(r->out, "]", 1);
}

static const char *level_name(const struct auger_profiler *p)
{
	return p->opts.level == AUGER_FULL ? "full" : "time";
}

/* The source of each column, and how exact it is. */
static void put_sources(const struct report *r)
{
	const struct auger_profiler *p = r->p;
	const char *rss = p->plan.rss_ticks ? "statm after page faults or an interval" : "statm";

	put_str(r->out, "level", level_name(p));
	put_str(r->out, "clock", ticks_clock());
	put_str(r->out, "cpu_source", p->groups & GROUP_PROCESS ? "getrusage" : NULL);
	put_str(r->out, "cpu_thread_source",
		!(p->groups & GROUP_THREAD) ? NULL
		: p->has_perf_page          ? "perf page and thread clock"
					    : "thread clock");
	put_str(r->out, "rss_source", profiler_has_rss(p) ? rss : NULL);
	put_int_if(r->out, "rss_interval_us", profiler_has_rss(p), p->opts.rss_interval_us);
	put_str(r->out, "rss_peak_source",
		!(p->groups & GROUP_PROCESS) ? NULL
		: p->resets_rss              ? "high-water mark, reset at each boundary"
					     : "high-water mark, exact where it rose");
	put_str(r->out, "faults_source", p->groups & GROUP_PROCESS ? "getrusage" : NULL);
	put_str(r->out, "io_source", has_io(p) ? "/proc/self/io, once a millisecond" : NULL);
	put_str(r->out, "heap_source", p->groups & GROUP_HEAP ? "libauger-count" : NULL);
	put_str(r->out, "heap_peak_source",
		p->groups & GROUP_HEAP
			? "running maximum, exact but for 64 KiB of each other thread"
			: NULL);
	if (p->groups & GROUP_SOURCE) {
		char key[SOURCE_NAME_MAX + 16];

		strcpy(stpcpy(key, p->source_name), "_source");
		put_str(r->out, key, p->source_detail);
	}
}

/* A key with the resource manager's name, or that of Slurm: "slurm_job_id". */
static void put_job_value(const struct report *r, const char *name, const char *value)
{
	const char *manager = r->p->place.manager;
	char key[JOB_PLACE_LEN + 32];

	strcpy(stpcpy(key, *manager ? manager : "slurm"), name);
	put_known(r->out, key, value);
}

static void put_job(const struct report *r)
{
	const struct job_place *place = &r->p->place;

	put_job_value(r, "_job_id", place->job);
	put_job_value(r, "_array_job_id", place->array_job);
	put_job_value(r, "_array_task_id", place->array_task);
	put_job_value(r, "_step_id", place->step);
}

static void put_identity(const struct report *r)
{
	const struct job_place *place = &r->p->place;

	put_known(r->out, "host", place->host);
	put_int(r->out, "pid", getpid());
	put_str(r->out, "program", program_invocation_short_name);
	put_known(r->out, "rank", place->rank);
	put_job(r);
	put_s_if(r->out, "start_unix", true, (int64_t)r->p->start_ns);
	put_str(r->out, "version", AUGER_VERSION);
}

/* Keys of the caller. A later key of the same name is ours and wins. */
static void put_keys(const struct report *r)
{
	for (unsigned i = 0; i < r->p->key_count; i++) {
		if (r->p->keys[i].value)
			put_str(r->out, r->p->keys[i].name, r->p->keys[i].value);
	}
}

static void put_counts(const struct report *r)
{
	const struct auger_profiler *p = r->p;
	uint64_t errors = LOAD_ACQUIRE(p->stray_ends) + LOAD_ACQUIRE(p->bad_names);

	for (uint32_t i = 0; i < r->s->row_count; i++)
		errors += r->s->rows[r->s->order[i]]->errors;
	put_int(r->out, "errors", (int64_t)errors);
	put_int(r->out, "stray_ends", (int64_t)LOAD_ACQUIRE(p->stray_ends));
	put_int(r->out, "too_deep", (int64_t)LOAD_ACQUIRE(p->too_deep));
	put_int(r->out, "over_limit", (int64_t)LOAD_ACQUIRE(p->other_calls));
	put_int(r->out, "lost", (int64_t)LOAD_ACQUIRE(p->lost));
}

/*
 * Peak RSS in KiB: since the last exec (VmHWM), which getrusage() does not know. Where peaks are
 * reset, the maximum of getrusage() and the stages.
 */
static int64_t rss_peak_of(const struct report *r)
{
	const struct snapshot *s = r->s;
	int64_t peak = r->p->resets_rss ? -1 : counters_rss_hwm_kb();

	if (peak < 0)
		peak = s->now.rss_hwm;
	for (uint32_t i = 0; i < s->row_count; i++) {
		if (s->rows[s->order[i]]->rss_peak.value > peak)
			peak = s->rows[s->order[i]]->rss_peak.value;
	}
	return peak;
}

static void put_totals(const struct report *r)
{
	const struct auger_profiler *p = r->p;
	const struct snapshot *s = r->s;
	int64_t wall = s->now.at[COST_WALL] - s->reset.at[COST_WALL];
	bool has_py = (p->groups & GROUP_SOURCE) && strcmp(p->source_name, "py") == 0;
	put_str(r->out, "schema", "stage/1");
	put_s_if(r->out, "total_wall_s", true, snapshot_ns(s, wall));
	put_int_if(r->out, "rss_kb_now", s->rss_kb >= 0, s->rss_kb);
	put_bool(r->out, "python_memory_traced", has_py);
	put_s_if(r->out, "total_cpu_s", p->groups & GROUP_PROCESS,
		 (s->now.at[COST_CPU_US] - s->reset.at[COST_CPU_US]) * 1000);
	put_int_if(r->out, "rss_kb_peak", p->groups & GROUP_PROCESS, rss_peak_of(r));
	put_kb_if(r->out, "heap_kb_now", p->groups & GROUP_HEAP, s->now.at[COST_HEAP]);
}

uint32_t report_write(struct auger_profiler *p, struct text *out)
{
	struct report r = { .p = p, .out = out };
	struct snapshot s;
	uint32_t rows;

	pthread_mutex_lock(&p->lock);
	r.s = &s;
	if (snapshot_take(&s, p) < 0) {
		out->failed = true;
	} else {
		text_put(out, "{", 1);
		put_totals(&r);
		put_keys(&r);
		put_identity(&r);
		put_sources(&r);
		put_counts(&r);
		put_stages(&r);
		if (p->opts.per_thread)
			put_threads(&r, s.order);
		text_put(out, "}", 1);
	}
	rows = s.row_count;
	snapshot_fini(&s);
	pthread_mutex_unlock(&p->lock);
	return rows;
}

/* In the order of the report. */
bool report_has_key(const struct auger_profiler *p, const char *key)
{
	static const char *const keys[] = {
		"schema",
		"total_wall_s",
		"rss_kb_now",
		"python_memory_traced",
		"total_cpu_s",
		"rss_kb_peak",
		"heap_kb_now",
		"host",
		"pid",
		"program",
		"rank",
		"slurm_job_id",
		"slurm_array_job_id",
		"slurm_array_task_id",
		"slurm_step_id",
		"flux_job_id",
		"lsf_job_id",
		"lsf_array_task_id",
		"pbs_job_id",
		"pbs_array_job_id",
		"pbs_array_task_id",
		"start_unix",
		"version",
		"level",
		"clock",
		"cpu_source",
		"cpu_thread_source",
		"rss_source",
		"rss_interval_us",
		"rss_peak_source",
		"faults_source",
		"io_source",
		"heap_source",
		"heap_peak_source",
		"errors",
		"stray_ends",
		"too_deep",
		"over_limit",
		"lost",
		"stages",
		"threads",
	};
	size_t len = strlen(p->source_name);

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strcmp(key, keys[i]) == 0)
			return true;
	}
	return len && strncmp(key, p->source_name, len) == 0 && strcmp(key + len, "_source") == 0;
}

/* SPDX-License-Identifier: MIT */
/* stats: "cache stats". */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/output/outfile.h"
#include "cachejob/usage_table.h"
#include "cli/cache/cluster_stats.h"
#include "cli/cmd.h"
#include "cli/screen.h"
#include "view/emit.h"

struct args {
	const char *csv;
	bool is_cluster;
	int format; /* enum emit_format */
	int color;  /* enum color_when */
};

static const struct opt opts[] = {
	OPT_STR(0, "csv", "FILE", struct args, csv, "Write the table to FILE as CSV, too"),
	OPT_FLAG(0, "cluster", struct args, is_cluster,
		 "Report what all nodes did that serve the view, or the job, together"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Print in this format [default table]"),
	OPT_COLOR(struct args, color),
	OPT_END,
};

/* What a mounted cache reports, or the files below a folder. */
struct report {
	const char *place;
	bool is_view; /* stats and slowest are its */
	struct control_stats stats;
	struct control_slowest slowest;
	struct usage_totals totals;
};

static int read_report(const char *place, struct report *r, struct err *e)
{
	int rc = control_stats(place, &r->stats, e);

	r->place = place;
	if (rc == -ENOTTY)
		return usage_table_read(place, &r->totals, e);
	if (rc < 0)
		return rc;
	r->is_view = true;
	usage_table_of(&r->stats, &r->totals);
	return 0;
}

/* A line of the head that tables leave out when it is 0, unless they are verbose. */
static void put_if(struct emit *out, const char *key, uint64_t value)
{
	if (!value)
		emit_hide(out);
	emit_head_int(out, key, (int64_t)value);
}

static void put_requests(const struct control_stats *s, struct emit *out)
{
	emit_head_int(out, "requests", (int64_t)s->requests);
	emit_head_int(out, "hits", (int64_t)s->hits);
	emit_head_int(out, "misses", (int64_t)s->misses);
	emit_head_int(out, "failed", (int64_t)s->failed);
	emit_head_value(out, "read_bytes", (int64_t)s->bytes, "bytes");
	emit_head_int(out, "storage_requests", (int64_t)s->storage_requests);
	emit_head_value(out, "storage_wait_ns", (int64_t)s->wait_ns, "nanoseconds");
	emit_head_int(out, "storage_hanging", (int64_t)s->hanging);
}

static void put_troubles(const struct control_stats *s, struct emit *out)
{
	put_if(out, "storage_failures", s->storage_failures);
	put_if(out, "storage_timeouts", s->storage_timeouts);
	put_if(out, "callers_killed", s->storage_interrupts);
	put_if(out, "stale_files", s->stale);
}

static void put_slowest(const struct control_slowest *s, struct emit *out)
{
	emit_head_list(out, "slowest_paths");
	for (size_t i = 0; i < s->count; i++) {
		emit_hide(out);
		emit_head_item(out, s->paths[i].path);
	}
	emit_head_list_end(out);
}

static void put_more(const struct report *r, struct emit *out)
{
	const struct control_stats *s = &r->stats;

	emit_hide(out);
	emit_head_value(out, "latency_ns", (int64_t)s->latency_ns, "nanoseconds");
	emit_hide(out);
	emit_head_value(out, "uptime_ns", clock_wall_ns() - s->start_ns, "nanoseconds");
	emit_hide(out);
	emit_head_int(out, "pid", s->pid);
	emit_hide(out);
	emit_head_str(out, "job_dir", s->job);
	emit_hide(out);
	emit_head_str(out, "rank", s->rank);
	put_slowest(&r->slowest, out);
}

static void put_report(const struct report *r, struct emit *out)
{
	emit_head_str(out, r->is_view ? "view" : "folder", r->place);
	if (r->is_view) {
		put_requests(&r->stats, out);
		put_troubles(&r->stats, out);
		put_more(r, out);
	}
	usage_table_put(&r->totals, out);
	if (r->is_view && control_is_storage_fast(&r->stats))
		emit_note(out, "storage replies as fast as the cache: it does not pay here");
}

/* r NULL: shows the nodes of place. */
static int show(const struct report *r, const char *place, const struct args *args, struct err *e)
{
	CLEANUP(screen_rows_fini) struct screen_rows rows;

	screen_rows_begin(&rows, args->format, args->color);
	if (r)
		put_report(r, &rows.out);
	else if (cluster_stats_put(place, &rows.out, e) < 0)
		return e->code;
	return screen_rows_end(&rows, e);
}

static int run(int argc, char **argv, struct err *e)
{
	CLEANUP(buf_fini) struct buf csv = { 0 };
	struct report r = { .place = NULL };
	struct args args = { .format = EMIT_TABLE };
	int first, rc = cmd_parse(&cmd_cache_stats, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (argc != first + 1)
		return err_usage(e, "name one folder: a view, or a folder of jobs' files");
	if (args.is_cluster && args.csv)
		return err_usage(e, "--cluster and --csv exclude each other");
	if (args.is_cluster)
		return show(NULL, argv[first], &args, e);
	rc = read_report(argv[first], &r, e);
	if (rc == 0 && r.is_view && (cmd_is_verbose() || args.format == EMIT_JSON))
		rc = control_slowest(argv[first], &r.slowest, e);
	if (rc == 0)
		rc = show(&r, argv[first], &args, e);
	if (rc < 0 || !args.csv)
		return rc;
	usage_table_put_csv(&r.totals, &csv);
	return buf_error(&csv) < 0 ? err_nomem(e) : outfile_replace(args.csv, csv.data, csv.len, e);
}

const struct cmd cmd_cache_stats = {
	.name = "cache stats",
	.operands = "VIEW|DIR",
	.summary =
		"report hits, misses, waiting and memory of a mounted cache, or of a job's files",
	.verbose = "Also print times, identity and the slowest paths",
	.opts = opts,
	.run = run,
};

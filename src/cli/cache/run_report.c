/* SPDX-License-Identifier: MIT */
#include "cli/cache/run_report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "model/units.h"

#define PATHS_SHOWN 2

void run_report_read(const char *view, struct run_report *ret)
{
	if (control_stats(view, &ret->stats, &ret->reason) == 0 &&
	    control_slowest(view, &ret->slowest, &ret->reason) == 0)
		ret->reason.code = 0;
}

static void put_count(struct buf *out, uint64_t count, const char *noun)
{
	units_put_grouped(out, count);
	buf_printf(out, " %s%s", noun, count == 1 ? "" : "s");
}

static void put_counts(const struct control_stats *s, struct buf *out)
{
	buf_put_str(out, "auger cache: ");
	put_count(out, s->storage_requests, "request");
	buf_put_str(out, " to storage; ");
	units_put_grouped(out, s->hits);
	buf_put_str(out, " of ");
	put_count(out, s->hits + s->misses + s->failed, "request");
	buf_put_str(out, " answered from memory\nauger cache: ");
	if (s->bytes)
		units_put(out, (int64_t)s->bytes, "bytes");
	else
		buf_put_str(out, "nothing");
	buf_put_str(out, " read; ");
	units_put(out, (int64_t)s->wait_ns, "nanoseconds");
	buf_printf(out, " waiting for storage%s\n",
		   control_is_storage_fast(s) ? ", which is as fast as the cache" : "");
}

static void put_paths(const struct control_slowest *s, struct buf *out)
{
	for (size_t i = 0; i < PATHS_SHOWN; i++) {
		const struct control_path *path = &s->paths[i];

		buf_put_str(out, i ? "auger cache:          " : "auger cache: slowest: ");
		if (i < s->count) {
			units_put(out, (int64_t)path->ns, "nanoseconds");
			buf_put_str(out, " in ");
			put_count(out, path->requests, "request");
			buf_put_str(out, ": ");
			utf8_put_visible(out, path->path, strlen(path->path));
		} else {
			buf_put_byte(out, '-');
		}
		buf_put_byte(out, '\n');
	}
}

static void print_summary(const char *path)
{
	struct file_input in = { 0 };
	struct err e = { 0 };

	if (file_load(path, &in, &e) == 0)
		fprintf(stderr, "%.*s\n", (int)in.len, (const char *)in.data);
	else
		fprintf(stderr, "auger cache: no summary was written: %s\n", e.msg);
	file_input_fini(&in);
}

void run_report_print(const struct run_report *r, const struct cacherun_folders *f,
		      const char *rank)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	char path[PATH_MAX + JOB_RANK_MAX + 64];

	snprintf(path, sizeof path, "%s/profiling/final/%s-" JOB_SUMMARY_NAME, f->job, rank);
	if (cmd_is_verbose())
		print_summary(path);
	if (r->reason.code) {
		fprintf(stderr, "auger cache: no counts: %s\n", r->reason.msg);
	} else {
		put_counts(&r->stats, &text);
		put_paths(&r->slowest, &text);
	}
	if (!f->has_job)
		buf_put_str(&text, "auger cache: --job-dir DIR keeps the profile; -v prints it\n");
	else if (access(path, F_OK) == 0)
		buf_printf(&text, "auger cache: the profile is in %s/profiling/final\n", f->job);
	else
		buf_put_str(&text, "auger cache: the profile was not written\n");
	if (buf_error(&text) == 0)
		fputs(text.data, stderr);
}

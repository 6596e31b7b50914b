/* SPDX-License-Identifier: MIT */
/* The recorded runs of auger stat --scale, and the files that they become. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/outfile.h"
#include "cli/save.h"
#include "cli/stat/scale.h"
#include "sample/cpu.h"
#include "symbol/symbolize.h"
#include "usage/scale_runs.h"
#include "view/flame/flame.h"
#include "view/tables/growth.h"

#define HZ 999
#define STACK_BYTES 16384
#define FOLDERS_MAX 1000
#define PICTURE_WIDTH 1200
#define FAULT_SAMPLES 4096 /* of a copy: many faults are told of by some */

/* Copies that start when sampling has begun. */
struct beginning {
	struct copies *copies;
	bool has_begun;
	int rc;
	struct err *e;
};

static bool begin(void *context)
{
	struct beginning *b = context;

	if (!b->has_begun)
		b->rc = copies_start(b->copies, b->e);
	b->has_begun = true;
	return b->rc == 0;
}

/* Each so many page faults are a sample: at a frequency, the few faults of a small program would be
 * guessed from their first. */
static uint64_t fault_period(const struct scale_step *step)
{
	const int64_t *f = step->figures;

	return (uint64_t)(f[SCALE_MINOR] + f[SCALE_MAJOR]) / FAULT_SAMPLES + 1;
}

static int sample(struct copies *c, const pid_t *pids, struct scale_runs *r, size_t step,
		  struct profile *p, struct err *e)
{
	struct beginning b = { .copies = c, .e = e };
	struct cpu_opts o = { .event_count = 2,
			      .frequency_hz = HZ,
			      .stack = STACK_DWARF,
			      .stack_bytes = STACK_BYTES,
			      .pids = pids,
			      .pid_count = c->count,
			      .tick = begin,
			      .tick_context = &b };
	struct cpu_result result;
	struct cpu *cpu = NULL;
	int rc;

	o.events[0] = event_cpu_clock;
	rc = event_parse("page-faults", &(struct event_roots){ 0 }, &o.events[1], e);
	o.events[1].period = fault_period(&r->steps[step]);
	if (rc == 0)
		rc = cpu_new(&o, p, &cpu, e);
	if (rc == 0)
		rc = cpu_run(cpu, &result, e);
	if (rc == 0)
		rc = b.rc;
	if (rc == 0)
		rc = profile_check(p, e);
	if (rc == 0)
		rc = profile_symbolize(p, &(struct symbolize_opts){ .files = cpu_files(cpu) }, e);
	cpu_free(cpu);
	return rc;
}

/* Those that still run were not waited for, because we were told to end. */
static int wait_for_rest(struct scale_runs *r, struct copies *c, struct err *e)
{
	if (copies_terminate(c)) {
		r->is_over = true;
		r->status = 128 + SIGTERM;
	}
	return copies_wait(c, e);
}

static int record_copies(struct scale_runs *r, size_t step, struct copies *c, struct err *e)
{
	pid_t *pids = reallocarray(NULL, c->count, sizeof *pids);
	struct profile *p = profile_new();
	int rc = pids && p ? 0 : err_nomem(e);

	for (size_t i = 0; rc == 0 && i < c->count; i++)
		pids[i] = c->all[i].pid;
	if (rc == 0)
		rc = sample(c, pids, r, step, p, e);
	if (rc == 0)
		rc = wait_for_rest(r, c, e);
	free(pids);
	if (rc < 0)
		profile_free(p);
	else
		r->profiles[step] = p;
	return rc;
}

static int record_step(struct scale_runs *r, size_t step, struct err *e)
{
	const struct copies_opts o = { r->argv, (size_t)r->steps[step].copies, r->pins };
	struct copies c;
	int rc = copies_new(&o, &c, e);

	if (rc < 0)
		return rc;
	rc = record_copies(r, step, &c, e);
	copies_fini(&c);
	return rc;
}

static int check_folder(const char *name, struct err *e)
{
	struct stat st;

	if (stat(name, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "%s: %s", name, strerror(ENOTDIR));
	return access(name, W_OK | X_OK) < 0 ? err_errno(e, "%s", name) : 0;
}

/* Nothing is overwritten that was not named. */
int scale_runs_make_folder(struct scale_runs *r, const char *name, struct err *e)
{
	for (unsigned i = 1; i < FOLDERS_MAX; i++) {
		buf_clear(&r->folder);
		buf_put_str(&r->folder, name ? name : SCALE_FOLDER);
		if (i > 1)
			buf_printf(&r->folder, "-%u", i);
		if (buf_error(&r->folder) < 0)
			return err_nomem(e);
		r->is_folder_new = mkdir(r->folder.data, 0777) == 0;
		if (r->is_folder_new)
			return 0;
		if (errno != EEXIST)
			break;
		if (name)
			return check_folder(name, e);
	}
	return err_errno(e, "%s", r->folder.data);
}

static int keep_name(struct scale_runs *r, const struct buf *path, struct err *e)
{
	r->files[r->file_count] = strdup(path->data);
	if (!r->files[r->file_count])
		return err_nomem(e);
	r->file_count++;
	return 0;
}

static int save_step(struct scale_runs *r, size_t step, struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct output output;
	int rc;

	buf_printf(&path, "%s/%lld.pb.gz", r->folder.data, (long long)r->steps[step].copies);
	if (buf_error(&path) < 0)
		return err_nomem(e);
	rc = choose_output(path.data, NULL, "pprof", &output, e);
	if (rc == 0)
		rc = save_profile(r->profiles[step], &output, e);
	return rc < 0 ? rc : keep_name(r, &path, e);
}

/* before, after: of one copy each. */
static int draw(struct scale_runs *r, const struct profile *before, const struct profile *after,
		struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 }, svg = { 0 }, note = { 0 };
	struct flame_opts o = { .title = "What a copy does more of, and what less",
				.width = PICTURE_WIDTH,
				.other = before,
				.is_absolute = true };
	struct flame_stats stats;
	int type = profile_find_type(after, "cpu"), other = profile_find_type(before, "cpu"), rc;

	if (type < 0 || other < 0)
		return 0;
	buf_printf(&path, "%s/diff.svg", r->folder.data);
	buf_printf(&note, "CPU time of one of %lld copies, against %lld; colours: the change",
		   (long long)r->steps[r->step_count - 1].copies, (long long)r->steps[0].copies);
	if (buf_error(&path) < 0 || buf_error(&note) < 0)
		return err_nomem(e);
	o.note = note.data;
	o.type = (size_t)type;
	o.other_type = (size_t)other;
	rc = flame_write(after, &o, &svg, &stats, e);
	if (rc < 0)
		return rc;
	buf_fini(&stats.missing);
	rc = outfile_replace(path.data, svg.data, svg.len, e);
	return rc < 0 ? rc : keep_name(r, &path, e);
}

static int draw_difference(struct scale_runs *r, struct err *e)
{
	size_t last = r->step_count - 1;
	const struct growth_side sides[] = { { r->profiles[0], r->steps[0].copies },
					     { r->profiles[last], r->steps[last].copies } };
	struct profile *before = NULL, *after = NULL;
	int rc = growth_of_one(&sides[0], &before, e);

	if (rc == 0)
		rc = growth_of_one(&sides[1], &after, e);
	if (rc == 0)
		rc = draw(r, before, after, e);
	profile_free(before);
	profile_free(after);
	return rc;
}

static int save_all(struct scale_runs *r, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->step_count; i++)
		rc = save_step(r, i, e);
	return rc == 0 && r->step_count > 1 ? draw_difference(r, e) : rc;
}

int scale_runs_record(struct scale_runs *r, struct err *e)
{
	for (size_t i = 0; i < r->step_count && !r->is_over; i++) {
		int rc = record_step(r, i, e);

		if (rc == -EACCES || rc == -EPERM || rc == -ENOSYS || rc == -ENOENT) {
			log_msg(LOG_WARN, "stat", "without profiles: %s", e->msg);
			return 0;
		}
		if (rc < 0)
			return rc;
	}
	return r->is_over ? 0 : save_all(r, e);
}

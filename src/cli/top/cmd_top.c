/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "cli/sampling.h"
#include "cli/screen.h"
#include "cli/top/memory.h"
#include "cli/top/screen.h"
#include "sample/recording.h"
#include "source/save.h"
#include "symbol/elf/debuginfod.h"
#include "symbol/symbolize.h"
#include "view/top.h"

#define SAVED_PROFILE "auger.top.pb.gz"

struct args {
	struct sampling_args sampling;
	double delay;   /* seconds */
	double seconds; /* 0: no limit */
	bool is_batch;
	uint64_t count; /* refreshes; 0: no limit */
	uint64_t rows;
	int format; /* enum emit_format */
};

static const struct opt opts[] = {
	OPT_INCLUDE(struct args, sampling, sampling_opts),
	OPT_REAL('d', "duration", "SECONDS", struct args, seconds, 0, 1000000000,
		 "Stop after SECONDS [default: at Ctrl-C]"),
	OPT_REAL(0, "interval", "SECONDS", struct args, delay, 0, 3600,
		 "Refresh every SECONDS [default 1]"),
	OPT_UINT(0, "count", "N", struct args, count, 1, UINT64_MAX, "Stop after N refreshes"),
	OPT_FLAG(0, "batch", struct args, is_batch,
		 "Print each refresh instead of filling the screen"),
	OPT_UINT('n', "rows", "N", struct args, rows, 1, 1000000,
		 "Show N rows of a refresh (with --batch) [default 20]"),
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Write each refresh as a table, CSV or JSON (implies --batch) [default table]"),
	OPT_END,
};

struct top {
	const struct args *args;
	struct recording *cpu;
	struct profile *all; /* grows to TOP_MEMORY_MAX */
	struct top_view view;
	uint64_t memory_max;  /* bytes */
	bool was_full;        /* said once */
	int64_t next_scan_ns; /* CLOCK_MONOTONIC */
	uint64_t refreshes;
	bool is_screen;
	int error; /* of a refresh; e has the reason */
	struct err *e;
};

static int save(struct top *t)
{
	struct output output;
	int rc = choose_output(SAVED_PROFILE, NULL, NULL, &output, t->e);

	if (rc == 0)
		rc = save_profile(t->all, &output, t->e);
	if (rc == 0)
		top_view_say(&t->view, "saved as " SAVED_PROFILE);
	return rc;
}

static int show(struct top *t)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	size_t width = t->is_screen ? top_screen_width() : 0;
	size_t rows = t->is_screen ? top_screen_height() : t->args->rows;
	int rc = top_view_put(&t->view, width, rows, &text, t->e);

	if (rc < 0)
		return rc;
	if (buf_error(&text) < 0)
		return err_nomem(t->e);
	if (t->is_screen) {
		top_screen_show(&text, top_view_chosen_line(&t->view));
		return 0;
	}
	rc = file_write_all(STDOUT_FILENO, text.data, text.len);
	return rc < 0 ? err_set(t->e, rc, "standard output: %s", strerror(-rc)) : 0;
}

/* Code that was sampled for the first time is in mappings that were named before. */
static void forget_named(struct profile *p)
{
	for (uint32_t i = 1; i < profile_mapping_count(p); i++) {
		struct mapping m = *profile_get_mapping(p, i);

		m.has_functions = false;
		profile_set_mapping(p, i, &m);
	}
}

static int look(struct top *t)
{
	const struct symbolize_opts names = { .files = recording_files(t->cpu),
					      .no_inlines = true };
	int rc;

	forget_named(t->all);
	rc = profile_symbolize(t->all, &names, t->e);

	if (rc == 0)
		rc = top_view_take(&t->view, t->all, t->e);
	if (rc == 0)
		rc = show(t);
	t->refreshes++;
	return rc;
}

/* Whether to go on. */
static bool take_keys(struct top *t)
{
	bool is_changed = false;

	for (int key = top_screen_key(); key; key = top_screen_key()) {
		if (key == 'q')
			return false;
		if (key == 's')
			t->error = save(t);
		else
			top_view_key(&t->view, key);
		is_changed = true;
	}
	if (is_changed && t->error == 0)
		t->error = show(t);
	return true;
}

static void say_full(struct top *t)
{
	char text[96];

	snprintf(text, sizeof text, "%llu MiB are full: older samples are forgotten",
		 (unsigned long long)t->memory_max >> 20);
	if (t->is_screen)
		top_view_say(&t->view, text);
	else if (!t->was_full)
		log_msg(LOG_WARN, "top", "%s", text);
	t->was_full = true;
}

/* Drops older samples, after a refresh with those that were not shown yet. */
static int begin_anew(struct top *t)
{
	struct profile *fresh = profile_new();
	int rc = fresh ? recording_renew(t->cpu, fresh, t->e) : err_nomem(t->e);

	if (rc < 0) {
		profile_free(fresh);
		return rc;
	}
	profile_free(t->all);
	t->all = fresh;
	top_view_renew(&t->view);
	top_memory_trim();
	say_full(t);
	return 0;
}

static bool tick(void *context)
{
	struct top *t = context;
	int64_t now = clock_mono_ns();
	bool is_full;

	if (t->is_screen && !take_keys(t))
		return false;
	is_full = top_memory_used() > t->memory_max;
	if ((now < t->next_scan_ns && !is_full) || t->error < 0)
		return t->error == 0;
	t->next_scan_ns = now + (int64_t)(t->args->delay * (double)NS_PER_S);
	t->error = look(t);
	if (t->error == 0 && is_full)
		t->error = begin_anew(t);
	return t->error == 0 && (!t->args->count || t->refreshes < t->args->count);
}

/* The program's output would run over the picture: it goes nowhere while that is shown. */
static int silence(int fd)
{
	int saved = fcntl(fd, F_DUPFD_CLOEXEC, 3), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, fd);
		close(null);
	}
	return saved;
}

static void give_back(int fd, int saved)
{
	if (saved < 0)
		return;
	dup2(saved, fd);
	close(saved);
}

static int watch(struct top *t, const struct recording_opts *o)
{
	struct recording_result result;
	int rc = recording_new(o, t->all, &t->cpu, t->e);

	if (rc < 0)
		return rc;
	t->next_scan_ns = clock_mono_ns() + (int64_t)(t->args->delay * (double)NS_PER_S);
	rc = recording_run(t->cpu, &result, t->e);
	if (rc == 0)
		rc = t->error;
	/* what came after the last look */
	if (rc == 0 && !t->is_screen && !t->args->count)
		rc = look(t);
	return rc < 0 ? rc : result.status;
}

static int watch_on_screen(struct top *t, const struct recording_opts *o)
{
	int out, err, rc;

	rc = top_screen_open(t->e);
	if (rc < 0)
		return rc;
	t->is_screen = true;
	out = silence(STDOUT_FILENO);
	err = silence(STDERR_FILENO);
	rc = watch(t, o);
	top_screen_close();
	give_back(STDOUT_FILENO, out);
	give_back(STDERR_FILENO, err);
	return rc;
}

static int run_plan(struct top *t, struct sampling_plan *plan)
{
	bool is_batch = t->args->is_batch || t->args->format != EMIT_TABLE;
	bool is_screen = !is_batch && isatty(STDOUT_FILENO);
	int rc;

	debuginfod_set_urls(""); /* a refresh does not wait for a server */
	t->view.format = (enum emit_format)t->args->format;
	plan->opts.tick = tick;
	plan->opts.tick_context = t;
	t->all = profile_new();
	if (!t->all)
		return err_nomem(t->e);
	rc = is_screen ? watch_on_screen(t, &plan->opts) : watch(t, &plan->opts);
	recording_free(t->cpu);
	top_view_fini(&t->view);
	profile_free(t->all);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { .delay = 1, .rows = 20 };
	struct sampling_plan plan = { 0 };
	struct top top = { .args = &args, .memory_max = top_memory_max(), .e = e };
	int first, rc = cmd_parse(&cmd_top, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	top.view.is_verbose = cmd_is_verbose();
	args.sampling.is_all |= !argv[first] && !args.sampling.pids.count;
	rc = sampling_plan(&plan, &args.sampling, argv + first, e);
	plan.opts.duration_ns = (int64_t)(args.seconds * (double)NS_PER_S);
	if (rc == 0)
		rc = run_plan(&top, &plan);
	sampling_plan_fini(&plan);
	return rc;
}

const struct cmd cmd_top = {
	.name = "top",
	.operands = "[--] [CMD [ARG...]]",
	.summary = "show live where the machine, processes or a command spend their CPU time",
	.verbose = "Also show source file and line",
	.opts = opts,
	.runs_program = true,
	.run = run,
};

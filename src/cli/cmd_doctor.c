/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "cli/screen.h"
#include "doctor/doctor.h"
#include "view/emit.h"

struct args {
	int format; /* enum emit_format */
	int color;  /* enum color_when */
};

static const struct opt opts[] = {
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Write the checks as a table, CSV or JSON [default table]"),
	OPT_COLOR(struct args, color),
	OPT_END,
};

static const enum table_color colors[] = { TABLE_GOOD, TABLE_WARM, TABLE_BAD };

static void put_state(struct emit *out, enum doctor_state state)
{
	emit_color(out, colors[state]);
	emit_text(out, "state", doctor_states[state]);
}

static void put_check(struct emit *out, const struct doctor_check *check,
		      const struct doctor_finding *f)
{
	emit_text(out, "check", check->name);
	put_state(out, f->state);
	emit_text(out, "serves", check->serves);
	emit_name(out, "found", "", f->found, "");
	emit_hide(out);
	emit_text(out, "task", check->task->name);
	emit_hide(out);
	emit_text(out, "weight", doctor_weights[check->weight]);
	emit_hide(out);
	emit_optional(out, "remedy", f->remedy);
}

static void put_task(struct emit *out, const struct doctor_task *task,
		     const struct doctor_finding *sum)
{
	emit_text(out, "task", task->name);
	put_state(out, sum->state);
	emit_text(out, "serves", task->serves);
	emit_name(out, "found", "", sum->found, "");
}

static int probe(const struct doctor_check *c, struct doctor_finding *ret, struct err *e)
{
	int64_t start_ns = clock_mono_ns();

	*ret = (struct doctor_finding){ 0 };
	c->probe(ret);
	log_msg(LOG_INFO, "doctor", "%s: checked in %.1f ms", c->name,
		(double)(clock_mono_ns() - start_ns) / 1e6);
	return ret->bad ? err_nomem(e) : 0;
}

static void put_header(struct emit *out, bool is_short)
{
	const struct doctor_finding nothing = { 0 };

	emit_columns(out);
	if (is_short)
		put_task(out, doctor_checks[0].task, &nothing);
	else
		put_check(out, &doctor_checks[0], &nothing);
}

/* A row a check, or, if short, a row a task with what those of its checks found that count; their
 * remedies are below the table then, because its lines have an end. */
static int put_rows(struct emit *out, bool is_short, bool *ret_can_record, struct err *e)
{
	struct doctor_finding sum = { 0 }, f;

	put_header(out, is_short);
	for (const struct doctor_check *c = doctor_checks; c->name; c++) {
		if (probe(c, &f, e) < 0)
			return e->code;
		if (c == doctor_checks)
			*ret_can_record = f.state != DOCTOR_FAILS;
		doctor_sum(&sum, c, &f);
		if (is_short && f.remedy[0] && c->weight != DOCTOR_EXTRA)
			emit_note(out, "%s: %s", c->name, f.remedy);
		if (is_short && c[1].task == c->task)
			continue;
		emit_row(out);
		if (is_short)
			put_task(out, c->task, &sum);
		else
			put_check(out, c, &f);
		sum = (struct doctor_finding){ 0 };
	}
	return 0;
}

static int show(const struct args *args, struct err *e)
{
	CLEANUP(screen_rows_fini) struct screen_rows rows;

	bool is_short = args->format == EMIT_TABLE && !cmd_is_verbose();
	bool can_record = false;

	screen_rows_begin(&rows, args->format, args->color);
	if (put_rows(&rows.out, is_short, &can_record, e) < 0 || screen_rows_end(&rows, e) < 0)
		return e->code;
	return can_record ? 0 : EXIT_FAILURE;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
	int first, rc = cmd_parse(&cmd_doctor, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (first < argc)
		return err_usage(e, "'%s': doctor takes no operands", argv[first]);
	return show(&args, e);
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "check what works on this machine, and print the remedy for what does not",
	.verbose = "Print each check with its remedy, and how long it takes",
	.opts = opts,
	.run = run,
};

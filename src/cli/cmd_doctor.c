/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "cli/screen.h"
#include "doctor/doctor.h"
#include "view/emit.h"

struct args {
	int format; /* enum emit_format */
	int color;  /* enum colour_when */
};

static const struct opt opts[] = {
	OPT_CHOICE('f', "format", "table|csv|json", struct args, format, emit_formats,
		   "Write the checks as a table, CSV or JSON [default table]"),
	OPT_COLOUR(struct args, color),
	OPT_END,
};

static const enum table_color colors[] = { TABLE_GOOD, TABLE_WARM, TABLE_BAD };

static void put_row(struct emit *out, const struct doctor_check *check,
		    const struct doctor_finding *f)
{
	emit_text(out, "check", check->name);
	emit_color(out, colors[f->state]);
	emit_text(out, "state", doctor_states[f->state]);
	emit_text(out, "serves", check->serves);
	emit_name(out, "found", "", f->found, "");
	emit_hide(out);
	emit_optional(out, "remedy", f->remedy);
}

/* Tables have them below, because lines have an end. */
static int put_checks(struct emit *out, struct err *e)
{
	const struct doctor_finding nothing = { 0 };

	emit_columns(out);
	put_row(out, &doctor_checks[0], &nothing);
	for (const struct doctor_check *c = doctor_checks; c->name; c++) {
		struct doctor_finding f = { 0 };

		int64_t start_ns = clock_mono_ns();

		c->probe(&f);
		log_msg(LOG_INFO, "doctor", "%s: checked in %.1f ms", c->name,
			(double)(clock_mono_ns() - start_ns) / 1e6);
		if (f.bad)
			return err_nomem(e);
		emit_row(out);
		put_row(out, c, &f);
		if (f.remedy[0] && !cmd_is_verbose())
			emit_note(out, "%s: %s", c->name, f.remedy);
	}
	return 0;
}

static int show(const struct args *args, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(emit_fini) struct emit out;
	struct screen screen = screen_get((enum colour_when)args->color);
	const struct emit_opts o = { (enum emit_format)args->format, screen.width, screen.has_color,
				     cmd_is_verbose() };

	emit_begin(&out, &o, &text);
	if (put_checks(&out, e) < 0)
		return e->code;
	return emit_end(&out) < 0 ? err_nomem(e) : screen_show(&screen, &text, e);
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
	.verbose = "Also print how long each check takes, with the remedies in the table",
	.opts = opts,
	.run = run,
};

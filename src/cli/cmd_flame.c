/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output/outfile.h"
#include "cli/cmd.h"
#include "cli/grouping.h"
#include "cli/picture.h"
#include "cli/profile_opts.h"
#include "model/label_roots.h"
#include "model/wait_frames.h"
#include "model/wall.h"
#include "source/inputs.h"
#include "source/load.h"
#include "view/activity.h"
#include "view/flame/flame.h"

#define DEFAULT_PICTURE "flame.svg"
#define DEFAULT_WIDTH 1200
#define MIN_WIDTH 320
#define MAX_WIDTH 20000

struct args {
	const char *output; /* NULL: DEFAULT_PICTURE, or standard output when that is no terminal */
	const char *title, *value, *from;
	const char *by;      /* key of a label, "thread" or "class"; NULL: one root for all */
	const char *classes; /* file of rules, or NULL */
	uint64_t width;
	double min_percent;
	int colors;    /* enum flame_colors */
	int normalize; /* in normalizations */
	bool is_icicle, is_reversed;
	bool is_diff, is_negated, is_wall, has_kernel_frames;
	struct filter_args filter;
	struct binaries_args places;
};

static const char *const normalizations[] = { "none", "total", NULL };

static const struct opt opts[] = {
	OPT_OUTPUT('o', "output", "FILE", struct args, output,
		   "Write the picture to FILE [default flame.svg; standard output if redirected]"),
	OPT_STR(0, "title", "TEXT", struct args, title, "Set the title [default Flame graph]"),
	OPT_CHOICE(0, "colors", "module|name|hot|plain", struct args, colors, flame_colors_names,
		   "Color by kind of code, by name, or alike [default module]"),
	OPT_STR(0, "by", "LABEL", struct args, by,
		"Draw a root for each thread, comm, pid, rank, class or value of another label"),
	OPT_CLASSES(struct args, classes),
	OPT_FLAG(0, "icicle", struct args, is_icicle, "Draw the root on top"),
	OPT_FLAG(0, "reverse", struct args, is_reversed,
		 "Merge stacks from their leaves: callers on callees"),
	OPT_REAL(0, "min-percent", "P", struct args, min_percent, 0, 100,
		 "Leave out frames below P % [default: below a tenth of a pixel]"),
	OPT_UINT(0, "width", "PIXELS", struct args, width, MIN_WIDTH, MAX_WIDTH,
		 "Draw PIXELS wide where the width does not follow the window [default 1200]"),
	OPT_STR(0, "value", "TYPE", struct args, value,
		"Show this sample type [default: the one that the profile names]"),
	OPT_STR(0, "from", "FORMAT", struct args, from,
		"Read FILE as this format [default: by its content]"),
	OPT_FLAG(0, "wall", struct args, is_wall,
		 "Draw time on and off the CPU in one picture, from 'record --off-cpu'"),
	OPT_FLAG(0, "diff", struct args, is_diff, "Color by the change from FILE to FILE2"),
	OPT_FLAG(0, "negate", struct args, is_negated,
		 "Draw the widths of FILE, not of FILE2 (with --diff)"),
	OPT_CHOICE(0, "normalize", "none|total", struct args, normalize, normalizations,
		   "Compare values, or shares of the total (with --diff) [default none]"),
	OPT_INCLUDE(struct args, filter, filter_opts),
	OPT_KERNEL_FRAMES(struct args, has_kernel_frames),
	OPT_INCLUDE(struct args, places, places_opts),
	OPT_END,
};

static void print_summary(const char *output, const struct flame_stats *s)
{
	fprintf(stderr, "%s: %zu frame%s drawn", strcmp(output, "-") == 0 ? "flame graph" : output,
		s->drawn, s->drawn == 1 ? "" : "s");
	if (s->zoomable)
		fprintf(stderr, ", %zu more when zoomed", s->zoomable);
	if (s->narrow)
		fprintf(stderr, ", %zu too narrow left out", s->narrow);
	if (s->deep)
		fprintf(stderr, ", %zu deeper than %d levels left out", s->deep, FLAME_MAX_LEVELS);
	if (s->negative)
		fprintf(stderr, ", %zu negative values taken as 0", s->negative);
	fputc('\n', stderr);
	if (s->missing.len)
		fprintf(stderr, "%s\n", s->missing.data);
}

/* One or two profiles, and the value of each. */
struct drawing {
	struct inputs inputs[2]; /* [1] empty: nothing is compared */
	struct buf names[2];
	struct profile *profiles[2]; /* [1] NULL: a single one */
	size_t types[2];
	bool is_diff; /* types of one profile, or two profiles */
	bool is_wall; /* the first type, and what of it is off the CPU */
};

static void drawing_fini(struct drawing *d)
{
	for (size_t i = 0; i < ARRAY_LEN(d->inputs); i++) {
		inputs_close(&d->inputs[i]);
		buf_fini(&d->names[i]);
		profile_free(d->profiles[i]);
	}
}

/* Replaces *p by a profile with a root for each value of the label. */
static int add_roots(struct profile **p, const char *by, const char *name, struct err *e)
{
	struct profile *rooted;
	int rc = profile_label_roots(*p, by, &rooted, e);

	if (rc < 0)
		return err_wrap(e, "%s", name);
	profile_free(*p);
	*p = rooted;
	return 0;
}

static bool is_by_class(const struct args *args)
{
	return args->by && strcmp(args->by, ACTIVITY_LABEL) == 0;
}

static int load_one(struct drawing *in, size_t i, const struct args *args, struct err *e)
{
	const struct inputs_opts o = { .from = args->from, .places = &args->places };
	struct profile **p = &in->profiles[i];
	int rc = inputs_load(&in->inputs[i], &o, p, e);

	if (rc < 0)
		return rc;
	inputs_describe(&in->inputs[i], &in->names[i]);
	if (buf_error(&in->names[i]) < 0)
		return err_nomem(e);
	rc = choose_type(*p, args->value, &in->types[i], e);
	if (rc == 0 && !profile_type_count(*p))
		rc = err_set(e, -EINVAL, "%s: has no values to draw", in->names[i].data);
	if (rc == 0 && is_by_class(args))
		rc = grouping_label_classes(p, args->classes, e);
	if (rc == 0)
		rc = apply_filter(p, &args->filter, e);
	if (rc == 0 && !args->has_kernel_frames)
		rc = profile_charge_waits(p, WAIT_LEAF_REASON, e);
	return rc == 0 && args->by ? add_roots(p, args->by, in->names[i].data, e) : rc;
}

/* The wall clock instead of the times that are its parts. */
static int make_wall(struct drawing *in, struct err *e)
{
	struct profile *wall;
	struct wall_types types;
	int rc = profile_wall(in->profiles[0], &wall, &types, e);

	if (rc < 0)
		return err_wrap(e, "%s", in->names[0].data);
	profile_free(in->profiles[0]);
	in->profiles[0] = wall;
	in->types[0] = types.wall;
	in->types[1] = types.off;
	in->is_wall = true;
	return 0;
}

/* Both must be of one kind: the second has what was chosen of the first. */
static int choose_same_type(struct drawing *in, struct err *e)
{
	struct value_type type = profile_get_type(in->profiles[0], in->types[0]);
	const char *name = profile_text(in->profiles[0], type.type);
	const char *unit = profile_text(in->profiles[0], type.unit);
	int found = profile_find_type(in->profiles[1], name);

	if (found >= 0)
		type = profile_get_type(in->profiles[1], (size_t)found);
	if (found < 0 || strcmp(profile_text(in->profiles[1], type.unit), unit) != 0)
		return err_set(e, -EINVAL, "%s: has no '%s' in '%s' to compare with",
			       in->names[1].data, name, unit);
	in->types[1] = (size_t)found;
	return 0;
}

static int load(struct drawing *in, const struct args *args, struct err *e)
{
	int rc = load_one(in, 0, args, e);

	if (rc == 0 && in->inputs[1].count)
		rc = load_one(in, 1, args, e);
	if (rc == 0 && in->profiles[1])
		rc = choose_same_type(in, e);
	if (rc == 0 && args->is_wall)
		return make_wall(in, e);
	if (rc < 0)
		return rc;
	in->is_diff = in->profiles[1] || (picture_has_two_values(in->profiles[0]) && !args->value);
	if (!in->profiles[1] && in->is_diff) {
		in->types[0] = 0;
		in->types[1] = 1;
	}
	if (args->is_diff && !in->is_diff)
		return err_usage(e, "--diff: name two files, before and after");
	if ((args->is_negated || args->normalize) && !in->is_diff)
		return err_usage(e, "--%s goes with --diff",
				 args->is_negated ? "negate" : "normalize");
	return 0;
}

/* What is compared or added up, and what the filter keeps; empty: everything of one profile. */
static void put_note(struct buf *out, const struct drawing *in, const struct filter_args *filter)
{
	CLEANUP(buf_fini) struct buf words = { 0 };

	describe_filter(filter, &words);
	out->bad |= words.bad;
	if (in->profiles[1])
		buf_printf(out, "from %s to %s", in->names[0].data, in->names[1].data);
	else if (in->inputs[0].count > 1)
		buf_printf(out, "sum of %s", in->names[0].data);
	if (words.len)
		buf_printf(out, "%sonly %s", out->len ? ", " : "", words.data);
}

static struct flame_opts make_opts(const struct args *args, const struct drawing *in,
				   const struct buf *note)
{
	size_t drawn = in->is_diff && !args->is_negated;
	struct flame_opts o = {
		.title = args->title,
		.note = note->len ? note->data : NULL,
		.type = in->types[drawn],
		.width = (unsigned)args->width,
		.min_percent = args->min_percent,
		.colors = (enum flame_colors)args->colors,
		.is_icicle = args->is_icicle,
		.is_reversed = args->is_reversed,
	};

	if (in->is_wall) {
		o.other = in->profiles[0];
		o.other_type = in->types[1];
		o.is_wall = true;
	}
	if (in->is_diff) {
		o.other = in->profiles[in->profiles[1] ? !drawn : 0];
		o.other_type = in->types[!drawn];
		o.is_negated = args->is_negated;
		o.is_absolute = !args->normalize;
	}
	return o;
}

static int draw(const struct drawing *in, const struct args *args, const char *output,
		struct err *e)
{
	CLEANUP(buf_fini) struct buf svg = { 0 }, note = { 0 };
	const struct profile *drawn = in->profiles[in->profiles[1] && !args->is_negated];
	struct flame_stats stats;
	struct flame_opts o;
	int rc;

	put_note(&note, in, &args->filter);
	if (buf_error(&note) < 0)
		return err_nomem(e);
	o = make_opts(args, in, &note);
	rc = flame_write(drawn, &o, &svg, &stats, e);
	if (rc < 0)
		return rc;
	log_msg(LOG_INFO, "flame", "%zu bytes, %zu frames drawn, %zu too narrow, %zu too deep",
		svg.len, stats.drawn, stats.narrow, stats.deep);
	rc = outfile_replace(output, svg.data, svg.len, e);
	if (rc == 0)
		print_summary(output, &stats);
	buf_fini(&stats.missing);
	return rc;
}

static int check_usage(const struct args *args, int operands, struct err *e)
{
	if (args->is_diff && operands > 2)
		return err_usage(e, "--diff: two files, before and after");
	if (args->classes && !is_by_class(args))
		return err_usage(e, "--classes goes with --by class");
	if (args->is_wall && (args->is_diff || args->is_negated || args->normalize || args->value))
		return err_usage(e, "--wall goes with neither --diff nor --value");
	return 0;
}

/* With --diff, the second name is the other side; else all are one. */
static int open_inputs(struct drawing *in, const struct args *args, char *const *names,
		       size_t count, struct err *e)
{
	bool is_pair = args->is_diff && count == 2;
	int rc = inputs_open(&in->inputs[0], names, is_pair ? 1 : count, NULL, e);

	return rc == 0 && is_pair ? inputs_open(&in->inputs[1], names + 1, 1, NULL, e) : rc;
}

static int run(int argc, char **argv, struct err *e)
{
	CLEANUP(drawing_fini) struct drawing in = { 0 };
	struct args args = { .width = DEFAULT_WIDTH };
	const char *output;
	int first, rc = cmd_parse(&cmd_flame, &args, argc, argv, &first, e);

	if (rc == 0)
		rc = check_usage(&args, argc - first, e);
	if (rc == 0)
		rc = open_inputs(&in, &args, argv + first, (size_t)(argc - first), e);
	output = args.output ? args.output : isatty(STDOUT_FILENO) ? DEFAULT_PICTURE : "-";
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(in.inputs); i++)
		rc = picture_check_output(output, "an SVG picture", in.inputs[i].paths,
					  in.inputs[i].count, e);
	if (rc == 0)
		rc = load(&in, &args, e);
	return rc < 0 ? rc : draw(&in, &args, output, e);
}

const struct cmd cmd_flame = {
	.name = "flame",
	.operands = "[FILE|FOLDER...]",
	.summary = "draw a profile, or the change between two, as an interactive SVG flame graph",
	.verbose = "Also print what is read, drawn and left out",
	.opts = opts,
	.run = run,
};

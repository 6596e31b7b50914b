/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output/outfile.h"
#include "cli/cmd.h"
#include "cli/grouping.h"
#include "cli/picture.h"
#include "cli/profile_opts.h"
#include "cli/view/page_sources.h"
#include "model/diff.h"
#include "model/wait_frames.h"
#include "source/inputs.h"
#include "source/load.h"
#include "view/page/page.h"

#define DEFAULT_PAGE "auger.html"

extern char **environ;

struct args {
	const char *output; /* NULL: DEFAULT_PAGE, or standard output when that is no terminal */
	const char *title, *value, *from, *classes;
	int normalize; /* in normalizations */
	bool is_opened, is_merge, has_kernel_frames, has_source;
	struct filter_args filter;
	struct binaries_args places;
};

static const char *const normalizations[] = { "none", "total", NULL };

static const struct opt opts[] = {
	OPT_OUTPUT('o', "output", "FILE", struct args, output,
		   "Write the page to FILE [default auger.html; standard output if redirected]"),
	OPT_FLAG(0, "open", struct args, is_opened, "Open the page in the desktop's browser"),
	OPT_STR(0, "title", "TEXT", struct args, title, "Set the title [default: the file's name]"),
	OPT_FLAG(0, "source", struct args, has_source,
		 "Put in the source and instructions of the functions with the largest self"),
	OPT_FLAG(0, "merge", struct args, is_merge,
		 "Add up two files; three and more are always added up"),
	OPT_CHOICE(0, "normalize", "none|total", struct args, normalize, normalizations,
		   "Compare values, or shares of the total, at first [default none]"),
	OPT_STR(0, "value", "TYPE", struct args, value,
		"Show this sample type at first [default: the one that the profile names]"),
	OPT_STR(0, "from", "FORMAT", struct args, from,
		"Read the files as this format [default: by their content]"),
	OPT_CLASSES(struct args, classes),
	OPT_INCLUDE(struct args, filter, filter_opts),
	OPT_KERNEL_FRAMES(struct args, has_kernel_frames),
	OPT_INCLUDE(struct args, places, places_opts),
	OPT_END,
};

/* What the page shows. */
struct input {
	struct inputs files; /* all; of a difference, both sides */
	struct profile *profile;
	const char *compared; /* a difference: of what; owned by names or profile */
	struct buf names;
	size_t type;
	bool is_diff;
	struct report_facts facts;
};

static void input_fini(struct input *in)
{
	inputs_close(&in->files);
	profile_free(in->profile);
	buf_fini(&in->names);
}

static int check_values(const struct profile *p, const struct inputs *files, struct err *e)
{
	CLEANUP(buf_fini) struct buf name = { 0 };

	if (profile_type_count(p))
		return 0;
	inputs_describe(files, &name);
	return buf_error(&name) < 0 ? err_nomem(e)
				    : err_set(e, -EINVAL, "%s: has no values to show", name.data);
}

/* What the options leave of a profile, with classes of activity. */
static int select_stacks(struct profile **p, const struct args *args, struct err *e)
{
	int rc = grouping_label_classes(p, args->classes, e);

	if (rc == 0)
		rc = apply_filter(p, &args->filter, e);
	if (rc == 0 && !args->has_kernel_frames)
		rc = profile_charge_waits(p, WAIT_LEAF_NAMED, e);
	return rc;
}

/* As inputs_opts.label: the samples of each file are labeled with its name. */
static int label_file(void *context, const char *path, size_t number, struct text_label **ret,
		      size_t *ret_count, struct err *e)
{
	struct text_label *label = context;

	(void)number;
	(void)e;
	*label = (struct text_label){ "file", path };
	*ret = label;
	*ret_count = 1;
	return 0;
}

/* A profile whose values can be shown, with all that its files have about them. */
static int load_all(struct inputs *files, const struct args *args, struct profile **ret,
		    struct err *e)
{
	struct text_label label;
	const struct inputs_opts o = {
		.from = args->from, .places = &args->places, .label = label_file, .context = &label
	};
	int rc = inputs_load(files, &o, ret, e);

	return rc < 0 ? rc : check_values(*ret, files, e);
}

static int load_sum(struct input *in, const struct args *args, struct err *e)
{
	int rc = load_all(&in->files, args, &in->profile, e);

	if (rc == 0)
		rc = choose_type(in->profile, args->value, &in->type, e);
	if (rc < 0)
		return rc;
	in->facts = report_facts(in->profile, in->type);
	in->is_diff = picture_has_two_values(in->profile) && !args->value;
	if (in->is_diff)
		in->type = DIFF_AFTER;
	rc = select_stacks(&in->profile, args, e);
	if (rc == 0 && in->is_diff)
		in->compared = profile_text(in->profile, profile_get_type(in->profile, 1).type);
	return rc;
}

static int compare(struct input *in, struct profile *const *sides, const char *value, struct err *e)
{
	struct value_type type;
	size_t index;
	int rc = choose_type(sides[0], value, &index, e);

	if (rc < 0)
		return rc;
	type = profile_get_type(sides[0], index);
	buf_put_str(&in->names, profile_text(sides[0], type.type));
	if (buf_error(&in->names) < 0)
		return err_nomem(e);
	in->compared = in->names.data;
	in->type = DIFF_AFTER;
	in->is_diff = true;
	return profile_diff(sides[0], sides[1], in->compared, profile_text(sides[0], type.unit),
			    &in->profile, e);
}

static int load_side(struct input *in, size_t side, const struct args *args, struct profile **ret,
		     struct err *e)
{
	CLEANUP(inputs_close) struct inputs files = { 0 };
	size_t type;
	int rc = inputs_open(&files, in->files.names + side, 1, NULL, e);

	if (rc == 0)
		rc = load_all(&files, args, ret, e);
	if (rc == 0)
		rc = choose_type(*ret, args->value, &type, e);
	if (rc < 0)
		return rc;
	in->facts = report_facts(*ret, type);
	return select_stacks(ret, args, e);
}

static int load_diff(struct input *in, const struct args *args, struct err *e)
{
	struct profile *sides[2] = { NULL, NULL };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(sides); i++)
		rc = load_side(in, i, args, &sides[i], e);
	if (rc == 0)
		rc = compare(in, sides, args->value, e);
	profile_free(sides[0]);
	profile_free(sides[1]);
	return rc;
}

static int load(struct input *in, const struct args *args, struct err *e)
{
	bool is_pair = in->files.name_count == 2 && !args->is_merge;
	int rc = is_pair ? load_diff(in, args, e) : load_sum(in, args, e);

	if (rc == 0 && args->has_source && in->is_diff)
		return err_usage(e, "--source goes with one profile, not with a comparison");
	if (rc == 0 && args->normalize && !in->is_diff)
		return err_usage(e, "--normalize goes with two files that are compared");
	return rc;
}

static int open_page(const char *path, struct err *e)
{
	char name[] = "xdg-open";
	char *argv[] = { name, (char *)(uintptr_t)path, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return err_set(e, -rc, "xdg-open: %s", strerror(rc));
	/* It may live as long as the browser. */
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawnp(&pid, name, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc ? err_set(e, -rc, "xdg-open: %s; open %s in a browser", strerror(rc), path) : 0;
}

static void print_summary(const char *output, size_t bytes, const struct page_stats *s)
{
	fprintf(stderr, "%s: %zu function%s, %zu stack node%s, %.1f KiB\n",
		strcmp(output, "-") == 0 ? "page" : output, s->functions,
		s->functions == 1 ? "" : "s", s->nodes, s->nodes == 1 ? "" : "s",
		(double)bytes / 1024);
}

static int write_page(const struct input *in, const struct args *args, const char *output,
		      struct err *e)
{
	CLEANUP(buf_fini) struct buf html = { 0 }, filter = { 0 }, sources = { 0 };
	struct page_stats stats = { 0 };
	/* A folder stays one name when it is all, or a side. */
	bool has_paths = in->files.name_count > 1 && !in->is_diff;
	struct page_opts o = {
		.title = args->title,
		.files = (const char *const *)(has_paths ? in->files.paths : in->files.names),
		.file_count = has_paths ? in->files.count : in->files.name_count,
		.type = in->type,
		.facts = in->facts,
		.is_diff = in->is_diff,
		.compared = in->compared,
		.is_normalized = args->normalize != 0,
	};
	int rc;

	describe_filter(&args->filter, &filter);
	if (buf_error(&filter) < 0)
		return err_nomem(e);
	o.filter = filter.len ? filter.data : NULL;
	if (args->has_source) {
		rc = page_sources_collect(in->profile, in->type, &sources, e);
		if (rc < 0 || buf_error(&sources) < 0)
			return rc < 0 ? rc : err_nomem(e);
		o.sources = &sources;
	}
	rc = page_write(in->profile, &o, &html, &stats, e);
	if (rc == 0)
		rc = outfile_replace(output, html.data, html.len, e);
	if (rc < 0)
		return rc;
	log_msg(LOG_INFO, "view", "%zu bytes, %zu entries", html.len, stats.entries);
	print_summary(output, html.len, &stats);
	return args->is_opened ? open_page(output, e) : 0;
}

static const char *choose_page(const struct args *args)
{
	if (args->output)
		return args->output;
	return args->is_opened || isatty(STDOUT_FILENO) ? DEFAULT_PAGE : "-";
}

static int check_usage(const struct args *args, const char *output, size_t count, struct err *e)
{
	if (args->is_opened && strcmp(output, "-") == 0)
		return err_usage(e, "--open: name a file with -o");
	if (args->is_merge && count < 2)
		return err_usage(e, "--merge: name two files or more");
	return 0;
}

static int run(int argc, char **argv, struct err *e)
{
	CLEANUP(input_fini) struct input in = { 0 };
	struct args args = { 0 };
	const char *output;
	int first, rc = cmd_parse(&cmd_view, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	rc = inputs_open(&in.files, argv + first, (size_t)(argc - first), NULL, e);
	if (rc < 0)
		return rc;
	output = choose_page(&args);
	rc = check_usage(&args, output, in.files.count, e);
	if (rc == 0)
		rc = picture_check_output(output, "an HTML page", in.files.paths, in.files.count,
					  e);
	if (rc == 0)
		rc = load(&in, &args, e);
	return rc < 0 ? rc : write_page(&in, &args, output, e);
}

const struct cmd cmd_view = {
	.name = "view",
	.operands = "[FILE|FOLDER...]",
	.summary = "show a profile, or the change between two, as one interactive HTML page",
	.verbose = "Also print what is read and written",
	.opts = opts,
	.run = run,
};

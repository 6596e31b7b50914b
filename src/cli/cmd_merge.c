/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/cmd.h"
#include "cli/profile_opts.h"
#include "format/formats.h"
#include "model/merge.h"
#include "source/inputs.h"
#include "source/save.h"

#define MAX_LABELS 16

struct args {
	const char *output, *from, *to;
	struct opt_list labels; /* KEY or KEY=TEXT */
	struct binaries_args places;
};

static const struct opt opts[] = {
	OPT_OUTPUT('o', "output", "FILE", struct args, output,
		   "Write FILE, in the format of its ending [default: standard output]"),
	OPT_LIST(0, "label", "KEY[=TEXT]", struct args, labels,
		 "Label the samples of each file: {n} its number [default], {file}, {dir}"),
	OPT_STR(0, "from", "FORMAT", struct args, from,
		"Read the files as this format [default: by their content]"),
	OPT_STR(0, "to", "FORMAT", struct args, to,
		"Write this format [default: by the ending of the output, else pprof]"),
	OPT_INCLUDE(struct args, places, places_opts),
	OPT_END,
};

/* The labels of the file that is added. */
struct file_labels {
	const struct opt_list *wanted;
	struct text_label list[MAX_LABELS]; /* [wanted->count]; point into text */
	struct buf text;                    /* keys and values, NUL-terminated, in turn */
};

static void file_labels_fini(struct file_labels *l)
{
	buf_fini(&l->text);
}

static struct str file_name(const char *path)
{
	const char *name = path_base(path);
	const struct format *format = format_for_output(name);
	size_t len = strlen(name);

	for (size_t i = 0; format && format->suffixes[i]; i++) {
		size_t end = strlen(format->suffixes[i]);

		if (len > end && strcmp(name + len - end, format->suffixes[i]) == 0)
			return (struct str){ name, len - end };
	}
	return (struct str){ name, len };
}

static struct str dir_name(const char *path)
{
	const char *end = strrchr(path, '/'), *start;

	if (!end)
		return (struct str){ ".", 1 };
	for (start = end; start > path && start[-1] != '/';)
		start--;
	return (struct str){ start, (size_t)(end - start) };
}

/* TEXT of --label with its names replaced. */
static void put_value(struct buf *out, const char *text, const char *path, size_t number)
{
	while (*text) {
		struct str span = { text, 1 };

		if (text_starts_with(text, "{n}")) {
			buf_put_uint(out, number);
			text += strlen("{n}");
			continue;
		}
		if (text_starts_with(text, "{file}")) {
			span = file_name(path);
			text += strlen("{file}");
		} else if (text_starts_with(text, "{dir}")) {
			span = dir_name(path);
			text += strlen("{dir}");
		} else {
			text++;
		}
		buf_put(out, span.ptr, span.len);
	}
	buf_put_byte(out, 0);
}

/* As inputs_opts.label. */
static int make_labels(void *context, const char *path, size_t number, struct text_label **ret,
		       size_t *ret_count, struct err *e)
{
	struct file_labels *l = context;
	const char *at;

	buf_clear(&l->text);
	for (size_t i = 0; i < l->wanted->count; i++) {
		const char *label = l->wanted->items[i], *equals = strchr(label, '=');

		buf_put(&l->text, label, equals ? (size_t)(equals - label) : strlen(label));
		buf_put_byte(&l->text, 0);
		put_value(&l->text, equals ? equals + 1 : "{n}", path, number);
	}
	if (buf_error(&l->text) < 0)
		return err_nomem(e);
	at = l->text.data;
	for (size_t i = 0; i < l->wanted->count; i++) {
		l->list[i].key = at;
		at += strlen(at) + 1;
		l->list[i].value = at;
		at += strlen(at) + 1;
	}
	*ret = l->list;
	*ret_count = l->wanted->count;
	return 0;
}

static int check_labels(const struct opt_list *labels, struct err *e)
{
	if (labels->count > MAX_LABELS)
		return err_usage(e, "--label: given more than %d times", MAX_LABELS);
	for (size_t i = 0; i < labels->count; i++)
		if (!*labels->items[i] || *labels->items[i] == '=')
			return err_usage(e, "--label: '%s' is not KEY or KEY=TEXT",
					 labels->items[i]);
	return 0;
}

static void show_progress(size_t done, size_t count)
{
	if (!isatty(STDERR_FILENO) || count < 2)
		return;
	if (done < count)
		fprintf(stderr, "\rmerging %zu of %zu files", done + 1, count);
	else
		fputs("\r\033[K", stderr);
}

static int merge(const struct args *args, const struct output *output, char *const *names,
		 size_t count, struct err *e)
{
	CLEANUP(file_labels_fini) struct file_labels labels = { .wanted = &args->labels };
	CLEANUP(inputs_close) struct inputs in = { 0 };
	const struct inputs_opts o = { .from = args->from,
				       .places = &args->places,
				       .is_whole = true,
				       .label = make_labels,
				       .context = &labels,
				       .show = show_progress,
				       .is_sum = true };
	struct profile *sum;
	int rc = inputs_open(&in, names, count, output->path, e);

	if (rc == 0)
		rc = inputs_load(&in, &o, &sum, e);
	if (rc < 0)
		return rc;
	rc = save_profile(sum, output, e);
	profile_free(sum);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
	struct output output;
	int first, rc = cmd_parse(&cmd_merge, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (first == argc)
		return err_usage(e, "no files to merge");
	rc = check_labels(&args.labels, e);
	if (rc == 0)
		rc = choose_output(args.output, args.to, "pprof", &output, e);
	return rc < 0 ? rc : merge(&args, &output, argv + first, (size_t)(argc - first), e);
}

const struct cmd cmd_merge = {
	.name = "merge",
	.operands = "FILE|FOLDER...",
	.summary = "add up the profiles of ranks, hosts or runs",
	.verbose = "Also print what is read of each file, and written",
	.opts = opts,
	.run = run,
};

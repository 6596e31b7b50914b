/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/cmd.h"
#include "cli/load.h"
#include "cli/save.h"
#include "format/formats.h"
#include "view/emit.h"

struct args {
	const char *output, *from, *to, *value;
	bool is_list;
	struct filter_args filter;
};

static const struct opt opts[] = {
	OPT_STR('o', "output", "FILE", struct args, output,
		"write FILE, in the format of its ending (default: standard output)"),
	OPT_STR(0, "from", "FORMAT", struct args, from,
		"format of the input (default: by content)"),
	OPT_STR(0, "to", "FORMAT", struct args, to,
		"format of the output (default: by its ending)"),
	OPT_STR(0, "value", "TYPE", struct args, value,
		"sample type for formats that hold one (default: the profile's)"),
	OPT_INCLUDE(struct args, filter, filter_opts),
	OPT_FLAG(0, "list", struct args, is_list, "list the formats"),
	OPT_END,
};

static void put_suffixes(const struct format *format, struct buf *out)
{
	buf_clear(out);
	for (size_t i = 0; format->suffixes[i]; i++)
		buf_printf(out, "%s%s", i ? " " : "", format->suffixes[i]);
}

static void put_row(struct emit *out, const struct format *format, struct buf *suffixes)
{
	put_suffixes(format, suffixes);
	emit_text(out, "format", format->name);
	emit_text(out, "read", format->read ? "yes" : "-");
	emit_text(out, "write", format->write ? "yes" : "-");
	emit_optional(out, "endings", suffixes->data ? suffixes->data : "");
	emit_text(out, "what it is", format->summary);
}

static int list_formats(struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 }, suffixes = { 0 };
	CLEANUP(emit_fini) struct emit out;
	const struct emit_opts o = { .format = EMIT_TABLE };

	emit_begin(&out, &o, &text);
	emit_columns(&out);
	put_row(&out, formats[0], &suffixes);
	for (size_t i = 0; formats[i]; i++) {
		emit_row(&out);
		put_row(&out, formats[i], &suffixes);
	}
	if (emit_end(&out) < 0 || buf_error(&suffixes) < 0)
		return err_nomem(e);
	fputs(text.data, stdout);
	return 0;
}

/* What is converted: the chosen type is the default one, which single-valued formats take. */
static int prepare(struct profile **p, const struct args *args, struct err *e)
{
	size_t type;
	int rc = choose_type(*p, args->value, &type, e);

	if (rc == 0)
		rc = apply_filter(p, &args->filter, e);
	if (rc == 0 && args->value)
		profile_info(*p)->default_type = profile_get_type(*p, type).type;
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
	struct output output;
	struct profile *p;
	int first, rc = cmd_parse(&cmd_convert, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (args.is_list)
		return list_formats(e);
	if (argc - first > 1)
		return cmd_usage(e, "one file at a time; 'auger merge' makes one of many");
	rc = choose_output(args.output, args.to, NULL, &output, e);
	if (rc == 0)
		rc = load_profile(first < argc ? argv[first] : DEFAULT_PROFILE, args.from, &p, e);
	if (rc < 0)
		return rc;
	rc = prepare(&p, &args, e);
	if (rc == 0)
		rc = save_profile(p, &output, e);
	profile_free(p);
	return rc;
}

const struct cmd cmd_convert = {
	.name = "convert",
	.operands = "[FILE]",
	.summary = "turn a profile of any format into any other",
	.opts = opts,
	.run = run,
};

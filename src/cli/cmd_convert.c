/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/output/outfile.h"
#include "cli/cmd.h"
#include "cli/graph_picture.h"
#include "cli/profile_opts.h"
#include "cli/screen.h"
#include "format/akaros/akaros.h"
#include "format/collapse.h"
#include "format/folded.h"
#include "format/formats.h"
#include "format/perfscript/perfscript.h"
#include "format/perfscript/stackcollapse.h"
#include "source/inputs.h"
#include "source/load.h"
#include "source/save.h"
#include "view/emit.h"

struct args {
	const char *output, *from, *to, *value, *event;
	bool is_list, is_op2, is_strict;
	struct filter_args filter;
	struct binaries_args places;
	bool is_collapsed, pid, tid, kernel, jit, all, addrs, srcline;
};

static const struct opt opts[] = {
	OPT_OUTPUT('o', "output", "FILE", struct args, output,
		   "Write FILE, in the format of its ending [default: standard output]"),
	OPT_STR(0, "from", "FORMAT", struct args, from,
		"Read the input as this format [default: by its content]"),
	OPT_STR(0, "to", "FORMAT", struct args, to,
		"Write this format [default: by the ending of the output]"),
	OPT_STR(0, "value", "TYPE", struct args, value,
		"Write this sample type, where a format holds one [default: the profile's]"),
	OPT_STR(0, "focus", "REGEX", struct args, filter.focus,
		"Keep only stacks with a frame that matches"),
	OPT_STR(0, "ignore", "REGEX", struct args, filter.ignore,
		"Leave out stacks with a frame that matches"),
	OPT_LIST(0, "comm", "REGEX", struct args, filter.comm,
		 "Keep only threads of this name (whole name); again for more"),
	OPT_LIST(0, "label", "KEY=REGEX", struct args, filter.label,
		 "Keep only samples with this label, e.g. pid=7 (whole value); again for more"),
	OPT_STR(0, "event-filter", "EVENT", struct args, event,
		"Write the sample type of this event, as perf names it"),
	OPT_FLAG(0, "pid", struct args, pid, "Name threads NAME-PID (folded)"),
	OPT_FLAG(0, "tid", struct args, tid, "Name threads NAME-PID/TID (folded)"),
	OPT_FLAG(0, "kernel", struct args, kernel, "Mark kernel functions with _[k] (folded)"),
	OPT_FLAG(0, "jit", struct args, jit, "Mark functions made at run time with _[j] (folded)"),
	OPT_FLAG(0, "all", struct args, all, "Mark both, and inlined functions with _[i] (folded)"),
	OPT_FLAG(0, "addrs", struct args, addrs,
		 "Show the addresses of code without a name (folded)"),
	OPT_FLAG(0, "stackcollapse", struct args, is_collapsed,
		 "Write exactly what FlameGraph's stackcollapse program for the input writes"),
	OPT_FLAG(0, "srcline", struct args, srcline,
		 "Show the source lines of perf script -F +srcline (with --stackcollapse)"),
	OPT_FLAG(0, "strict", struct args, is_strict,
		 "Fail at lines that are not of the input's format"),
	OPT_INCLUDE(struct args, places, places_opts),
	OPT_FLAG(0, "op2-compatible", struct args, is_op2,
		 "Write what Akaros' own converter op2 makes of a trace"),
	OPT_FLAG(0, "list", struct args, is_list, "List the formats"),
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
	emit_hide(out);
	emit_text(out, "recognized by", format->mark);
	emit_hide(out);
	emit_text(out, "left out", format->lost);
}

static int list_formats(struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 }, suffixes = { 0 };
	CLEANUP(emit_fini) struct emit out;
	const struct emit_opts o = { .format = EMIT_TABLE,
				     .is_verbose = cmd_is_verbose(),
				     .width = screen_width(STDOUT_FILENO) };

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

/* The index of what is asked for by --value or --event-filter. */
static int choose(const struct profile *p, const struct args *args, size_t *ret, struct err *e)
{
	int found = args->event ? collapse_find_event(p, args->event) : -1;

	if (args->value && args->event)
		return err_usage(e, "--value and --event-filter: only one of them");
	if (!args->event)
		return choose_type(p, args->value, ret, e);
	if (found < 0)
		return err_usage(e, "--event-filter: no samples of an event '%s'", args->event);
	*ret = (size_t)found;
	return 0;
}

static bool is_tidied(const struct args *args)
{
	return args->pid || args->tid || args->kernel || args->jit || args->all || args->addrs;
}

static int collapse(struct profile **p, const struct args *args, size_t type, struct err *e)
{
	const struct collapse_opts o = {
		.type = type,
		.has_pid = args->pid,
		.has_tid = args->tid,
		.marks_kernel = args->kernel || args->all,
		.marks_jit = args->jit || args->all,
		.marks_inlined = args->all,
		.has_addresses = args->addrs,
	};
	struct profile *collapsed;
	int rc = profile_collapse(*p, &o, &collapsed, e);

	if (rc < 0)
		return rc;
	profile_free(*p);
	*p = collapsed;
	return 0;
}

/* What is converted: the chosen type is the default one, which single-valued formats take. */
static int prepare(struct profile **p, const struct args *args, struct err *e)
{
	size_t type;
	int rc = choose(*p, args, &type, e);

	if (rc == 0)
		rc = apply_filter(p, &args->filter, e);
	if (rc == 0 && (args->value || args->event))
		profile_info(*p)->default_type = profile_get_type(*p, type).type;
	if (rc == 0 && is_tidied(args) && profile_type_count(*p))
		rc = collapse(p, args, type, e);
	return rc;
}

/* The original's output cannot be made from a profile: it mistakes what a profile has right. */
static int convert_as_op2(const struct args *args, const char *path, struct err *e)
{
	CLEANUP(file_input_fini) struct file_input in = { 0 };
	CLEANUP(buf_fini) struct buf out = { 0 };
	const char *output = args->output ? args->output : "-";
	int rc;

	if (args->to)
		return err_usage(e,
				 "--op2-compatible is a format of its own: it goes without --to");
	if (strcmp(output, "-") == 0 && isatty(STDOUT_FILENO))
		return err_usage(e, "a profile is nothing for a terminal: name a file by -o");
	rc = file_load(path, &in, e);
	if (rc < 0)
		return rc;
	if (akaros_op2(in.data, in.len, &out, e) < 0)
		return err_wrap(e, "%s", path);
	return buf_error(&out) < 0 ? err_nomem(e) : outfile_replace(output, out.data, out.len, e);
}

static bool has_filter(const struct filter_args *f)
{
	return f->focus || f->ignore || f->comm.count || f->label.count;
}

static void warn_collapsed(const struct stackcollapse_report *report)
{
	if (report->unknown_lines)
		log_msg(LOG_WARN, "stackcollapse",
			"lines that are neither a sample nor a frame and are skipped: %zu, the first "
			"is line %zu",
			report->unknown_lines, report->first_unknown);
	if (report->other_events)
		log_msg(LOG_WARN, "stackcollapse",
			"samples of other events than %.*s, which are left out: %zu; "
			"--event-filter chooses another event",
			(int)report->event.len, report->event.ptr, report->other_events);
	if (report->is_cut)
		log_msg(LOG_WARN, "stackcollapse",
			"the last sample has no empty line behind it and is left out");
	if (report->is_saturated)
		log_msg(LOG_WARN, "stackcollapse", "a sum is too large and stays at %" PRId64,
			INT64_MAX);
}

static int check_strict(const struct args *args, const char *name, size_t skipped, struct err *e)
{
	if (!args->is_strict || !skipped)
		return 0;
	return err_set(e, -EINVAL, "%s: lines that are not of its format: %zu", name, skipped);
}

static void free_profile(struct profile **p)
{
	profile_free(*p);
}

/* The same of a text that is not read into a profile otherwise. */
static int check_strict_text(const struct args *args, const char *path, const struct format *format,
			     const struct file_input *in, struct err *e)
{
	CLEANUP(free_profile) struct profile *p = NULL;

	if (!args->is_strict)
		return 0;
	p = profile_new();
	if (!p)
		return err_nomem(e);
	if (format->read(p, in->data, in->len, e) < 0)
		return err_wrap(e, "%s", path);
	return check_strict(args, path, profile_get_info(p)->skipped_lines, e);
}

static bool has_perfscript_opts(const struct args *args)
{
	return args->pid || args->tid || args->kernel || args->jit || args->all || args->addrs ||
	       args->srcline || args->event;
}

/* What the program of FlameGraph that is made for another format than perf script's prints. */
static int convert_by_peer(const struct args *args, const char *path, const struct format *format,
			   const struct file_input *in, struct err *e)
{
	CLEANUP(buf_fini) struct buf out = { 0 };

	if (has_perfscript_opts(args))
		return err_usage(e,
				 "--stackcollapse of format %s goes without the options for perf "
				 "script: --pid, --tid, --kernel, --jit, --all, --addrs, "
				 "--srcline, --event-filter",
				 format->name);
	if (check_strict_text(args, path, format, in, e) < 0)
		return e->code;
	if (format->collapse(in->data, in->len, &out, e) < 0)
		return err_wrap(e, "%s", path);
	return outfile_replace(args->output ? args->output : "-", out.data, out.len, e);
}

/* May lines of it be text of perf script, of the odd kind that is not recognized? */
static bool is_perfscript(const struct format *format)
{
	return format == &format_perfscript || format == &format_folded;
}

/* The original works on lines; a profile would drop what it keeps, and keep what it drops. */
static int convert_as_stackcollapse(const struct args *args, const char *path, struct err *e)
{
	CLEANUP(file_input_fini) struct file_input in = { 0 };
	CLEANUP(buf_fini) struct buf out = { 0 };
	const struct stackcollapse_opts o = {
		.has_pid = args->pid,
		.has_tid = args->tid,
		.marks_kernel = args->kernel || args->all,
		.marks_jit = args->jit || args->all,
		.has_addresses = args->addrs,
		.has_sources = args->srcline,
		.event = args->event,
	};
	struct stackcollapse_report report;
	const struct format *format;

	if (args->to || args->value || has_filter(&args->filter))
		return err_usage(e, "--stackcollapse goes without --to, --value and filters");
	if (load_input(path, args->from, &in, &format, e) < 0)
		return e->code;
	if (strcmp(path, "-") == 0)
		path = "standard input";
	if (format && format->collapse)
		return convert_by_peer(args, path, format, &in, e);
	if (format && !is_perfscript(format) && !perfscript_detect(in.data, in.len))
		return err_set(
			e, -EINVAL,
			"%s: no stackcollapse program reads format %s; use --to folded --all", path,
			format->name);
	if (stackcollapse(in.data, in.len, &o, &report, &out, e) < 0)
		return e->code;
	if (!out.len && report.unknown_lines)
		return err_set(e, -EINVAL, "%s: no sample in this text of perf script", path);
	if (check_strict(args, path, report.unknown_lines + report.is_cut, e) < 0)
		return e->code;
	warn_collapsed(&report);
	return outfile_replace(args->output ? args->output : "-", out.data, out.len, e);
}

static int load(const struct args *args, const struct output *output, char *const *names,
		size_t count, struct profile **ret, struct err *e)
{
	CLEANUP(inputs_close) struct inputs in = { 0 };
	CLEANUP(buf_fini) struct buf name = { 0 };
	const struct inputs_opts o = { .from = args->from,
				       .places = &args->places,
				       .is_whole = true };
	struct profile *p;
	int rc = inputs_open(&in, names, count, output->path, e);

	if (rc == 0)
		rc = inputs_load(&in, &o, &p, e);
	if (rc < 0)
		return rc;
	inputs_describe(&in, &name);
	rc = buf_error(&name) < 0
		     ? err_nomem(e)
		     : check_strict(args, name.data, profile_get_info(p)->skipped_lines, e);
	if (rc < 0)
		profile_free(p);
	else
		*ret = p;
	return rc;
}

static int convert(const struct args *args, char *const *names, size_t count, struct err *e)
{
	struct output output;
	struct profile *p;
	bool is_picture = !args->to || strcmp(args->to, "dot") == 0;
	const char *kind = is_picture ? graph_picture_kind(args->output) : NULL;
	int rc;

	if (args->srcline)
		return err_usage(e, "--srcline goes with --stackcollapse");
	rc = choose_output(args->output, kind ? "dot" : args->to, NULL, &output, e);
	if (rc == 0 && kind)
		rc = graph_picture_check(e);
	if (rc == 0 && is_tidied(args) && output.format != format_find("folded"))
		rc = err_usage(
			e, "--pid, --tid, --kernel, --jit, --all and --addrs are for --to folded");
	if (rc == 0)
		rc = load(args, &output, names, count, &p, e);
	if (rc < 0)
		return rc;
	rc = prepare(&p, args, e);
	if (rc == 0)
		rc = kind ? graph_picture_save(p, kind, output.path, e)
			  : save_profile(p, &output, e);
	profile_free(p);
	return rc;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
	int first, rc = cmd_parse(&cmd_convert, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (args.is_list)
		return list_formats(e);
	if ((args.is_op2 || args.is_collapsed) && argc - first > 1)
		return err_usage(e, "--%s: one file at a time",
				 args.is_op2 ? "op2-compatible" : "stackcollapse");
	if (args.is_op2)
		return convert_as_op2(&args, first < argc ? argv[first] : DEFAULT_PROFILE, e);
	if (args.is_collapsed)
		return convert_as_stackcollapse(&args, first < argc ? argv[first] : "-", e);
	return convert(&args, argv + first, (size_t)(argc - first), e);
}

const struct cmd cmd_convert = {
	.name = "convert",
	.operands = "[FILE|FOLDER...]",
	.summary = "write a profile in another format",
	.verbose = "Also print what is read and written; with --list, how formats are recognized",
	.opts = opts,
	.run = run,
};

/* SPDX-License-Identifier: MIT */
#include "source/save.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/output/outfile.h"
#include "base/path.h"
#include "base/utf8.h"

#define HOW_TO_LIST "'auger convert --list' shows the formats"

/* Does the name have an ending, as in "x.svg"? */
static bool has_ending(const char *path)
{
	const char *name = path_base(path);
	const char *dot = strrchr(name, '.');

	return dot && dot > name && dot[1];
}

static int choose_format(const char *path, const char *to, const char *fallback,
			 const struct format **ret, struct err *e)
{
	struct nearest near;

	if (to)
		*ret = format_find(to);
	else
		*ret = path ? format_for_output(path) : NULL;
	if (!*ret && to)
		return err_usage(e, "--to: no format '%s'%s", to, formats_hint(to, &near));
	if (!*ret && fallback && path && has_ending(path))
		return err_usage(
			e,
			"%s: no profile has this ending; .pb.gz is the usual one; " HOW_TO_LIST
			"; 'auger flame' draws pictures",
			path);
	if (!*ret && fallback)
		*ret = format_find(fallback);
	if (!*ret && path && strcmp(path, "-") != 0)
		return err_usage(e, "%s: no format has this ending: name one by --to; " HOW_TO_LIST,
				 path);
	if (!*ret)
		return err_usage(e, "name a file by -o or a format by --to; " HOW_TO_LIST);
	if (!(*ret)->write)
		return err_usage(e, "format %s is only read; " HOW_TO_LIST, (*ret)->name);
	return 0;
}

int choose_output(const char *path, const char *to, const char *fallback, struct output *ret,
		  struct err *e)
{
	const struct format *format;
	int rc = choose_format(path, to, fallback, &format, e);

	if (rc < 0)
		return rc;
	if (!path)
		path = "-";
	if (strcmp(path, "-") == 0 && !format->is_text && isatty(STDOUT_FILENO))
		return err_usage(e, "format %s is nothing for a terminal: name a file by -o",
				 format->name);
	*ret = (struct output){ path, format, false };
	return outfile_check(path, e);
}

/* What others chose does not steer a terminal. */
static void make_safe(struct buf *out)
{
	struct buf valid = { 0 };

	utf8_put_valid(&valid, out->data ? out->data : "", out->len);
	buf_fini(out);
	*out = valid;
}

int save_profile(const struct profile *p, const struct output *o, struct err *e)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	int rc = o->format->write(p, &out, e);

	if (rc == 0 && strcmp(o->path, "-") == 0 && isatty(STDOUT_FILENO))
		make_safe(&out);

	if (rc < 0)
		return rc == -ENOMEM ? rc : err_wrap(e, "%s", o->path);
	if (buf_error(&out) < 0)
		return err_nomem(e);
	log_msg(LOG_INFO, "save", "%s: %zu bytes of format %s", o->path, out.len, o->format->name);
	return o->is_new ? outfile_create(o->path, out.data, out.len, e)
			 : outfile_replace(o->path, out.data, out.len, e);
}

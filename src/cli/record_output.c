/* SPDX-License-Identifier: MIT */
#include "cli/record_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/load.h"
#include "format/formats.h"

int record_check_output(const char *path, struct err *e)
{
	if (path && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
		return err_set(e, -EINVAL,
			       "a profile is no text for a terminal; name a file by -o");
	return file_check_writable(path ? path : DEFAULT_PROFILE, e);
}

/* The name that an older profile gets; a number tells those of one second apart. */
static void put_kept_name(struct buf *out, const struct stat *st, unsigned number)
{
	static const char ending[] = ".pb.gz";
	struct tm tm;
	char time[32] = "";

	if (localtime_r(&st->st_mtime, &tm))
		strftime(time, sizeof time, "%Y%m%d-%H%M%S", &tm);
	buf_clear(out);
	buf_put(out, DEFAULT_PROFILE, sizeof DEFAULT_PROFILE - sizeof ending);
	buf_printf(out, ".%s", time);
	if (number)
		buf_printf(out, "-%u", number);
	buf_put_str(out, ending);
}

/* Nothing is overwritten that was not named. */
static int keep_older(struct err *e)
{
	CLEANUP(buf_fini) struct buf name = { 0 };
	struct stat st;

	if (lstat(DEFAULT_PROFILE, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	for (unsigned number = 0; number < 1000; number++) {
		put_kept_name(&name, &st, number);
		if (buf_error(&name) < 0)
			return err_nomem(e);
		if (renameat2(AT_FDCWD, DEFAULT_PROFILE, AT_FDCWD, name.data, RENAME_NOREPLACE) ==
		    0) {
			log_msg(LOG_WARN, "record", "the older %s is kept as %s", DEFAULT_PROFILE,
				name.data);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return err_errno(e, "%s: cannot be renamed", DEFAULT_PROFILE);
}

int record_write(const struct profile *p, const char *path, struct err *e)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	const struct format *format = path ? format_for_output(path) : NULL;
	int rc;

	if (!format)
		format = format_find("pprof");
	rc = format->write(p, &out, e);
	if (rc == 0 && buf_error(&out) < 0)
		rc = err_nomem(e);
	if (rc == 0 && !path)
		rc = keep_older(e);
	return rc < 0 ? rc : file_replace(path ? path : DEFAULT_PROFILE, out.data, out.len, e);
}

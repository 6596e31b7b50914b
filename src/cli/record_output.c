/* SPDX-License-Identifier: MIT */
#include "cli/record_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/log.h"
#include "cli/load.h"

int record_choose_output(const char *path, struct output *ret, struct err *e)
{
	return choose_output(path ? path : DEFAULT_PROFILE, NULL, "pprof", ret, e);
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

int record_save(const struct profile *p, const struct output *o, bool is_named, struct err *e)
{
	int rc = is_named ? 0 : keep_older(e);

	return rc < 0 ? rc : save_profile(p, o, e);
}

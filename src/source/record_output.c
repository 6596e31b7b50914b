/* SPDX-License-Identifier: MIT */
#include "source/record_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/output/outfile.h"
#include "source/load.h"

int record_choose_output(const char *path, struct output *ret, struct err *e)
{
	return choose_output(path ? path : DEFAULT_PROFILE, NULL, "pprof", ret, e);
}

#define NAMES_MAX 1000

/* The name that an older profile gets; a number distinguishes those of one second. */
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

/* Under a name by its date. */
static int keep_older(const struct stat *st, struct err *e)
{
	CLEANUP(buf_fini) struct buf name = { 0 };
	int rc = -EEXIST;

	for (unsigned number = 0; rc == -EEXIST && number < NAMES_MAX; number++) {
		put_kept_name(&name, st, number);
		if (buf_error(&name) < 0)
			return err_nomem(e);
		rc = outfile_move_new(AT_FDCWD, DEFAULT_PROFILE, AT_FDCWD, name.data);
	}
	if (rc == 0)
		log_msg(LOG_WARN, "record", "the older %s is kept as %s", DEFAULT_PROFILE,
			name.data);
	errno = -rc;
	/* Another recording may have renamed it. */
	return rc == 0 || rc == -ENOENT ? 0
					: err_errno(e, "%s: cannot be renamed", DEFAULT_PROFILE);
}

/* Nothing is overwritten that was not named, also when several recordings end at once. */
static int save_default(const struct profile *p, const struct output *o, struct err *e)
{
	struct output output = *o;
	struct stat st;
	int rc = -EEXIST;

	for (int i = 0; rc == -EEXIST && i < NAMES_MAX; i++) {
		bool is_there = lstat(o->path, &st) == 0;

		output.is_new = !is_there || S_ISREG(st.st_mode);
		rc = is_there && output.is_new ? keep_older(&st, e) : 0;
		if (rc == 0)
			rc = save_profile(p, &output, e);
	}
	return rc;
}

int record_save(const struct profile *p, const struct output *o, bool is_named, struct err *e)
{
	return is_named ? save_profile(p, o, e) : save_default(p, o, e);
}

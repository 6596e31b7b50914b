/* SPDX-License-Identifier: MIT */
#include "source/record_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output/outfile.h"
#include "base/str.h"
#include "source/load.h"
#include "source/run_folder.h"

#define NAMES_MAX 1000
#define ENDING ".pb.gz"

/* A name from outside as a part of a file's name. */
static void put_value(struct buf *out, const char *value)
{
	for (; *value; value++)
		buf_put_byte(out, *value == '/' ? '_' : (unsigned char)*value);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return text_ends_with(path, "/") || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* HOST.RANK.pb.gz; the process stands in for a rank that is not known. */
static void put_file(struct record_output *o)
{
	buf_put_byte(&o->path, '/');
	put_value(&o->path, *o->place.host ? o->place.host : "host");
	buf_put_byte(&o->path, '.');
	if (*o->place.rank)
		put_value(&o->path, o->place.rank);
	else
		buf_put_uint(&o->path, (uint64_t)getpid());
	buf_put_str(&o->path, ENDING);
}

/* path: of a folder; NULL: by the job. */
static int put_folder(struct record_output *o, const char *path, struct err *e)
{
	CLEANUP(buf_fini) struct buf run = { 0 };

	if (path) {
		size_t len = strlen(path);

		while (len > 1 && path[len - 1] == '/')
			len--;
		buf_put(&o->path, path, len);
	} else {
		buf_put_str(&o->path, "auger-");
	}
	run_put_id(&o->place, &run);
	if (!path)
		put_value(&o->path, *o->place.job ? o->place.job : run.len ? run.data : "mpi");
	if (buf_error(&run) < 0 || buf_error(&o->path) < 0)
		return err_nomem(e);
	return run_folder_make(&o->path, path != NULL, o->place.is_parallel ? &run : NULL, e);
}

static int put_path(struct record_output *o, const char *path, struct err *e)
{
	bool has_folder = path ? is_folder(path) : o->place.is_parallel;
	int rc = has_folder ? put_folder(o, path, e) : 0;

	if (rc < 0)
		return rc;
	if (has_folder)
		put_file(o);
	else
		buf_put_str(&o->path, path ? path : DEFAULT_PROFILE);
	o->is_named = path && !has_folder;
	o->is_default = !path && !has_folder;
	return buf_error(&o->path) < 0 ? err_nomem(e) : 0;
}

static void add_label(struct record_output *o, const char *key, const char *value)
{
	if (*value)
		o->labels[o->label_count++] = (struct text_label){ key, value };
}

static void put_labels(struct record_output *o)
{
	const struct job_place *place = &o->place;

	add_label(o, "rank", place->rank);
	add_label(o, "host", place->host);
	add_label(o, "job", place->job);
	add_label(o, "step", place->step);
	add_label(o, "task", place->array_task);
}

int record_output_init(struct record_output *o, const char *path, struct err *e)
{
	int rc;

	*o = (struct record_output){ .is_named = false };
	job_place_read(&o->place);
	rc = put_path(o, path, e);
	if (rc == 0)
		rc = choose_output(o->path.data, NULL, "pprof", &o->output, e);
	o->is_quiet = o->place.is_parallel && strcmp(o->place.rank, "0") != 0;
	if (o->place.is_parallel || !(o->is_named || o->is_default))
		put_labels(o);
	if (rc < 0)
		record_output_fini(o);
	return rc;
}

void record_output_fini(struct record_output *o)
{
	buf_fini(&o->path);
	*o = (struct record_output){ .is_named = false };
}

const char *record_output_name(const struct record_output *o)
{
	return o->is_default ? NULL : o->output.path;
}

/* The name that an older profile gets; a number distinguishes those of one second. */
static void put_kept_name(struct buf *out, const char *path, const struct stat *st, unsigned number)
{
	struct tm tm;
	char time[32] = "";

	if (localtime_r(&st->st_mtime, &tm))
		strftime(time, sizeof time, "%Y%m%d-%H%M%S", &tm);
	buf_clear(out);
	buf_put(out, path, strlen(path) - strlen(ENDING));
	buf_printf(out, ".%s", time);
	if (number)
		buf_printf(out, "-%u", number);
	buf_put_str(out, ENDING);
}

/* Under a name by its date. */
static int keep_older(const char *path, const struct stat *st, struct err *e)
{
	CLEANUP(buf_fini) struct buf name = { 0 };
	int rc = -EEXIST;

	for (unsigned number = 0; rc == -EEXIST && number < NAMES_MAX; number++) {
		put_kept_name(&name, path, st, number);
		if (buf_error(&name) < 0)
			return err_nomem(e);
		rc = outfile_move_new(AT_FDCWD, path, AT_FDCWD, name.data);
	}
	if (rc == 0)
		log_msg(LOG_WARN, "record", "the older %s is kept as %s", path, name.data);
	errno = -rc;
	/* Another recording may have renamed it. */
	return rc == 0 || rc == -ENOENT ? 0 : err_errno(e, "%s: cannot be renamed", path);
}

/* Nothing is overwritten that was not named, also when several recordings end at once. */
static int save_new(const struct profile *p, const struct output *o, struct err *e)
{
	struct output output = *o;
	struct stat st;
	int rc = -EEXIST;

	for (int i = 0; rc == -EEXIST && i < NAMES_MAX; i++) {
		bool is_there = lstat(o->path, &st) == 0;

		output.is_new = !is_there || S_ISREG(st.st_mode);
		rc = is_there && output.is_new ? keep_older(o->path, &st, e) : 0;
		if (rc == 0)
			rc = save_profile(p, &output, e);
	}
	return rc;
}

int record_save(const struct profile *p, const struct record_output *o, struct err *e)
{
	return o->is_named ? save_profile(p, &o->output, e) : save_new(p, &o->output, e);
}

/* SPDX-License-Identifier: MIT */
#include "cli/stat/scale_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output/outfile.h"
#include "source/save.h"
#include "view/flame/flame.h"
#include "view/tables/growth.h"

#define FOLDERS_MAX 1000
#define PICTURE_WIDTH 1200

static int check_folder(const char *name, struct err *e)
{
	struct stat st;

	if (stat(name, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "%s: %s", name, strerror(ENOTDIR));
	return access(name, W_OK | X_OK) < 0 ? err_errno(e, "%s", name) : 0;
}

/* Nothing is overwritten that was not named. */
int scale_files_open(struct scale_files *f, const char *name, struct err *e)
{
	for (unsigned i = 1; i < FOLDERS_MAX; i++) {
		buf_clear(&f->folder);
		buf_put_str(&f->folder, name ? name : SCALE_FOLDER);
		if (i > 1)
			buf_printf(&f->folder, "-%u", i);
		if (buf_error(&f->folder) < 0)
			return err_nomem(e);
		f->is_new = mkdir(f->folder.data, 0777) == 0;
		if (f->is_new)
			return 0;
		if (errno != EEXIST)
			break;
		if (name)
			return check_folder(name, e);
	}
	return err_errno(e, "%s", f->folder.data);
}

static int keep_name(struct scale_files *f, const struct buf *path, struct err *e)
{
	f->files[f->count] = strdup(path->data);
	if (!f->files[f->count])
		return err_nomem(e);
	f->count++;
	return 0;
}

static int save_step(struct scale_files *f, size_t step, struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct output output;
	int rc;

	buf_printf(&path, "%s/%lld.pb.gz", f->folder.data, (long long)f->runs->steps[step].copies);
	if (buf_error(&path) < 0)
		return err_nomem(e);
	rc = choose_output(path.data, NULL, "pprof", &output, e);
	if (rc == 0)
		rc = save_profile(f->runs->profiles[step], &output, e);
	return rc < 0 ? rc : keep_name(f, &path, e);
}

/* before, after: of one copy each. */
static int draw(struct scale_files *f, const struct profile *before, const struct profile *after,
		struct err *e)
{
	CLEANUP(buf_fini) struct buf path = { 0 }, svg = { 0 }, note = { 0 };
	struct flame_opts o = { .title = "What a copy does more of, and what less",
				.width = PICTURE_WIDTH,
				.other = before,
				.is_absolute = true };
	struct flame_stats stats;
	int type = profile_find_type(after, "cpu"), other = profile_find_type(before, "cpu"), rc;

	if (type < 0 || other < 0)
		return 0;
	buf_printf(&path, "%s/diff.svg", f->folder.data);
	buf_printf(&note, "CPU time of one of %lld copies, against %lld; colors: the change",
		   (long long)f->runs->steps[f->runs->step_count - 1].copies,
		   (long long)f->runs->steps[0].copies);
	if (buf_error(&path) < 0 || buf_error(&note) < 0)
		return err_nomem(e);
	o.note = note.data;
	o.type = (size_t)type;
	o.other_type = (size_t)other;
	rc = flame_write(after, &o, &svg, &stats, e);
	if (rc < 0)
		return rc;
	buf_fini(&stats.missing);
	rc = outfile_replace(path.data, svg.data, svg.len, e);
	return rc < 0 ? rc : keep_name(f, &path, e);
}

static int draw_difference(struct scale_files *f, struct err *e)
{
	size_t last = f->runs->step_count - 1;
	const struct scale_runs *r = f->runs;
	const struct growth_side sides[] = { { r->profiles[0], r->steps[0].copies },
					     { r->profiles[last], r->steps[last].copies } };
	struct profile *before = NULL, *after = NULL;
	int rc = growth_of_one(&sides[0], &before, e);

	if (rc == 0)
		rc = growth_of_one(&sides[1], &after, e);
	if (rc == 0)
		rc = draw(f, before, after, e);
	profile_free(before);
	profile_free(after);
	return rc;
}

int scale_files_save(struct scale_files *f, struct err *e)
{
	int rc = 0;

	if (!f->runs->profiles[f->runs->step_count - 1])
		return 0;
	for (size_t i = 0; rc == 0 && i < f->runs->step_count; i++)
		rc = save_step(f, i, e);
	return rc == 0 && f->runs->step_count > 1 ? draw_difference(f, e) : rc;
}

void scale_files_fini(struct scale_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->files[i]);
	if (f->is_new && !f->count)
		rmdir(f->folder.data);
	buf_fini(&f->folder);
}

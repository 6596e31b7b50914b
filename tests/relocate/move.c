/* SPDX-License-Identifier: MIT */
/*
 * move: PID OLD NEW [back]
 * The middle of auger relocate alone: the job is held, OLD copied by cp, everything pointed to NEW
 * and verified; then committed, or with "back" undone, NEW left full. Prints what was moved.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/hold.h"
#include "relocate/inventory/survey.h"
#include "relocate/repoint/shift.h"

static int copy_all(const struct survey *s, const char *from, const char *to, struct err *e)
{
	char command[8192];

	snprintf(command, sizeof command, "cp -a --sparse=always '%s/.' '%s/'", from, to);
	if (system(command))
		return err_set(e, -EIO, "%s", command);
	for (size_t i = 0; i < s->file_count; i++) {
		const struct reloc_file *f = &s->files[i];

		if (!f->is_deleted)
			continue;
		snprintf(
			command, sizeof command,
			"cp --sparse=always '%s' '%s/%s' && chmod %o '%s/%s' && chown %u:%u '%s/%s'",
			f->source, to, f->new_path, f->mode & 07777, to, f->new_path, f->uid,
			f->gid, to, f->new_path);
		if (system(command))
			return err_set(e, -EIO, "%s", command);
	}
	return 0;
}

static void unlink_hidden(const struct survey *s, int dir)
{
	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].is_deleted)
			unlinkat(dir, s->files[i].new_path, 0);
}

static int shift_all(struct hold *h, const struct survey *s, const struct reloc_place *from,
		     const struct reloc_place *to, bool goes_back, struct err *e)
{
	struct shift *sh = NULL;
	int64_t t0;

	if (copy_all(s, from->path, to->path, e) < 0)
		return e->code;
	t0 = clock_mono_ns();
	if (shift_begin(&sh, h, s, from, to, e) < 0)
		return e->code;
	if (shift_verify(sh, e) < 0) {
		struct err later;

		(void)!shift_undo(sh, &later);
		return e->code;
	}
	if (goes_back ? shift_undo(sh, e) < 0 : shift_commit(sh, e) < 0)
		return e->code;
	unlink_hidden(s, to->fd);
	printf("%zu descriptors, %zu descriptions, %zu mappings, %zu directories in %.2f ms\n",
	       s->fd_count, s->desc_count, s->map_count, s->dir_count,
	       (double)(clock_mono_ns() - t0) / 1e6);
	return 0;
}

static int move(pid_t pid, const char *from, const char *to, bool goes_back, struct err *e)
{
	struct reloc_place old_place = { .fd = -1 }, new_place = { .fd = -1 };
	struct survey_ask ask = { .old_place = &old_place,
				  .new_place = &new_place,
				  .is_stopped = true,
				  .moves_libs = true };
	struct survey s = { 0 };
	struct hold *h = NULL;
	int rc;

	if (place_open(&old_place, from, e) < 0 || place_open_new(&new_place, to, e) < 0)
		return e->code;
	rc = hold_begin(&h, &pid, 1, false, 10 * NS_PER_S, e);
	if (rc == 0) {
		ask.pids = hold_pids(h, &ask.pid_count);
		rc = survey_take(&ask, &s, e);
	}
	for (size_t i = 0; i < s.obstacle_count; i++)
		fprintf(stderr, "%s: %s: %s %s\n", s.obstacles[i].what, s.obstacles[i].reason,
			s.obstacles[i].path, s.obstacles[i].remedy);
	if (rc == 0 && (survey_has(&s, RELOC_PREVENTS) || survey_has(&s, RELOC_LEAVES)))
		rc = err_set(e, -EBUSY, "refused");
	if (rc == 0)
		rc = shift_all(h, &s, &old_place, &new_place, goes_back, e);
	hold_end(h);
	survey_fini(&s);
	place_close(&old_place);
	place_close(&new_place);
	return rc;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };

	if (argc < 4)
		return 2;
	if (move(atoi(argv[1]), argv[2], argv[3], argc > 4, &e) < 0) {
		fprintf(stderr, "move: %s\n", e.msg);
		return 1;
	}
	return 0;
}

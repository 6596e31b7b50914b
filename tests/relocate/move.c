/* SPDX-License-Identifier: MIT */
/*
 * move: PID OLD NEW [back]
 *
 * Tests the pause of auger relocate alone: freezes the job, copies OLD by cp, repoints and
 * verifies. Then it commits, or with "back" rolls back and leaves NEW full. Prints what was moved.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "inject/freeze.h"
#include "relocate/inventory/scan.h"
#include "relocate/repoint/repoint.h"

static int copy_all(const struct reloc_inventory *s, const char *from, const char *to,
		    struct err *e)
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

static void unlink_hidden(const struct reloc_inventory *s, int dir)
{
	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].is_deleted)
			unlinkat(dir, s->files[i].new_path, 0);
}

static int repoint_all(struct freeze *h, const struct reloc_inventory *s,
		       const struct top_dir *from, const struct top_dir *to, bool goes_back,
		       struct err *e)
{
	struct repoint *sh = NULL;
	int64_t t0;

	if (copy_all(s, from->path, to->path, e) < 0)
		return e->code;
	t0 = clock_mono_ns();
	if (repoint_begin(&sh, h, s, from, to, e) < 0)
		return e->code;
	if (repoint_verify(sh, e) < 0) {
		struct err later;

		(void)!repoint_undo(sh, &later);
		return e->code;
	}
	if (goes_back ? repoint_undo(sh, e) < 0 : repoint_commit(sh, e) < 0)
		return e->code;
	if (!goes_back)
		repoint_free(sh);
	unlink_hidden(s, to->fd);
	printf("%zu descriptors, %zu descriptions, %zu mappings, %zu directories in %.2f ms\n",
	       s->fd_count, s->desc_count, s->map_count, s->dir_count,
	       (double)(clock_mono_ns() - t0) / 1e6);
	return 0;
}

static int move(pid_t pid, const char *from, const char *to, bool goes_back, struct err *e)
{
	struct top_dir old_dir = { .fd = -1 }, new_dir = { .fd = -1 };
	struct scan_opts opts = {
		.old_dir = &old_dir, .new_dir = &new_dir, .is_frozen = true, .moves_libs = true
	};
	struct reloc_inventory s = { 0 };
	struct freeze *h = NULL;
	int rc;

	if (top_dir_open(&old_dir, from, e) < 0 || top_dir_open_new(&new_dir, to, e) < 0)
		return e->code;
	rc = freeze_begin(&h, &pid, 1, false, 10 * NS_PER_S, e);
	if (rc == 0) {
		opts.pids = freeze_pids(h, &opts.pid_count);
		rc = scan_take(&opts, &s, e);
	}
	for (size_t i = 0; i < s.obstacle_count; i++)
		fprintf(stderr, "%s: %s: %s %s\n", s.obstacles[i].what, s.obstacles[i].reason,
			s.obstacles[i].path, s.obstacles[i].remedy);
	if (rc == 0 &&
	    (reloc_inventory_has(&s, RELOC_BLOCKS) || reloc_inventory_has(&s, RELOC_STAYS)))
		rc = err_set(e, -EBUSY, "refused");
	if (rc == 0)
		rc = repoint_all(h, &s, &old_dir, &new_dir, goes_back, e);
	freeze_thaw(h);
	reloc_inventory_fini(&s);
	top_dir_close(&old_dir);
	top_dir_close(&new_dir);
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

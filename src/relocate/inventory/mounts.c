/* SPDX-License-Identifier: MIT */
#include "relocate/inventory/mounts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/quote.h"

#define MOUNTINFO_MAX (64 << 20) /* bytes */

static const struct {
	const char *name;
	enum mount_option bit;
} options[] = {
	{ "nosuid", MOUNT_NOSUID },
	{ "nodev", MOUNT_NODEV },
	{ "noexec", MOUNT_NOEXEC },
};

const char *mount_option_name(unsigned bits)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (bits & options[i].bit)
			return options[i].name;
	return "";
}

/* text: "rw,nosuid,relatime". */
static unsigned read_options(char *text)
{
	unsigned bits = 0;
	char *word;

	while ((word = strsep(&text, ",")))
		for (size_t i = 0; i < ARRAY_LEN(options); i++)
			if (strcmp(word, options[i].name) == 0)
				bits |= options[i].bit;
	return bits;
}

static void free_mount(struct mount *m)
{
	free(m->root);
	free(m->point);
	free(m->type);
}

void mounts_fini(struct mounts *m)
{
	struct mount *all = m->rows.data;

	for (size_t i = 0; i < m->rows.count; i++)
		free_mount(&all[i]);
	rows_fini(&m->rows);
}

/* Optional fields follow the sixth field, up to "-"; then comes the type. */
static void read_propagation(struct mount *m, char **at)
{
	char *word;

	while ((word = strsep(at, " ")) && strcmp(word, "-") != 0) {
		if (sscanf(word, "shared:%" SCNu64, &m->peers) == 1)
			continue;
		(void)!sscanf(word, "master:%" SCNu64, &m->master);
	}
}

static int read_line(struct mounts *all, char *line, struct err *e)
{
	struct mount m = { 0 };
	struct mount *row;
	char *at = line, *words[6], *type;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!(words[i] = strsep(&at, " ")))
			return err_set(e, -EINVAL, "mountinfo: a line has only %zu fields", i);
	if (sscanf(words[0], "%" SCNu64, &m.id) != 1 ||
	    sscanf(words[1], "%" SCNu64, &m.parent) != 1 ||
	    sscanf(words[2], "%u:%u", &m.dev_major, &m.dev_minor) != 2)
		return err_set(e, -EINVAL, "mountinfo: a line does not begin with numbers");
	m.options = read_options(words[5]);
	read_propagation(&m, &at);
	type = strsep(&at, " ");
	quote_undo_octal(words[3]);
	quote_undo_octal(words[4]);
	m.root = strdup(words[3]);
	m.point = strdup(words[4]);
	m.type = strdup(type ? type : "");
	row = m.root && m.point && m.type ? rows_add(&all->rows, sizeof *row) : NULL;
	if (!row) {
		free_mount(&m);
		return err_nomem(e);
	}
	*row = m;
	return 0;
}

int mounts_read(struct mounts *m, pid_t pid, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	char path[64], *at, *line;

	if (pid)
		snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)pid);
	else
		snprintf(path, sizeof path, "/proc/self/mountinfo");
	if (file_read_small(path, MOUNTINFO_MAX, &text, e) < 0)
		return e->code;
	at = text.data;
	while (at && (line = strsep(&at, "\n")))
		if (*line && read_line(m, line, e) < 0)
			return err_wrap(e, "%s", path);
	return 0;
}

bool mount_writes_at_close(const struct mount *m)
{
	static const char *const local[] = { "bcachefs", "btrfs", "ext2",  "ext3", "ext4", "f2fs",
					     "jfs",      "ramfs", "tmpfs", "vfat", "xfs",  "zfs" };

	for (size_t i = 0; i < ARRAY_LEN(local); i++)
		if (strcmp(m->type, local[i]) == 0)
			return false;
	return true;
}

const struct mount *mounts_find(const struct mounts *m, uint64_t id)
{
	const struct mount *all = m->rows.data;

	for (size_t i = 0; i < m->rows.count; i++)
		if (all[i].id == id)
			return &all[i];
	return NULL;
}

/* SPDX-License-Identifier: MIT */
#include "base/output/file_set.h"

#include "base/output/outfile.h"

struct member {
	struct outfile file;
	bool is_new;
};

int file_set_add(struct file_set *s, const char *path, bool is_new, const void *bytes, size_t len,
		 struct err *e)
{
	struct member *m = rows_add(&s->files, sizeof *m);

	if (!m)
		return err_nomem(e);
	m->is_new = is_new;
	return outfile_write(path, bytes, len, &m->file, e);
}

static int move(struct file_set *s, bool is_new, struct err *e)
{
	struct member *members = s->files.data;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->files.count; i++)
		if (members[i].is_new == is_new)
			rc = outfile_commit(&members[i].file, is_new, e);
	return rc;
}

int file_set_move(struct file_set *s, struct err *e)
{
	int rc = move(s, true, e);

	return rc < 0 ? rc : move(s, false, e);
}

void file_set_fini(struct file_set *s)
{
	struct member *members = s->files.data;

	for (size_t i = 0; i < s->files.count; i++)
		outfile_discard(&members[i].file);
	rows_fini(&s->files);
}

/* SPDX-License-Identifier: MIT */
#include "format/perfdata/folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "format/perfdata/perfdata.h"

struct parts {
	struct file_input *list; /* [count]; owned */
	size_t count;
};

static void parts_fini(struct parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		file_input_fini(&parts->list[i]);
	free(parts->list);
}

bool perfdata_is_folder(const char *path)
{
	CLEANUP(buf_fini) struct buf data = { 0 };
	struct stat s;

	buf_printf(&data, "%s/data", path);
	return buf_error(&data) == 0 && stat(path, &s) == 0 && S_ISDIR(s.st_mode) &&
	       stat(data.data, &s) == 0 && S_ISREG(s.st_mode);
}

/* PATH/data.0 and so on, as many as there are. */
static int load_parts(struct parts *parts, const char *path, struct err *e)
{
	CLEANUP(buf_fini) struct buf name = { 0 };

	for (;;) {
		struct file_input *grown =
			reallocarray(parts->list, parts->count + 1, sizeof *grown);
		int rc;

		buf_clear(&name);
		buf_printf(&name, "%s/data.%zu", path, parts->count);
		if (!grown)
			return err_nomem(e);
		parts->list = grown;
		if (buf_error(&name) < 0)
			return err_nomem(e);
		if (access(name.data, F_OK) < 0)
			return 0;
		rc = file_load(name.data, &grown[parts->count], e);
		if (rc < 0)
			return rc;
		parts->count++;
	}
}

int perfdata_read_folder(struct profile *p, const char *path, struct err *e)
{
	CLEANUP(file_input_fini) struct file_input in = { 0 };
	CLEANUP(parts_fini) struct parts parts = { 0 };
	CLEANUP(buf_fini) struct buf name = { 0 };
	int rc;

	buf_printf(&name, "%s/data", path);
	if (buf_error(&name) < 0)
		return err_nomem(e);
	rc = file_load(name.data, &in, e);
	if (rc == 0)
		rc = load_parts(&parts, path, e);
	if (rc < 0)
		return rc;
	rc = perfdata_read_parts(p, &in, parts.list, parts.count, e);
	return rc < 0 ? err_wrap(e, "%s", name.data) : 0;
}

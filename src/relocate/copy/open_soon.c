/* SPDX-License-Identifier: MIT */
#include "relocate/copy/open_soon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "relocate/copy/copy_thread.h"

#define LIMIT_NS (10 * NS_PER_S)

/* The thread uses it until the process ends, if it hangs. */
struct opening {
	char *path;
	bool is_dead;
	struct top_dir dir;
};

static int open_now(void *self, struct err *e)
{
	struct opening *o = self;

	return o->is_dead ? top_dir_open_dead(&o->dir, o->path, e)
			  : top_dir_open(&o->dir, o->path, e);
}

int top_dir_open_soon(struct top_dir *ret, const char *path, bool is_dead, struct err *e)
{
	struct opening *o = calloc(1, sizeof *o);
	bool hangs;
	int rc;

	if (!o)
		return err_nomem(e);
	o->is_dead = is_dead;
	o->path = strdup(path);
	if (!o->path) {
		free(o);
		return err_nomem(e);
	}
	rc = copy_thread_join(copy_thread_start(open_now, o), clock_mono_ns() + LIMIT_NS, &hangs,
			      e);
	if (hangs)
		return err_set(e, -ETIME, "%s: its storage does not answer%s", path,
			       is_dead ? "" : " (--old-is-dead moves what is in memory)");
	if (rc == 0)
		*ret = o->dir;
	free(o->path);
	free(o);
	return rc;
}

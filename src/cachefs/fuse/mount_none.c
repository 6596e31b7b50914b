/* SPDX-License-Identifier: MIT */
/* mount_none: mount.h where libfuse is not there. */
#include <errno.h>

#include "cachefs/fuse/mount.h"

static int lacking(struct err *e)
{
	return err_set(e, -ENOTSUP, "auger was built without FUSE (libfuse3)");
}

int mount_run(const struct mount_opts *o, struct err *e)
{
	(void)o;
	return lacking(e);
}

int mount_end(const char *view, enum mount_end how, struct err *e)
{
	(void)view;
	(void)how;
	return lacking(e);
}

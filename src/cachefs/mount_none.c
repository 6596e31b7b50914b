/* SPDX-License-Identifier: MIT */
/* mount_none: mount.h where libfuse is not there. */
#include <errno.h>

#include "cachefs/mount.h"

static int lacking(struct err *e)
{
	return err_set(e, -ENOTSUP, "auger was built without FUSE (libfuse3)");
}

int mount_run(const struct mount_opts *o, struct err *e)
{
	(void)o;
	return lacking(e);
}

int mount_end(const char *view, bool is_lazy, struct err *e)
{
	(void)view;
	(void)is_lazy;
	return lacking(e);
}

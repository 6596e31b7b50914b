/* SPDX-License-Identifier: MIT */
/* mount_none: mount.h and mounted.h in a build without libfuse. */
#include <errno.h>

#include "cachefs/fuse/mount.h"
#include "cachefs/fuse/mounted.h"

static int lacking(struct err *e)
{
	return err_set(e, -ENOTSUP, "auger was built without FUSE (libfuse3)");
}

int mount_run(const struct mount_opts *o, struct err *e)
{
	(void)o;
	return lacking(e);
}

int mounted_unmount(const char *view, enum unmount_mode mode, struct err *e)
{
	(void)view;
	(void)mode;
	return lacking(e);
}

/* SPDX-License-Identifier: MIT */
/* mount_none: mount.h in a build without libfuse. */
#include <errno.h>

#include "cachefs/fuse/mount.h"

int mount_run(const struct mount_opts *o, struct err *e)
{
	(void)o;
	return err_set(e, -ENOTSUP, "auger was built without FUSE (libfuse3)");
}

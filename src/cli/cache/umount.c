/* SPDX-License-Identifier: MIT */
/* umount: "cache umount", also of a view whose daemon died. */
#include <errno.h>
#include <limits.h>

#include "cachefs/fuse/mounted.h"
#include "cachefs/fuse/unmount.h"
#include "cli/cmd.h"

struct args {
	bool is_lazy, if_mounted;
};

static const struct opt opts[] = {
	OPT_FLAG('z', "lazy", struct args, is_lazy,
		 "Unmount a view in use, too: detach it now, and end it with its last user"),
	OPT_FLAG(0, "if-mounted", struct args, if_mounted, "Succeed if no view is mounted there"),
	OPT_END,
};

static bool is_mounted(const char *view)
{
	struct mounted mounted;
	struct err e = { 0 };

	return mounted_find(view, &mounted, &e) || e.code;
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
	char view[PATH_MAX];
	int first, rc = cmd_parse(&cmd_cache_umount, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (argc != first + 1)
		return err_usage(e, "name one folder, the view");
	rc = mounted_resolve(argv[first], view, e);
	if (args.if_mounted && (rc == -ENOENT || (rc == 0 && !is_mounted(view))))
		return 0;
	return rc < 0 ? rc : unmount_view(view, args.is_lazy ? UNMOUNT_LAZY : UNMOUNT_IF_UNUSED, e);
}

const struct cmd cmd_cache_umount = {
	.name = "cache umount",
	.operands = "VIEW",
	.summary = "unmount a view, and wait until its daemon has exited",
	.opts = opts,
	.run = run,
};

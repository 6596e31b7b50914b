/* SPDX-License-Identifier: MIT */
/* umount: "cache umount", also of a view whose daemon died. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cachefs/fuse/mounted.h"
#include "cli/cmd.h"

struct args {
	bool is_lazy;
};

static const struct opt opts[] = {
	OPT_FLAG('z', "lazy", struct args, is_lazy,
		 "Unmount a view in use, too: detach it now, and end it with its last user"),
	OPT_END,
};

/* realpath(3), except that the last component may be a mount whose daemon died. */
static int resolve(const char *path, char *ret, struct err *e)
{
	char parent[PATH_MAX];
	const char *name;
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (len >= sizeof parent)
		return err_set(e, -ENAMETOOLONG, "%s: too long", path);
	memcpy(parent, path, len);
	parent[len] = '\0';
	if (realpath(parent, ret))
		return 0;
	if (errno != ENOTCONN)
		return err_errno(e, "%s", path);
	name = strrchr(parent, '/');
	name = name ? path + (name - parent) + 1 : path;
	parent[name > path ? name - path - 1 : 0] = '\0';
	if (!realpath(name == path ? "." : *parent ? parent : "/", ret))
		return err_errno(e, "%s", path);
	if (strlen(ret) + len + 2 > PATH_MAX)
		return err_set(e, -ENAMETOOLONG, "%s: too long", path);
	sprintf(ret + strlen(ret), "%s%.*s", strcmp(ret, "/") == 0 ? "" : "/",
		(int)(path + len - name), name);
	return 0;
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
	rc = resolve(argv[first], view, e);
	return rc < 0 ? rc
		      : mounted_unmount(view, args.is_lazy ? UNMOUNT_LAZY : UNMOUNT_IF_UNUSED, e);
}

const struct cmd cmd_cache_umount = {
	.name = "cache umount",
	.operands = "VIEW",
	.summary = "unmount a view, and wait until its daemon has exited",
	.opts = opts,
	.run = run,
};

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/number.h"
#include "cli/cmd.h"
#include "ctlfs/ctlfs.h"
#include "symbol/symbolize.h"
#include "target/background.h"

struct args {
	const char *options, *group;
	int event;
	bool is_foreground;
};

static const char
	*const events[] = { [TRACER_CLOCK] = "cpu-clock", [TRACER_CYCLES] = "cycles", NULL };

static const struct opt opts[] = {
	OPT_FLAG(0, "foreground", struct args, is_foreground,
		 "Stay in the foreground, and print kptrace (for service managers)"),
	OPT_STR(0, "group", "GROUP", struct args, group, "Let this group use the files, too"),
	OPT_CHOICE('e', "event", "cpu-clock|cycles", struct args, event, events,
		   "Let timers count this event [default cpu-clock]"),
	OPT_STR(0, "options", "OPTIONS", struct args, options,
		"Mount with these options, such as allow_root"),
	OPT_END,
};

static void show(const char *line)
{
	fprintf(stderr, "auger control: %s\n", line);
}

static int name_profile(struct profile *p, const char *const *files, struct err *e)
{
	return profile_symbolize(p, &(struct symbolize_opts){ .files = files }, e);
}

static int find_group(const char *name, gid_t *ret, struct err *e)
{
	struct group group, *found;
	char text[16384]; /* names of all members */
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(name, &end, 10);
	if (number_is_digit(*name) && !*end && !errno && number < UINT_MAX) {
		*ret = (gid_t)number;
		return 0;
	}
	if (getgrnam_r(name, &group, text, sizeof text, &found) != 0 || !found)
		return err_usage(e, "--group: there is no group '%s'", name);
	*ret = group.gr_gid;
	return 0;
}

/*
 * Notifies the service manager that all is mounted, if it set NOTIFY_SOCKET.
 * Source: sd_notify(3).
 */
static int stay(void *context, struct err *e)
{
	static const char ready[] = "READY=1";
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	(void)context;
	if (len < 2 || len >= sizeof to.sun_path)
		return 0;
	memcpy(to.sun_path, path, len);
	if (to.sun_path[0] == '@')
		to.sun_path[0] = '\0'; /* an abstract one */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, ready, sizeof ready - 1, 0, (const struct sockaddr *)&to,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		err_errno(e, "%s: cannot notify the service manager", path);
	else
		e->code = 0;
	if (fd >= 0)
		close(fd);
	return e->code;
}

static int detach(void *context, struct err *e)
{
	const int *ready_fd = context;

	return background_detach(*ready_fd, e);
}

static int run_in_background(const struct ctlfs_opts *wanted, struct err *e)
{
	struct ctlfs_opts o = *wanted;
	int ready_fd, rc = background_fork(&ready_fd, e);

	if (ready_fd < 0)
		return rc;
	o.ready = detach;
	o.context = &ready_fd;
	return ctlfs_run(&o, e);
}

static int run(int argc, char **argv, struct err *e)
{
	struct args args = { 0 };
	struct ctlfs_opts o = { .name = name_profile, .ready = stay };
	char mount[PATH_MAX];
	struct stat st;
	int first, rc = cmd_parse(&cmd_control, &args, argc, argv, &first, e);

	if (rc < 0)
		return rc;
	if (argc - first != 1)
		return err_usage(e, "name one folder to mount the files on");
	if (args.group)
		rc = find_group(args.group, &o.group, e);
	if (rc < 0)
		return rc;
	if (!realpath(argv[first], mount) || stat(mount, &st) < 0)
		return err_errno(e, "%s", argv[first]);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR, "%s: is no folder", argv[first]);
	o.mount = mount;
	o.options = args.options;
	o.has_group = args.group != NULL;
	o.event = (enum tracer_event)args.event;
	log_msg(LOG_INFO, "control", "%s: timers count %s, options of mount: %s", mount,
		events[args.event], args.options ? args.options : "none");
	if (!args.is_foreground)
		return run_in_background(&o, e);
	o.console = show;
	return ctlfs_run(&o, e);
}

const struct cmd cmd_control = {
	.name = "control",
	.operands = "FOLDER",
	.summary = "mount files from which the machine's sampling is driven",
	.verbose = "Also print what is mounted",
	.opts = opts,
	.run = run,
};

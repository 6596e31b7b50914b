/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/mounted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/compat/compat.h"
#include "base/file.h"
#include "base/quote.h"

#define MOUNTS_MAX (16 << 20) /* of mountinfo: some 100,000 mounts */
#define PF_EXITING 4

/* A line of mountinfo. Source: proc(5). */
struct line {
	uint64_t id, parent;
	unsigned major, minor;
	char *point; /* the folder it is mounted on */
	char *type;  /* the file system's, followed by source and options */
};

/* Cuts the line up. False: not a line of mountinfo. */
static bool parse_line(char *text, struct line *ret)
{
	static const char separator[] = " - ";
	unsigned long long id, parent;
	int at = 0;

	ret->type = strstr(text, separator);
	if (!ret->type ||
	    sscanf(text, "%llu %llu %u:%u %*s %n", &id, &parent, &ret->major, &ret->minor, &at) <
		    4 ||
	    !at)
		return false;
	ret->id = id;
	ret->parent = parent;
	ret->type += strlen(separator);
	ret->point = text + at;
	ret->point[strcspn(ret->point, " ")] = '\0';
	quote_undo_octal(ret->point);
	return true;
}

static bool is_ours(const struct line *line)
{
	static const char type[] = "fuse.auger ";

	return strncmp(line->type, type, strlen(type)) == 0;
}

static void read_source(char *source, struct mounted *ret)
{
	char *end;

	ret->daemon = 0;
	*ret->target = '\0';
	quote_undo_octal(source);
	if (strncmp(source, MOUNTED_SOURCE, strlen(MOUNTED_SOURCE)) != 0)
		return;
	ret->daemon = (pid_t)strtol(source + strlen(MOUNTED_SOURCE), &end, 10);
	if (*end == ':')
		snprintf(ret->target, sizeof ret->target, "%s", end + 1);
}

static void read_mount(const struct line *line, struct mounted *ret)
{
	char *source = strchr(line->type, ' ') + 1;
	char *options = source + strcspn(source, " ");
	const char *owner = strstr(options, ",user_id=");

	if (*options)
		*options++ = '\0';
	ret->id = line->id;
	ret->device = makedev(line->major, line->minor);
	ret->owner = owner ? (uid_t)strtoul(owner + strlen(",user_id="), NULL, 10) : 0;
	read_source(source, ret);
}

/* Of mounts on one folder, the topmost is mounted on the others, and later in the text. */
bool mounted_find_in(char *mountinfo, const char *view, struct mounted *ret)
{
	struct line line, top = { .type = NULL };

	for (char *text = mountinfo, *next; text && *text; text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		if (!parse_line(text, &line) || strcmp(line.point, view) != 0)
			continue;
		if (!top.type || top.parent != line.id)
			top = line;
	}
	if (!top.type || !is_ours(&top))
		return false;
	read_mount(&top, ret);
	return true;
}

bool mounted_find(const char *view, struct mounted *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };

	return file_read_small("/proc/self/mountinfo", MOUNTS_MAX, &text, e) == 0 &&
	       mounted_find_in(text.data, view, ret);
}

int mounted_list(struct buf *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	int rc = file_read_small("/proc/self/mountinfo", MOUNTS_MAX, &text, e);

	for (char *at = text.data, *next; rc == 0 && at && *at; at = next) {
		struct mounted mount;
		struct line line;

		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		if (!parse_line(at, &line) || !is_ours(&line))
			continue;
		read_mount(&line, &mount);
		if (geteuid() == 0 || mount.owner == geteuid())
			buf_put(ret, line.point, strlen(line.point) + 1);
		if (!next)
			break;
	}
	return rc < 0 || buf_error(ret) == 0 ? rc : err_nomem(e);
}

void mounted_source(const char *target, char ret[MOUNTED_SOURCE_MAX])
{
	int len = snprintf(ret, MOUNTED_SOURCE_MAX, MOUNTED_SOURCE "%d:%s", (int)getpid(), target);

	if (len >= MOUNTED_SOURCE_MAX)
		snprintf(ret, MOUNTED_SOURCE_MAX, MOUNTED_SOURCE "%d", (int)getpid());
}

/* Is it a daemon of ours, run by the owner of the mount? */
static bool is_daemon(pid_t pid, uid_t owner)
{
	char path[64], text[1024];
	const char *uids;
	unsigned effective;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	if (!file_read_start(path, text, sizeof text) ||
	    strncmp(text, "Name:\t" MOUNTED_COMM "\n", strlen("Name:\t" MOUNTED_COMM "\n")) != 0)
		return false;
	uids = strstr(text, "\nUid:");
	return uids && sscanf(uids, "\nUid: %*u %u", &effective) == 1 && effective == owner;
}

int mounted_open_daemon(const struct mounted *m)
{
	int fd = m->daemon > 0 ? compat_pidfd_open(m->daemon) : -1;

	if (fd >= 0 && !is_daemon(m->daemon, m->owner)) {
		close(fd);
		return -1; /* a pid of another namespace, reused, or forged */
	}
	return fd;
}

/* Source: proc(5), /proc/PID/stat; linux/sched.h, PF_EXITING. */
bool mounted_is_exiting(pid_t daemon)
{
	char path[64], text[512], state;
	const char *end;
	unsigned flags;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)daemon);
	end = file_read_start(path, text, sizeof text) ? strrchr(text, ')') : NULL;
	return end && sscanf(end + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) == 2 &&
	       (state == 'Z' || flags & PF_EXITING);
}

bool mounted_is_ending(pid_t daemon)
{
	char path[64], name[32];

	snprintf(path, sizeof path, "/proc/%d/comm", (int)daemon);
	return file_read_start(path, name, sizeof name) &&
	       strcmp(name, MOUNTED_COMM_ENDING "\n") == 0;
}

/* The folder that path is in, and the rest of path; false: that is none of its names. */
static bool split(const char *path, char folder[PATH_MAX], const char **ret_name, size_t *ret_len)
{
	size_t len = strlen(path), from;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (from = len; from && path[from - 1] != '/'; from--)
		;
	*ret_name = path + from;
	*ret_len = len - from;
	if (!*ret_len || strncmp(*ret_name, ".", *ret_len) == 0 ||
	    strncmp(*ret_name, "..", *ret_len) == 0 || from >= PATH_MAX)
		return false;
	snprintf(folder, PATH_MAX, "%.*s", from ? (int)from : 1, from ? path : ".");
	return true;
}

int mounted_resolve(const char *path, char ret[PATH_MAX], struct err *e)
{
	char folder[PATH_MAX], real[PATH_MAX], view[PATH_MAX];
	struct err none = { 0 };
	struct mounted mounted;
	const char *name;
	size_t len;

	if (split(path, folder, &name, &len) && realpath(folder, real) &&
	    snprintf(view, sizeof view, "%s%s%.*s", real, strcmp(real, "/") == 0 ? "" : "/",
		     (int)len, name) < PATH_MAX &&
	    mounted_find(view, &mounted, &none)) {
		memcpy(ret, view, sizeof view);
		return 0;
	}
	return realpath(path, ret) ? 0 : err_errno(e, "%s", path);
}

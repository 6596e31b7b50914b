/* SPDX-License-Identifier: MIT */
/* launch_note: the files that a launch leaves in the job's folder. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/json_read.h"
#include "base/output/outfile.h"
#include "base/quote.h"
#include "cli/cache/on_nodes.h"

#define NOTE_MAX (64 << 20)

static bool put_path(char *to, size_t size, const char *folder, const char *name, const char *end)
{
	int len = snprintf(to, size, "%s/%s%s", folder, name, end);

	return len >= 0 && len < (int)size;
}

int launch_paths_fill(const char *job, const char *name, struct launch_paths *ret, struct err *e)
{
	if (put_path(ret->folder, sizeof ret->folder, job, "cluster", "") &&
	    put_path(ret->note, sizeof ret->note, ret->folder, "launch", ".json") &&
	    put_path(ret->log, sizeof ret->log, ret->folder, "launch", ".log") &&
	    put_path(ret->stop_log, sizeof ret->stop_log, ret->folder, "stop", ".log") &&
	    put_path(ret->book, sizeof ret->book, ret->folder, name, ".book") &&
	    put_path(ret->secret, sizeof ret->secret, ret->folder, name, ".secret") &&
	    strlen(ret->book) < PATH_MAX)
		return 0;
	return err_set(e, -ENAMETOOLONG, "%s: too long", job);
}

void launch_paths_remove(const struct launch_paths *p)
{
	unlink(p->secret);
	unlink(p->note);
	rmdir(p->book); /* nodes have removed their files, as far as they ended in order */
}

void launch_note_fini(struct launch_note *n)
{
	launcher_fini(&n->launcher);
}

static void put(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "\"%s\": ", key);
	quote_json(out, text, strlen(text));
	buf_put_str(out, ",\n");
}

int launch_note_write(const struct launch_note *n, const char *job, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct launch_paths paths;
	int rc = launch_paths_fill(job, n->name, &paths, e);

	if (rc < 0)
		return rc;
	buf_put_str(&text, "{\n");
	put(&text, "launcher", launcher_kinds[n->launcher.kind]);
	put(&text, "launch", n->name);
	put(&text, "view", n->view);
	put(&text, "auger", n->auger);
	put(&text, "slurm_job", n->launcher.job);
	put(&text, "rsh", n->launcher.rsh);
	buf_printf(&text, "\"nodes\": %u,\n\"hosts\": [", n->launcher.nodes);
	for (size_t i = 0; i < n->launcher.hosts.count; i++) {
		buf_put_str(&text, i ? ", " : "");
		quote_json(&text, n->launcher.hosts.names[i], strlen(n->launcher.hosts.names[i]));
	}
	buf_put_str(&text, "]\n}\n");
	if (buf_error(&text) < 0)
		return err_nomem(e);
	return outfile_replace(paths.note, text.data, text.len, e);
}

static void take(struct json *j, char *to, size_t size)
{
	CLEANUP(buf_fini) struct buf plain = { 0 };
	struct json_text text = json_string(j);

	if (!text.ptr)
		return; /* no string: json_end() fails */
	json_unescape(text, &plain);
	if (buf_error(&plain) < 0 || plain.len >= size)
		return;
	memcpy(to, plain.data ? plain.data : "", plain.len);
	to[plain.len] = '\0';
}

static int take_hosts(struct json *j, struct hosts *ret, struct err *e)
{
	struct json_list list = json_array(j);
	int rc = 0;

	while (json_item(j, &list)) {
		struct json_text host = json_string(j);

		if (rc == 0 && host.ptr)
			rc = hosts_add(ret, host.ptr, host.len, e);
	}
	return rc;
}

static int take_member(struct json *j, const struct json_text *key, struct launch_note *n,
		       struct err *e)
{
	char kind[16] = "";
	int64_t nodes = 0;

	if (json_equals(key, "launcher")) {
		take(j, kind, sizeof kind);
		for (int i = 0; launcher_kinds[i]; i++)
			if (strcmp(launcher_kinds[i], kind) == 0)
				n->launcher.kind = (enum launcher_kind)i;
	} else if (json_equals(key, "launch")) {
		take(j, n->name, sizeof n->name);
	} else if (json_equals(key, "view")) {
		take(j, n->view, sizeof n->view);
	} else if (json_equals(key, "auger")) {
		take(j, n->auger, sizeof n->auger);
	} else if (json_equals(key, "slurm_job")) {
		take(j, n->launcher.job, sizeof n->launcher.job);
	} else if (json_equals(key, "rsh")) {
		take(j, n->launcher.rsh, sizeof n->launcher.rsh);
	} else if (json_equals(key, "nodes")) {
		if (json_scale(json_number(j), 0, &nodes) && nodes > 0 && nodes <= UINT32_MAX)
			n->launcher.nodes = (uint32_t)nodes;
	} else if (json_equals(key, "hosts")) {
		return take_hosts(j, &n->launcher.hosts, e);
	} else {
		json_skip(j);
	}
	return 0;
}

static int parse(const char *text, size_t len, const char *path, struct launch_note *n,
		 struct err *e)
{
	struct json j = json_begin(text, len);
	struct json_list o = json_object(&j);
	struct json_text key;
	int rc = 0;

	while (rc == 0 && json_member(&j, &o, &key))
		rc = take_member(&j, &key, n, e);
	if (rc < 0)
		return rc;
	if (!json_end(&j) || n->launcher.kind == LAUNCHER_AUTO || !n->launcher.nodes || !*n->name ||
	    strchr(n->name, '/') || *n->view != '/' || *n->auger != '/' ||
	    (n->launcher.kind != LAUNCHER_SLURM && n->launcher.hosts.count != n->launcher.nodes))
		return err_set(e, -EINVAL, "%s: it is no file of 'cache launch'", path);
	return 0;
}

/* It names a program that is run: so it must be this user's own. */
static int read_own(const char *path, struct buf *ret, struct err *e)
{
	CLEANUP(fd_close)
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "%s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022)
		return err_set(e, -EACCES, "%s: it is not this user's alone", path);
	return file_read(fd, path, NOTE_MAX, ret, e);
}

int launch_note_read(const char *job, struct launch_note *ret, struct err *e)
{
	CLEANUP(buf_fini) struct buf text = { 0 };
	struct launch_note n = { .name = "" };
	struct launch_paths paths;
	int rc = launch_paths_fill(job, "x", &paths, e);

	if (rc == 0)
		rc = read_own(paths.note, &text, e);
	if (rc == 0)
		rc = parse(text.data, text.len, paths.note, &n, e);
	if (rc < 0)
		launch_note_fini(&n);
	else
		*ret = n;
	return rc;
}

/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/ops_control.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* A request that the profiling thread replies to. */
struct pending {
	fuse_req_t req;
	struct fsuser user;
	struct control_slowest slowest;
	bool is_slowest; /* slowest is the reply */
};

static void reply(void *request, int rc)
{
	struct pending *o = request;

	if (rc < 0)
		fuse_reply_err(o->req, -rc);
	else
		fuse_reply_ioctl(o->req, rc, o->is_slowest ? &o->slowest : NULL,
				 o->is_slowest ? sizeof o->slowest : 0);
	free(o);
}

/* Root also commands a user's cache: its daemon, which cannot take root's rights, uses its own. */
static void read_user(fuse_req_t req, struct fsuser *ret)
{
	const struct fuse_ctx *caller = fuse_req_ctx(req);
	int count;

	if (caller->uid == 0 && geteuid() != 0) {
		fsuser_read(ret);
		return;
	}
	count = fuse_req_getgroups(req, FSUSER_GROUPS, ret->groups);
	ret->uid = caller->uid;
	ret->gid = caller->gid;
	ret->count = count > FSUSER_GROUPS ? FSUSER_GROUPS : count > 0 ? (size_t)count : 0;
}

static void submit(fuse_req_t req, struct profiling *p, struct node *n, unsigned number)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct pending *o = malloc(sizeof *o);
	struct profiling_command command = { .number = (int)number, .done = reply, .request = o };
	int rc = o ? node_path(n, &path) : -ENOMEM;

	if (rc < 0) {
		free(o);
		fuse_reply_err(req, -rc);
		return;
	}
	o->req = req;
	o->is_slowest = number == CONTROL_SLOWEST;
	read_user(req, &o->user);
	command.user = &o->user;
	command.slowest = o->is_slowest ? &o->slowest : NULL;
	profiling_submit(p, &command, path.data);
}

void ops_control(fuse_req_t req, struct profiling *p, struct node *n, unsigned number)
{
	struct control_stats stats;
	uid_t user = fuse_req_ctx(req)->uid;

	if (number != CONTROL_STATS && number != CONTROL_SLOWEST &&
	    !profiling_has_command((int)number)) {
		fuse_reply_err(req, ENOTTY);
	} else if (user != getuid() && user != 0) {
		fuse_reply_err(req, EPERM);
	} else if (number == CONTROL_STATS) {
		profiling_stats(p, &stats);
		fuse_reply_ioctl(req, 0, &stats, sizeof stats);
	} else {
		submit(req, p, n, number);
	}
}

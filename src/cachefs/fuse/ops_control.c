/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/ops_control.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cachefs/fuse/serve.h"

/* A request that the profiling thread replies to. */
struct pending {
	fuse_req_t req;
	int fd; /* of serve_dup_fd */
};

static void reply(void *request, int rc)
{
	struct pending *o = request;

	serve_set_reply_fd(o->fd);
	if (rc < 0)
		fuse_reply_err(o->req, -rc);
	else
		fuse_reply_ioctl(o->req, rc, NULL, 0);
	serve_set_reply_fd(-1);
	if (o->fd >= 0)
		close(o->fd);
	free(o);
}

static void submit(fuse_req_t req, struct profiling *p, struct node *n, int number)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct pending *o = malloc(sizeof *o);
	struct profiling_command command = { number, reply, o };
	int rc = o ? node_path(n, &path) : -ENOMEM;

	if (rc == 0)
		rc = serve_dup_fd(&o->fd);
	if (rc < 0) {
		free(o);
		fuse_reply_err(req, -rc);
		return;
	}
	o->req = req;
	profiling_submit(p, &command, path.data);
}

void ops_control(fuse_req_t req, struct profiling *p, struct node *n, unsigned number)
{
	struct control_stats stats;
	uid_t user = fuse_req_ctx(req)->uid;

	if (number != CONTROL_STATS && !profiling_has_command((int)number)) {
		fuse_reply_err(req, ENOTTY);
	} else if (user != getuid() && user != 0) {
		fuse_reply_err(req, EPERM);
	} else if (number == CONTROL_STATS) {
		profiling_stats(p, &stats);
		fuse_reply_ioctl(req, 0, &stats, sizeof stats);
	} else {
		submit(req, p, n, (int)number);
	}
}

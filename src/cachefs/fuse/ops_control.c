/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/ops_control.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cachefs/fuse/serve.h"

/* A request that another thread answers. */
struct ordered {
	fuse_req_t req;
	int fd; /* of serve_take_fd */
};

static void answer(void *request, int rc)
{
	struct ordered *o = request;

	serve_answer_at(o->fd);
	if (rc < 0)
		fuse_reply_err(o->req, -rc);
	else
		fuse_reply_ioctl(o->req, rc, NULL, 0);
	serve_answer_at(-1);
	if (o->fd >= 0)
		close(o->fd);
	free(o);
}

static void order(fuse_req_t req, const struct ops_mount *m, struct node *n, int number)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct ordered *o = malloc(sizeof *o);
	struct profiling_order order = { number, answer, o };
	int rc = o ? node_path(n, &path) : -ENOMEM;

	if (rc == 0)
		rc = serve_take_fd(&o->fd);
	if (rc < 0) {
		free(o);
		fuse_reply_err(req, -rc);
		return;
	}
	o->req = req;
	profiling_take(m->profiling, &order, path.data);
}

void ops_control(fuse_req_t req, const struct ops_mount *m, struct node *n, unsigned number)
{
	struct control_stats stats;
	uid_t user = fuse_req_ctx(req)->uid;

	if (number != CONTROL_STATS && !profiling_knows((int)number)) {
		fuse_reply_err(req, ENOTTY);
	} else if (user != getuid() && user != 0) {
		fuse_reply_err(req, EPERM);
	} else if (number == CONTROL_STATS) {
		profiling_stats(m->profiling, &stats);
		fuse_reply_ioctl(req, 0, &stats, sizeof stats);
	} else {
		order(req, m, n, (int)number);
	}
}

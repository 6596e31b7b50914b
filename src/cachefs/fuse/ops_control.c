/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/ops_control.h"

#include <errno.h>
#include <unistd.h>

static void reply(void *request, int rc)
{
	fuse_req_t req = request;

	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_ioctl(req, rc, NULL, 0);
}

static void submit(fuse_req_t req, struct profiling *p, struct node *n, int number)
{
	CLEANUP(buf_fini) struct buf path = { 0 };
	struct profiling_command command = { number, reply, req };
	int rc = node_path(n, &path);

	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
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

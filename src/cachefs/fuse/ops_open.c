/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/ops_open.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <unistd.h>

#include "cachefs/fuse/ops_changes.h"
#include "cachefs/fuse/ops_list.h"
#include "cachefs/fuse/request.h"
#include "cachefs/store/access.h"
#include "cachefs/store/passthrough.h"

#define FMODE_EXEC 040 /* in the flags of an open by execve(2). Source: linux/fs.h */

/* Flags in the handle of an open file, beside OPS_BY_PREFETCH. */
#define HAS_OPEN 2 /* its release needs passthrough_close */
#define IS_PASSTHROUGH 4
#define FLAGS ((uint64_t)7)
static_assert(alignof(struct credentials) > 7, "the flags fit in the lowest bits of its address");

/* struct fuse_open_out since Linux 6.9, which libfuse 3.14 does not know. Source: linux/fuse.h. */
struct open_reply {
	uint64_t handle;
	uint32_t flags;
	int32_t backing;
};
#define OPEN_KEEP_CACHE (1u << 1)
#define OPEN_NOFLUSH (1u << 5)
#define OPEN_PASSTHROUGH (1u << 7)

struct credentials *ops_opener_of(const struct fuse_file_info *fi)
{
	return (struct credentials *)(uintptr_t)(fi->fh & ~FLAGS);
}

/* 0: replied; or an error code of libfuse, so that the kernel sends no release. */
static int reply_passthrough(struct request *r, struct node *n)
{
	struct passthroughs *files = cache_passthroughs(r->mount->cache);
	int backing = passthrough_open(files, n), rc;
	struct open_reply reply = { .handle = r->fi.fh | HAS_OPEN,
				    .flags = OPEN_KEEP_CACHE | OPEN_NOFLUSH };

	if (backing < 0) {
		fuse_reply_err(r->req, -backing);
		return backing;
	}
	if (backing > 0) {
		reply.handle |= IS_PASSTHROUGH;
		reply.flags = OPEN_PASSTHROUGH | OPEN_NOFLUSH;
		reply.backing = backing;
	}
	node_ref(n);
	rc = fuse_reply_buf(r->req, (const char *)&reply, sizeof reply);
	if (rc != 0)
		passthrough_close(files, n, backing > 0); /* the caller was killed */
	node_unref(n, 1);
	return rc;
}

static void reply_open(struct request *r)
{
	struct credentials *opener = credentials_ref(r->waiter.who);
	int rc;

	r->fi.fh |= (uint64_t)(uintptr_t)opener;
	if (r->mount->passthrough)
		rc = reply_passthrough(r, request_node(r));
	else
		rc = fuse_reply_open(r->req, &r->fi);
	if (rc != 0)
		credentials_unref(opener); /* the caller was killed */
}

static void reply_open_folder(struct request *r)
{
	if (ops_open_folder(&r->fi, r->waiter.who) < 0)
		fuse_reply_err(r->req, ENOMEM);
	else if (fuse_reply_open(r->req, &r->fi) != 0)
		ops_close_folder(&r->fi); /* the caller was killed */
}

/* Else ENOSYS makes the kernel send no further opens: they have no state, and pages stay cached. An
 * open folder has, where its listing may change. */
static bool has_state(const struct ops_mount *m, bool is_folder)
{
	if (m->is_exact || m->asks_rights)
		return true;
	return is_folder ? !m->is_immutable : m->passthrough || m->is_writable;
}

/* Of files and folders. */
static void run_open(struct request *r)
{
	const struct ops_mount *m = r->mount;
	bool is_folder = r->call.op == METRICS_OPENDIR;
	int rc = has_state(m, is_folder) ? 0 : -ENOSYS;

	if (rc == 0 && !is_folder)
		rc = ops_check_open(request_node(r), r->fi.flags);
	if (rc == 0 && m->checks_access)
		rc = access_check(m->cache, &r->waiter, request_node(r),
				  r->fi.flags & FMODE_EXEC ? X_OK : R_OK);
	if (rc == CACHE_PARKED)
		return;
	request_count(r, NULL, rc == -ENOSYS ? 0 : rc, 0);
	r->fi.direct_io = m->is_exact;
	r->fi.keep_cache = !m->is_exact;
	r->fi.fh = prefetch_is_caller(m->prefetch, r->waiter.caller) ? OPS_BY_PREFETCH : 0;
	if (rc < 0)
		fuse_reply_err(r->req, -rc);
	else if (is_folder)
		reply_open_folder(r);
	else
		reply_open(r);
	request_end(r);
}

static void open_any(fuse_req_t req, fuse_ino_t ino, const struct fuse_file_info *fi,
		     enum metrics_op op)
{
	struct request r = request_make(req, run_open, ino, op);

	r.fi = *fi;
	request_note_caller(&r);
	run_open(&r);
}

void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	open_any(req, ino, fi, METRICS_OPEN);
}

void ops_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	open_any(req, ino, fi, METRICS_OPENDIR);
}

void ops_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct ops_mount *m = fuse_req_userdata(req);

	if (fi->fh & HAS_OPEN)
		passthrough_close(cache_passthroughs(m->cache), ops_node_of(m, ino),
				  fi->fh & IS_PASSTHROUGH);
	credentials_unref(ops_opener_of(fi));
	if (!(fi->fh & OPS_BY_PREFETCH))
		request_count_at_once(req, METRICS_RELEASE);
	fuse_reply_err(req, 0);
}

void ops_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	if (!(fi->fh & OPS_BY_PREFETCH))
		request_count_at_once(req, METRICS_RELEASEDIR);
	ops_close_folder(fi);
	fuse_reply_err(req, 0);
}

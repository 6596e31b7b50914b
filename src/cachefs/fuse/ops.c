/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/ops.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cachefs/fuse/ops_changes.h"
#include "cachefs/fuse/ops_control.h"
#include "cachefs/fuse/ops_list.h"
#include "cachefs/fuse/ops_open.h"
#include "cachefs/fuse/request.h"
#include "cachefs/fuse/serve.h"
#include "cachefs/rights/caller.h"
#include "cachefs/store/access.h"

/* At the kernel's default of 12, so many requests that hang hold up all others. Measured: 20
 * readers hang, and a cached file takes 6.7 s; with 1,000 it takes 9 ms. The kernel lowers the
 * values of unprivileged mounts. Source: Documentation/filesystems/fuse of Linux. */
#define MAX_BACKGROUND 4096

static void want(struct fuse_conn_info *conn, unsigned caps, bool wanted)
{
	conn->want &= ~caps;
	if (wanted)
		conn->want |= conn->capable & caps;
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct ops_mount *m = userdata;

	if (m->passthrough && !serve_enable_passthrough()) {
		log_msg(LOG_WARN, "cache",
			"no file is passed through: that needs Linux 6.9 and libfuse 3.14");
		m->passthrough = false;
	}
	want(conn, FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_READ, true);
	want(conn, FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO, !m->is_exact);
	/* Measured: to splice 1 MiB from a memfd takes twice as long as to copy it; 128 KiB takes
	 * as long. */
	want(conn, FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE, false);
	want(conn, FUSE_CAP_NO_OPEN_SUPPORT, !m->is_exact && !m->asks_rights);
	want(conn, FUSE_CAP_NO_OPENDIR_SUPPORT, !m->is_exact && m->is_immutable && !m->asks_rights);
	want(conn, FUSE_CAP_CACHE_SYMLINKS, m->is_immutable && !m->is_exact);
	/* Before a read, the kernel then requests attributes that were invalidated. */
	want(conn, FUSE_CAP_AUTO_INVAL_DATA, true);
	want(conn, FUSE_CAP_POSIX_ACL, !m->checks_access);
	conn->max_read = OPS_MAX_READ; /* equal to the mount option */
	conn->max_readahead = OPS_MAX_READ;
	conn->max_background = conn->congestion_threshold = MAX_BACKGROUND;
	m->on_init(m->context);
}

/* Counts a lookup, which may have no node. */
static void count_lookup(struct request *r, struct node *n, int rc)
{
	const struct ops_mount *m = r->mount;
	enum request_result result;
	int64_t ns;

	if (rc == 0) {
		request_count(r, n, rc, 0);
		return;
	}
	if (prefetch_is_caller(m->prefetch, r->waiter.caller))
		return;
	r->call.wait_ns = r->waiter.wait_ns;
	result = metrics_end(m->metrics, &r->call, rc, 0, &ns);
	cache_count_failed_lookup(m->cache, request_node(r), r->name, ns, result);
}

static int check_access(struct request *r, int wanted)
{
	return access_check(r->mount->cache, &r->waiter, request_node(r), wanted);
}

/* Where not all users may search the folder, the kernel must not cache its dentries, also those of
 * names that do not exist. Where storage is asked, entry_timeout_s says so of all folders. */
static int check_search(struct request *r, double *max_timeout_s)
{
	struct stat attr;
	int64_t ttl_ns;
	int rc;

	if (r->mount->asks_rights)
		return check_access(r, X_OK);
	rc = cache_attr(r->mount->cache, &r->waiter, request_node(r), &attr, &ttl_ns);
	if (rc || (attr.st_mode & 0111) == 0111)
		return rc;
	*max_timeout_s = 0;
	return check_access(r, X_OK);
}

/* Reports the root under a node id of its own, so that the kernel creates one more inode for it. */
static void run_lookup_of_root(struct request *r)
{
	const struct ops_mount *m = r->mount;
	struct node *root = cache_root(m->cache);
	struct fuse_entry_param entry = { .ino = (fuse_ino_t)(uintptr_t)root };
	int64_t ttl_ns;
	int rc = cache_attr(m->cache, &r->waiter, root, &entry.attr, &ttl_ns);

	if (rc == CACHE_PARKED)
		return;
	entry.attr_timeout = ops_timeout(m->attr_timeout_s, ttl_ns);
	if (rc < 0)
		fuse_reply_err(r->req, -rc);
	else
		fuse_reply_entry(r->req, &entry);
	request_end(r);
}

static void reply_entry(struct request *r, struct node *n, struct fuse_entry_param *entry)
{
	atomic_fetch_add(&n->lookups, 1);
	entry->ino = (fuse_ino_t)(uintptr_t)n;
	if (fuse_reply_entry(r->req, entry) != 0)
		ops_forget(r->mount, entry->ino, 1); /* the caller was killed */
}

static void run_lookup(struct request *r)
{
	const struct ops_mount *m = r->mount;
	struct fuse_entry_param entry = { .ino = 0 };
	struct node *parent = request_node(r), *n = NULL;
	double max_timeout_s = m->entry_timeout_s;
	int64_t ttl_ns = 0;
	int rc = m->checks_search ? check_search(r, &max_timeout_s) : 0;

	if (rc == 0)
		rc = cache_lookup(m->cache, &r->waiter, parent, r->name, &n, &entry.attr, &ttl_ns);
	if (rc == CACHE_PARKED)
		return;
	count_lookup(r, n, rc);
	entry.attr_timeout = ops_timeout(m->attr_timeout_s, ttl_ns);
	if (rc < 0 && max_timeout_s > 0)
		max_timeout_s = m->attr_timeout_s;
	entry.entry_timeout = ops_timeout(max_timeout_s, ttl_ns);
	if (rc == -ENOENT && entry.entry_timeout > 0 &&
	    cache_may_keep_negative(m->cache, parent, r->name)) {
		fuse_reply_entry(r->req, &entry); /* ino 0: a negative dentry */
	} else if (rc < 0) {
		fuse_reply_err(r->req, -rc);
	} else {
		reply_entry(r, n, &entry);
	}
	request_end(r);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct request r = request_make(req, run_lookup, parent, METRICS_GETATTR);
	pid_t root_mover = r.mount->root_mover;

	r.name = name;
	if (root_mover && root_mover == r.waiter.caller)
		r.run = run_lookup_of_root;
	r.waiter.blocks = request_node(&r);
	request_note_caller(&r);
	r.run(&r);
}

static struct ops_mount *mount_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	ops_forget(mount_of(req), ino, count);
	cache_check_budget(mount_of(req)->cache);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		ops_forget(mount_of(req), forgets[i].ino, forgets[i].nlookup);
	cache_check_budget(mount_of(req)->cache);
	fuse_reply_none(req);
}

static void run_getattr(struct request *r)
{
	const struct ops_mount *m = r->mount;
	struct stat attr;
	int64_t ttl_ns;
	int rc = cache_attr(m->cache, &r->waiter, request_node(r), &attr, &ttl_ns);

	if (rc == CACHE_PARKED)
		return;
	request_count(r, request_node(r), rc, 0);
	if (r->ino == FUSE_ROOT_ID && m->owns_root)
		attr.st_uid = geteuid();
	if (rc < 0)
		fuse_reply_err(r->req, rc == -ENOENT ? ESTALE : -rc);
	else
		fuse_reply_attr(r->req, &attr, ops_timeout(m->attr_timeout_s, ttl_ns));
	request_end(r);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct request r = request_make(req, run_getattr, ino, METRICS_GETATTR);

	(void)fi;
	request_note_caller(&r);
	run_getattr(&r);
}

static void run_readlink(struct request *r)
{
	CLEANUP(buf_fini) struct buf link = { 0 };
	int rc = cache_link(r->mount->cache, &r->waiter, request_node(r), &link);

	if (rc == CACHE_PARKED)
		return;
	request_count(r, NULL, rc, 0);
	if (rc < 0)
		fuse_reply_err(r->req, -rc);
	else
		fuse_reply_readlink(r->req, link.data ? link.data : "");
	request_end(r);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct request r = request_make(req, run_readlink, ino, METRICS_READLINK);

	r.waiter.blocks = request_node(&r);
	request_note_caller(&r);
	run_readlink(&r);
}

static void run_access(struct request *r)
{
	struct stat attr;
	int64_t ttl_ns;
	int rc = cache_attr(r->mount->cache, &r->waiter, request_node(r), &attr, &ttl_ns);

	if (rc == 0)
		rc = ops_check_access(request_node(r), &attr, r->number);
	if (rc == 0)
		rc = check_access(r, r->number);
	if (rc == CACHE_PARKED)
		return;
	request_count(r, NULL, rc, 0);
	fuse_reply_err(r->req, -rc);
	request_end(r);
}

static void op_access(fuse_req_t req, fuse_ino_t ino, int wanted)
{
	struct request r = request_make(req, run_access, ino, METRICS_ACCESS);

	r.number = wanted;
	request_note_caller(&r);
	run_access(&r);
}

static uint64_t bytes_of(const struct cache_data *data)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < data->count; i++)
		sum += data->len[i];
	return sum;
}

static void reply_data(fuse_req_t req, const struct cache_data *data)
{
	struct iovec spans[CACHE_SPANS];

	for (size_t i = 0; i < data->count; i++) {
		union {
			const char *from;
			void *to;
		} at = { data->at[i] }; /* iovec has no const, and libfuse only reads */

		spans[i] = (struct iovec){ .iov_base = at.to, .iov_len = data->len[i] };
	}
	fuse_reply_iov(req, spans, (int)data->count);
}

static void run_read(struct request *r)
{
	struct node *n = request_node(r);
	struct cache_data data;
	int rc = cache_read(r->mount->cache, &r->waiter, n, (uint64_t)r->offset, r->size, &data);

	if (rc == CACHE_PARKED)
		return;
	request_count(r, n, rc, rc < 0 ? 0 : bytes_of(&data));
	if (rc < 0) {
		fuse_reply_err(r->req, -rc);
	} else {
		reply_data(r->req, &data);
		cache_data_fini(&data);
	}
	request_end(r);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	struct request r = request_make(req, run_read, ino, METRICS_READ);

	r.waiter.who = credentials_ref(ops_opener_of(fi));
	r.size = size;
	r.offset = offset;
	r.waiter.blocks = request_node(&r);
	run_read(&r);
}

/* Takes names out of a list that the caller could not read: those are listed to nobody else. A
 * capability in a user namespace does not count; -1 is mapped in none. Source: xattr(7) */
static void hide_trusted(const struct request *r, struct buf *names)
{
	size_t kept = 0;
	bool may_see = true, is_known = false;

	for (size_t at = 0, len; at < names->len; at += len) {
		const char *name = names->data + at;

		len = strlen(name) + 1;
		if (strncmp(name, "trusted.", 8) == 0 && !is_known) {
			may_see = caller_has_capability(r->waiter.caller, CAP_SYS_ADMIN, (uid_t)-1,
							(gid_t)-1);
			is_known = true;
		}
		if (strncmp(name, "trusted.", 8) == 0 && !may_see)
			continue;
		memmove(names->data + kept, name, len);
		kept += len;
	}
	names->len = kept;
}

/* Attributes of users can be read by who can read the file. The kernel checks that where it checks
 * all. Source: xattr(7) */
static int check_xattr(struct request *r)
{
	if (!r->mount->asks_rights || !r->name || strncmp(r->name, "user.", 5) != 0)
		return 0;
	return check_access(r, R_OK);
}

static void run_xattr(struct request *r)
{
	CLEANUP(buf_fini) struct buf value = { 0 };
	int rc = check_xattr(r);

	if (rc == 0)
		rc = cache_xattr(r->mount->cache, &r->waiter, request_node(r), r->name, &value);
	if (rc == CACHE_PARKED)
		return;
	if (rc == 0 && !r->name && value.len)
		hide_trusted(r, &value);
	request_count(r, NULL, rc, 0);
	if (rc < 0)
		fuse_reply_err(r->req, -rc);
	else if (!r->size)
		fuse_reply_xattr(r->req, value.len);
	else if (r->size < value.len)
		fuse_reply_err(r->req, ERANGE);
	else
		fuse_reply_buf(r->req, value.data, value.len);
	request_end(r);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct request r = request_make(req, run_xattr, ino, METRICS_GETXATTR);

	r.name = name;
	r.size = size;
	request_note_caller(&r);
	run_xattr(&r);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct request r = request_make(req, run_xattr, ino, METRICS_LISTXATTR);

	r.size = size;
	request_note_caller(&r);
	run_xattr(&r);
}

static void run_lseek(struct request *r)
{
	uint64_t at;
	int rc = cache_seek(r->mount->cache, &r->waiter, request_node(r), (uint64_t)r->offset,
			    r->number, &at);

	if (rc == CACHE_PARKED)
		return;
	request_count(r, NULL, rc, 0);
	if (rc < 0)
		fuse_reply_err(r->req, -rc);
	else
		fuse_reply_lseek(r->req, (off_t)at);
	request_end(r);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence,
		     struct fuse_file_info *fi)
{
	struct request r = request_make(req, run_lseek, ino, METRICS_LSEEK);

	r.waiter.who = credentials_ref(ops_opener_of(fi));
	r.offset = offset;
	r.number = whence;
	run_lseek(&r);
}

static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned number, void *arg,
		     struct fuse_file_info *fi, unsigned flags, const void *in, size_t in_size,
		     size_t out_size)
{
	const struct ops_mount *m = mount_of(req);

	(void)arg;
	(void)fi;
	(void)flags;
	(void)in;
	(void)in_size;
	(void)out_size;
	request_count_at_once(req, METRICS_IOCTL);
	ops_control(req, m->profiling, ops_node_of(m, ino), number);
}

static void run_statfs(struct request *r)
{
	struct statvfs fs;
	int rc = cache_stat_fs(r->mount->cache, &r->waiter, request_node(r), &fs);

	if (rc == CACHE_PARKED)
		return;
	request_count(r, NULL, rc, 0);
	if (rc < 0)
		fuse_reply_err(r->req, -rc);
	else
		fuse_reply_statfs(r->req, &fs);
	request_end(r);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct request r = request_make(req, run_statfs, ino ? ino : FUSE_ROOT_ID, METRICS_STATFS);

	run_statfs(&r);
}

const struct fuse_lowlevel_ops ops_table = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = ops_open,
	.opendir = ops_opendir,
	.access = op_access,
	.read = op_read,
	.release = ops_release,
	.readdir = ops_readdir,
	.readdirplus = ops_readdirplus,
	.releasedir = ops_releasedir,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.lseek = op_lseek,
	.statfs = op_statfs,
	.ioctl = op_ioctl,
	OPS_REFUSE_CHANGES,
};

/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/ops.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cachefs/fuse/ops_control.h"
#include "cachefs/fuse/ops_internal.h"
#include "cachefs/fuse/serve.h"
#include "cachefs/store/access.h"
#include "cachefs/store/passthrough.h"

#define FMODE_EXEC 040 /* in the flags of an open by execve(2). Source: linux/fs.h */

#define LONG_READ (512 * 1024) /* other threads go on reading requests while it is copied */

/* Flags in the handle of an open file. */
#define BY_PREFETCH 1 /* its release is not counted */
#define HAS_OPEN 2    /* its release needs passthrough_close */
#define IS_PASSTHROUGH 4

/* struct fuse_open_out since Linux 6.9, which libfuse 3.14 does not know. Source: linux/fuse.h. */
struct open_reply {
	uint64_t handle;
	uint32_t flags;
	int32_t backing;
};
#define OPEN_KEEP_CACHE (1u << 1)
#define OPEN_NOFLUSH (1u << 5)
#define OPEN_PASSTHROUGH (1u << 7)

struct ops_mount *ops_mount_of(fuse_req_t req)
{
	serve_set_request(req);
	return fuse_req_userdata(req);
}

struct node *ops_node_of(const struct ops_mount *m, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? cache_root(m->cache) : (struct node *)(uintptr_t)ino;
}

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
	want(conn, FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_NO_OPENDIR_SUPPORT, !m->is_exact);
	want(conn, FUSE_CAP_CACHE_SYMLINKS, m->is_immutable && !m->is_exact);
	/* Before a read, the kernel then requests attributes that were invalidated. */
	want(conn, FUSE_CAP_AUTO_INVAL_DATA, true);
	want(conn, FUSE_CAP_POSIX_ACL, !m->checks_access);
	conn->max_read = OPS_MAX_READ; /* equal to the mount option */
	conn->max_readahead = OPS_MAX_READ;
	m->on_init(m->context);
}

void ops_end_call(const struct ops_mount *m, const struct metrics_call *call, struct node *n,
		  int rc, uint64_t bytes)
{
	int64_t ns;
	enum request_result result;
	struct path_counts *counts;

	if (prefetch_is_caller(m->prefetch, serve_caller()))
		return;
	result = metrics_end(m->metrics, call, rc, bytes, &ns);
	counts = n ? cache_path_counts(m->cache, n) : NULL;
	if (!counts)
		return;
	if (call->op == METRICS_GETATTR)
		path_counts_add(counts, PATH_METADATA, result, ns, 0);
	else if (call->op == METRICS_READ)
		path_counts_add(counts, PATH_DATA, result, ns, bytes);
	else if (call->op == METRICS_READDIR)
		path_counts_add(counts, PATH_TREE, result, ns, 0);
}

/* The same for a lookup, which may have no node. */
static void end_lookup(const struct ops_mount *m, const struct metrics_call *call,
		       struct node *parent, const char *name, struct node *n, int rc)
{
	int64_t ns;
	enum request_result result;

	if (rc == 0) {
		ops_end_call(m, call, n, rc, 0);
		return;
	}
	if (prefetch_is_caller(m->prefetch, serve_caller()))
		return;
	result = metrics_end(m->metrics, call, rc, 0, &ns);
	cache_count_failed_lookup(m->cache, parent, name, ns, result);
}

static double seconds_of(const struct ops_mount *m, int64_t ns)
{
	if (m->is_exact || ns <= 0)
		return 0;
	return ns == CACHE_FOREVER ? m->attr_timeout_s : (double)ns / (double)NS_PER_S;
}

void ops_forget(const struct ops_mount *m, fuse_ino_t ino, uint64_t count)
{
	struct node *n = ops_node_of(m, ino);

	if (n == cache_root(m->cache))
		return;
	atomic_fetch_sub(&n->lookups, count);
	node_unref(n, count);
}

static int check_access(const struct ops_mount *m, fuse_ino_t ino, int wanted)
{
	return access_check(m->cache, ops_node_of(m, ino), wanted, serve_caller());
}

/* Where not all users may search the folder, the kernel must not cache its dentries. */
static int check_search(const struct ops_mount *m, fuse_ino_t folder, double *entry_timeout_s)
{
	struct stat attr;
	int rc = cache_attr(m->cache, ops_node_of(m, folder), &attr);

	if (rc < 0 || (attr.st_mode & 0111) == 0111)
		return rc;
	*entry_timeout_s = 0;
	return check_access(m, folder, X_OK);
}

/* Reports the root under a node id of its own, so that the kernel creates one more inode for it. */
static void reply_root(fuse_req_t req, const struct ops_mount *m)
{
	struct fuse_entry_param entry = { .ino = (fuse_ino_t)(uintptr_t)cache_root(m->cache),
					  .attr_timeout = m->attr_timeout_s };
	int rc = cache_attr(m->cache, cache_root(m->cache), &entry.attr);

	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_entry(req, &entry);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct ops_mount *m = ops_mount_of(req);
	struct fuse_entry_param entry = { .attr_timeout = m->attr_timeout_s,
					  .entry_timeout = m->entry_timeout_s };
	struct metrics_call call = metrics_begin(METRICS_GETATTR);
	int64_t negative_ttl_ns = 0;
	struct node *n = NULL;
	int rc;

	if (m->root_mover && m->root_mover == serve_caller()) {
		reply_root(req, m);
		return;
	}
	rc = m->checks_search ? check_search(m, parent, &entry.entry_timeout) : 0;
	if (rc == 0)
		rc = cache_lookup(m->cache, ops_node_of(m, parent), name, &n, &entry.attr,
				  &negative_ttl_ns);
	end_lookup(m, &call, ops_node_of(m, parent), name, n, rc);
	if (rc == -ENOENT && seconds_of(m, negative_ttl_ns) > 0 &&
	    cache_may_keep_negative(m->cache, ops_node_of(m, parent), name)) {
		entry.entry_timeout = seconds_of(m, negative_ttl_ns);
		fuse_reply_entry(req, &entry); /* ino 0: a negative dentry */
		return;
	}
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	atomic_fetch_add(&n->lookups, 1);
	entry.ino = (fuse_ino_t)(uintptr_t)n;
	if (fuse_reply_entry(req, &entry) != 0)
		ops_forget(m, entry.ino, 1); /* the caller was killed */
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	ops_forget(ops_mount_of(req), ino, count);
	cache_check_budget(ops_mount_of(req)->cache);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		ops_forget(ops_mount_of(req), forgets[i].ino, forgets[i].nlookup);
	cache_check_budget(ops_mount_of(req)->cache);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct ops_mount *m = ops_mount_of(req);
	struct metrics_call call = metrics_begin(METRICS_GETATTR);
	struct stat attr;
	int rc = cache_attr(m->cache, ops_node_of(m, ino), &attr);

	(void)fi;
	ops_end_call(m, &call, ops_node_of(m, ino), rc, 0);
	if (ino == FUSE_ROOT_ID && m->owns_root)
		attr.st_uid = geteuid();
	if (rc < 0)
		fuse_reply_err(req, rc == -ENOENT ? ESTALE : -rc);
	else
		fuse_reply_attr(req, &attr, m->attr_timeout_s);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	const struct ops_mount *m = ops_mount_of(req);
	struct metrics_call call = metrics_begin(METRICS_READLINK);
	CLEANUP(buf_fini) struct buf link = { 0 };
	int rc = cache_link(m->cache, ops_node_of(m, ino), &link);

	ops_end_call(m, &call, NULL, rc, 0);
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_readlink(req, link.data ? link.data : "");
}

/* Counts an operation that is served at once. */
static void count(fuse_req_t req, enum metrics_op op)
{
	struct metrics_call call = metrics_begin(op);

	ops_end_call(ops_mount_of(req), &call, NULL, 0, 0);
}

static void op_access(fuse_req_t req, fuse_ino_t ino, int wanted)
{
	const struct ops_mount *m = ops_mount_of(req);
	struct metrics_call call = metrics_begin(METRICS_ACCESS);
	int rc = check_access(m, ino, wanted);

	ops_end_call(m, &call, NULL, rc, 0);
	fuse_reply_err(req, -rc);
}

static void reply_passthrough(fuse_req_t req, const struct ops_mount *m, struct node *n,
			      uint64_t handle)
{
	int backing = passthrough_open(cache_passthroughs(m->cache), n);
	struct open_reply reply = { .handle = handle | HAS_OPEN,
				    .flags = OPEN_KEEP_CACHE | OPEN_NOFLUSH };

	if (backing < 0) {
		fuse_reply_err(req, -backing);
		return;
	}
	if (backing > 0) {
		reply.handle |= IS_PASSTHROUGH;
		reply.flags = OPEN_PASSTHROUGH | OPEN_NOFLUSH;
		reply.backing = backing;
	}
	node_ref(n);
	if (fuse_reply_buf(req, (const char *)&reply, sizeof reply) != 0)
		passthrough_close(cache_passthroughs(m->cache), n,
				  backing > 0); /* the caller was killed */
	node_unref(n, 1);
}

/* Of files and folders. Except in exact mode, ENOSYS makes the kernel send no further opens: they
 * have no state, and pages stay cached. */
static void reply_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		       enum metrics_op op)
{
	const struct ops_mount *m = ops_mount_of(req);
	struct metrics_call call = metrics_begin(op);
	bool passthrough = m->passthrough && op == METRICS_OPEN;
	int rc = m->is_exact || passthrough ? 0 : -ENOSYS;

	if (rc == 0 && m->checks_access)
		rc = check_access(m, ino, fi->flags & FMODE_EXEC ? X_OK : R_OK);
	ops_end_call(m, &call, NULL, rc == -ENOSYS ? 0 : rc, 0);
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	fi->direct_io = m->is_exact;
	fi->fh = prefetch_is_caller(m->prefetch, serve_caller()) ? BY_PREFETCH : 0;
	if (passthrough)
		reply_passthrough(req, m, ops_node_of(m, ino), fi->fh);
	else
		fuse_reply_open(req, fi);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	reply_open(req, ino, fi, METRICS_OPEN);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	reply_open(req, ino, fi, METRICS_OPENDIR);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct ops_mount *m = ops_mount_of(req);

	if (fi->fh & HAS_OPEN)
		passthrough_close(cache_passthroughs(m->cache), ops_node_of(m, ino),
				  fi->fh & IS_PASSTHROUGH);
	if (!(fi->fh & BY_PREFETCH))
		count(req, METRICS_RELEASE);
	fuse_reply_err(req, 0);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	if (!(fi->fh & BY_PREFETCH))
		count(req, METRICS_RELEASEDIR);
	fuse_reply_err(req, 0);
}

static uint64_t bytes_of(const struct cache_data *data)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < data->count; i++)
		sum += data->len[i];
	return sum;
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	const struct ops_mount *m = ops_mount_of(req);
	struct metrics_call call = metrics_begin(METRICS_READ);
	struct iovec spans[CACHE_SPANS];
	struct cache_data data;
	int rc;

	(void)fi;
	if (size >= LONG_READ)
		serve_will_wait();
	rc = cache_read(m->cache, ops_node_of(m, ino), (uint64_t)offset, size, &data);
	ops_end_call(m, &call, ops_node_of(m, ino), rc, rc < 0 ? 0 : bytes_of(&data));
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	for (size_t i = 0; i < data.count; i++) {
		union {
			const char *from;
			void *to;
		} at = { data.at[i] }; /* iovec has no const, and libfuse only reads */

		spans[i] = (struct iovec){ .iov_base = at.to, .iov_len = data.len[i] };
	}
	fuse_reply_iov(req, spans, (int)data.count);
	cache_data_fini(&data);
}

static void reply_xattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	const struct ops_mount *m = ops_mount_of(req);
	struct metrics_call call = metrics_begin(name ? METRICS_GETXATTR : METRICS_LISTXATTR);
	CLEANUP(buf_fini) struct buf value = { 0 };
	int rc = cache_xattr(m->cache, ops_node_of(m, ino), name, &value);

	ops_end_call(m, &call, NULL, rc, 0);
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else if (!size)
		fuse_reply_xattr(req, value.len);
	else if (size < value.len)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, value.data, value.len);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	reply_xattr(req, ino, name, size);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	reply_xattr(req, ino, NULL, size);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence,
		     struct fuse_file_info *fi)
{
	const struct ops_mount *m = ops_mount_of(req);
	struct metrics_call call = metrics_begin(METRICS_LSEEK);
	uint64_t at;
	int rc = cache_seek(m->cache, ops_node_of(m, ino), (uint64_t)offset, whence, &at);

	(void)fi;
	ops_end_call(m, &call, NULL, rc, 0);
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_lseek(req, (off_t)at);
}

static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned number, void *arg,
		     struct fuse_file_info *fi, unsigned flags, const void *in, size_t in_size,
		     size_t out_size)
{
	const struct ops_mount *m = ops_mount_of(req);

	(void)arg;
	(void)fi;
	(void)flags;
	(void)in;
	(void)in_size;
	(void)out_size;
	count(req, METRICS_IOCTL);
	ops_control(req, m->profiling, ops_node_of(m, ino), number);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	const struct ops_mount *m = ops_mount_of(req);
	struct metrics_call call = metrics_begin(METRICS_STATFS);
	struct statvfs fs = { 0 };
	int rc = cache_stat_fs(m->cache, ops_node_of(m, ino ? ino : FUSE_ROOT_ID), &fs);

	ops_end_call(m, &call, NULL, rc, 0);
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_statfs(req, &fs);
}

/* Without writes: the mount is read-only, so the kernel replies EROFS itself. */
const struct fuse_lowlevel_ops ops_table = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.opendir = op_opendir,
	.access = op_access,
	.read = op_read,
	.release = op_release,
	.readdir = ops_readdir,
	.readdirplus = ops_readdirplus,
	.releasedir = op_releasedir,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.lseek = op_lseek,
	.statfs = op_statfs,
	.ioctl = op_ioctl,
};

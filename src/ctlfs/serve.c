/* SPDX-License-Identifier: MIT */
#include "ctlfs/serve.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct server *server_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* The node and session of an inode; false: the session has ended. */
static bool find(struct server *v, fuse_ino_t ino, struct node_id *ret,
		 struct session **ret_session)
{
	if (!node_id_from_ino(ino, ret))
		return false;
	*ret_session = find_session(&v->state, ret->session);
	return *ret_session != NULL;
}

/* Permissions of the owner, and of the group if there is one. */
static mode_t rights(const struct server *v, mode_t owner)
{
	return v->opts->has_group ? owner | owner >> 3 : owner;
}

static mode_t mode_of(const struct server *v, struct node_id p)
{
	if (p.node == NODE_SESSIONS)
		return S_IFDIR | rights(v, 0700);
	if (node_is_dir(p.node))
		return S_IFDIR | rights(v, 0500);
	return S_IFREG | rights(v, node_info(p.node)->can_write ? 0600 : 0400);
}

static struct stat stat_of(const struct server *v, const struct session *s, struct node_id p)
{
	return (struct stat){
		.st_ino = node_id_to_ino(p),
		.st_mode = mode_of(v, p),
		.st_nlink = node_is_dir(p.node) ? 2 : 1,
		.st_uid = getuid(),
		.st_gid = v->opts->has_group ? v->opts->group : getgid(),
		.st_size = (off_t)node_size(&v->state, s, p),
		.st_atim = v->start,
		.st_mtim = v->start,
		.st_ctim = v->start,
	};
}

static bool has_node(struct node_id dir, enum node node)
{
	const struct node_info *info = node_info(node);

	return info->parent == dir.node && !(info->is_first_only && dir.session);
}

/* A core number without sign or leading zeros. */
static bool parse_core(const char *name, uint32_t *ret)
{
	char again[16];

	if (!isdigit((unsigned char)name[0]) || strlen(name) > 6)
		return false;
	*ret = (uint32_t)strtoul(name, NULL, 10);
	snprintf(again, sizeof again, "%u", *ret);
	return strcmp(again, name) == 0;
}

static bool look_up_dir(const struct server *v, struct node_id dir, const char *name,
			struct node_id *ret)
{
	const struct session *s;

	*ret = dir;
	if (dir.node == NODE_TOP && strcmp(name, "cpu") == 0) {
		ret->node = NODE_CPUS;
		return true;
	}
	if (dir.node == NODE_TOP && !dir.session && strcmp(name, "s") == 0) {
		ret->node = NODE_SESSIONS;
		return true;
	}
	if (dir.node == NODE_CPUS) {
		ret->node = NODE_CPU;
		return parse_core(name, &ret->core) &&
		       command_core_index(&v->state.known, ret->core) != SIZE_MAX;
	}
	s = dir.node == NODE_SESSIONS ? find_session_by_name(&v->state, name, strlen(name)) : NULL;
	if (!s)
		return false;
	*ret = (struct node_id){ .node = NODE_TOP, .session = s->id };
	return true;
}

static bool look_up(const struct server *v, struct node_id dir, const char *name,
		    struct node_id *ret)
{
	if (look_up_dir(v, dir, name, ret))
		return true;
	*ret = dir;
	for (enum node n = NODE_FIRST_FILE; n < NODE_END; n++)
		if (has_node(dir, n) && strcmp(node_info(n)->name, name) == 0) {
			ret->node = n;
			return true;
		}
	return false;
}

static void reply_entry(fuse_req_t req, struct node_id p)
{
	struct server *v = server_of(req);
	struct fuse_entry_param entry = { .ino = node_id_to_ino(p) };

	entry.attr = stat_of(v, find_session(&v->state, p.session), p);
	fuse_reply_entry(req, &entry);
}

static void serve_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct server *v = server_of(req);
	struct node_id dir, p;
	struct session *s;

	if (find(v, parent, &dir, &s) && look_up(v, dir, name, &p))
		reply_entry(req, p);
	else
		fuse_reply_err(req, ENOENT);
}

static void serve_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct server *v = server_of(req);
	struct node_id p;
	struct session *s;
	struct stat st;

	(void)fi;
	if (!find(v, ino, &p, &s)) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	st = stat_of(v, s, p);
	fuse_reply_attr(req, &st, 0);
}

/* Truncating (">") does nothing: the files have no length. Mode and owner cannot be changed. */
static void serve_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
			  struct fuse_file_info *fi)
{
	(void)attr;
	if (to_set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		fuse_reply_err(req, EPERM);
	else
		serve_getattr(req, ino, fi);
}

/* A directory listing in progress. */
struct listing {
	fuse_req_t req;
	const struct server *server;
	struct buf bytes;
};

static void list(struct listing *l, const char *name, struct node_id p)
{
	struct stat st = { .st_ino = node_id_to_ino(p), .st_mode = mode_of(l->server, p) };
	size_t len = fuse_add_direntry(l->req, NULL, 0, name, NULL, 0);
	char *to = buf_reserve(&l->bytes, len);

	if (!to)
		return;
	fuse_add_direntry(l->req, to, len, name, &st, (off_t)(l->bytes.len + len));
	buf_grew(&l->bytes, len);
}

static void list_all(struct listing *l, struct node_id dir)
{
	const struct server *v = l->server;
	struct node_id p = dir;

	list(l, ".", dir);
	list(l, "..", (struct node_id){ .node = NODE_TOP });
	for (enum node n = NODE_FIRST_FILE; n < NODE_END; n++) {
		p.node = n;
		if (has_node(dir, n))
			list(l, node_info(n)->name, p);
	}
	p.node = NODE_CPUS;
	if (dir.node == NODE_TOP)
		list(l, "cpu", p);
	p.node = NODE_SESSIONS;
	if (dir.node == NODE_TOP && !dir.session)
		list(l, "s", p);
	for (size_t i = 0; dir.node == NODE_CPUS && i < v->state.known.count; i++) {
		char name[16];

		p = (struct node_id){ NODE_CPU, dir.session, v->state.known.cpus[i] };
		snprintf(name, sizeof name, "%u", p.core);
		list(l, name, p);
	}
	for (struct session *s = v->state.sessions; dir.node == NODE_SESSIONS && s; s = s->next)
		if (s->id)
			list(l, s->name, (struct node_id){ .node = NODE_TOP, .session = s->id });
}

static void serve_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			  struct fuse_file_info *fi)
{
	struct listing l = { .req = req, .server = server_of(req) };
	struct node_id dir;
	struct session *s;
	size_t left;

	(void)fi;
	if (!find(server_of(req), ino, &dir, &s)) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	list_all(&l, dir);
	left = (size_t)off < l.bytes.len ? l.bytes.len - (size_t)off : 0;
	if (buf_error(&l.bytes) < 0)
		fuse_reply_err(req, ENOMEM);
	else
		fuse_reply_buf(req, left ? l.bytes.data + off : NULL, left < size ? left : size);
	buf_fini(&l.bytes);
}

/* 0 or a negative errno; 1: the reply comes later. */
static int prepare(struct server *v, struct handle *h, struct session *s, fuse_req_t req,
		   struct fuse_file_info *fi, struct err *e)
{
	const struct node_info *info = node_info(h->id.node);
	int rc;

	if ((fi->flags & O_ACCMODE) == O_WRONLY)
		return 0;
	switch (info->source) {
	case SOURCE_TEXT:
		session_poll(s);
		rc = node_put_text(&v->state, s, h->id, &h->text, e);
		if (rc == 0 && buf_error(&h->text) < 0)
			rc = -ENOMEM;
		return rc < 0 ? rc : handles_check_bytes(&v->handles, h->user, 0);
	case SOURCE_SNAPSHOT:
		rc = handles_check_bytes(&v->handles, h->user, HANDLES_SNAPSHOT_BYTES);
		if (rc < 0)
			return rc;
		session_poll_all(s);
		rc = snapshot_start(info->snapshot, s, v->opts->name, v->done_fd, &h->snapshot, e);
		if (rc < 0)
			return rc;
		handles_wait_for_snapshot(&v->handles, h, req, fi);
		return 1;
	case SOURCE_QUEUE:
		h->is_reader = true;
		fi->nonseekable = 1;
		return 0;
	case SOURCE_STREAM:
		fi->nonseekable = 1;
		rc = handles_check_bytes(&v->handles, h->user, SESSION_STREAM_BYTES);
		if (rc < 0)
			return rc;
		h->stream = session_open_stream(s, fuse_req_ctx(req)->pid);
		return h->stream ? 0 : -ENOMEM;
	default:
		return 0;
	}
}

static int check_open(const struct server *v, struct node_id p, int flags)
{
	const struct node_info *info;
	bool is_read = (flags & O_ACCMODE) != O_WRONLY;

	if (node_is_dir(p.node))
		return -EISDIR;
	info = node_info(p.node);
	if ((flags & O_ACCMODE) != O_RDONLY && !info->can_write)
		return -EACCES;
	if (info->source == SOURCE_QUEUE && is_read &&
	    handles_has_reader(&v->handles, p,
			       p.node == NODE_CPU_KPOPROFILE
				       ? command_core_index(&v->state.known, p.core)
				       : QUEUE_ALL))
		return -EBUSY;
	return 0;
}

static void serve_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct server *v = server_of(req);
	struct handle *h;
	struct session *s;
	struct node_id p;
	struct err e = { 0 };
	int rc = find(v, ino, &p, &s) ? check_open(v, p, fi->flags) : -ENOENT;

	if (rc == 0)
		rc = handles_add(&v->handles, p, fuse_req_ctx(req)->uid, &h);
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)h;
	fi->direct_io = 1;
	rc = prepare(v, h, s, req, fi, &e);
	if (rc == 1)
		return;
	if (rc < 0) {
		fuse_reply_err(req, -rc);
		handles_remove(&v->handles, h);
	} else if (fuse_reply_open(req, fi) < 0) {
		handles_remove(&v->handles, h); /* the kernel sends no release */
	}
}

static struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

static void serve_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	handles_remove(&server_of(req)->handles, handle_of(fi));
	fuse_reply_err(req, 0);
}

/* Each reading to the end is of one text: the reason why what was written on this descriptor
 * was refused, else how things stand. The position is the handle's: writes moved the file's. */
static void read_ctl(struct server *v, struct handle *h, fuse_req_t req, size_t size)
{
	struct session *s = find_session(&v->state, h->id.session);
	size_t len;
	struct err e;

	if (!h->is_made && s) {
		buf_clear(&h->text);
		h->at = 0;
		h->is_made = true;
		session_poll(s);
		if (h->error[0])
			buf_printf(&h->text, "%s\n", h->error);
		else if (node_put_text(&v->state, s, h->id, &h->text, &e) < 0)
			buf_put_str(&h->text, e.msg);
		h->error[0] = '\0';
	}
	len = h->text.len - h->at;
	if (len > size)
		len = size;
	fuse_reply_buf(req, len ? h->text.data + h->at : NULL, len);
	h->at += len;
	h->is_made = len > 0;
}

static void serve_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	struct server *v = server_of(req);
	struct handle *h = handle_of(fi);
	size_t left = (size_t)off < h->text.len ? h->text.len - (size_t)off : 0;

	(void)ino;
	switch (node_info(h->id.node)->source) {
	case SOURCE_QUEUE:
	case SOURCE_STREAM:
		handles_read(&v->handles, h, req, size, fi->flags & O_NONBLOCK);
		break;
	case SOURCE_CTL:
		read_ctl(v, h, req, size);
		break;
	default:
		fuse_reply_buf(req, left ? h->text.data + off : NULL, left < size ? left : size);
	}
}

static void serve_write(fuse_req_t req, fuse_ino_t ino, const char *text, size_t len, off_t off,
			struct fuse_file_info *fi)
{
	struct server *v = server_of(req);
	struct handle *h = handle_of(fi);
	struct session *s = find_session(&v->state, h->id.session);
	struct err e = { 0 };
	int rc = s ? node_write(&v->state, s, h->id, text, len, &e) : -ENODEV;

	(void)ino;
	(void)off; /* each write is a command; the offset means nothing */
	h->is_made = false;
	snprintf(h->error, sizeof h->error, "%s", rc < 0 ? e.msg : "");
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_write(req, len);
}

static void serve_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		       struct fuse_pollhandle *ph)
{
	struct server *v = server_of(req);
	struct handle *h = handle_of(fi);
	enum source source = node_info(h->id.node)->source;
	bool is_end = false;

	(void)ino;
	if (source != SOURCE_QUEUE && source != SOURCE_STREAM) {
		if (ph)
			fuse_pollhandle_destroy(ph);
		fuse_reply_poll(req, POLLIN | POLLOUT);
		return;
	}
	if (handles_is_ready(&v->handles, h, &is_end)) {
		if (ph)
			fuse_pollhandle_destroy(ph);
		fuse_reply_poll(req, POLLIN | (is_end ? POLLHUP : 0));
		return;
	}
	if (h->poll && ph)
		fuse_pollhandle_destroy(h->poll);
	if (ph)
		h->poll = ph;
	fuse_reply_poll(req, 0);
}

static bool is_session_name(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len >= sizeof((struct session *)0)->name || name[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return true;
}

/* The last sessions are kept for the owner of the mount. */
static size_t session_limit(uid_t user)
{
	return user == getuid() ? SERVE_MAX_SESSIONS : SERVE_MAX_SESSIONS - SERVE_OWNER_SESSIONS;
}

static int make_session(struct server *v, const char *name, uid_t user, struct session **ret)
{
	struct ctlfs_state *w = &v->state;
	struct err e;
	int rc;

	if (!is_session_name(name))
		return -EINVAL;
	if (find_session_by_name(w, name, strlen(name)))
		return -EEXIST;
	if (v->session_count >= session_limit(user))
		return -ENOSPC;
	rc = session_new(v->next_session, name, v->opts->event, &w->known, &w->journal, ret, &e);
	if (rc < 0) {
		journal_add(&w->journal, "session %s: %s", name, e.msg);
		return rc;
	}
	v->next_session++;
	v->session_count++;
	(*ret)->next = w->sessions;
	w->sessions = *ret;
	return 0;
}

static void serve_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct server *v = server_of(req);
	struct session *s;
	struct node_id dir;
	int rc;

	(void)mode;
	if (!node_id_from_ino(parent, &dir) || dir.node != NODE_SESSIONS)
		rc = -EPERM;
	else
		rc = make_session(v, name, fuse_req_ctx(req)->uid, &s);
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		reply_entry(req, (struct node_id){ .node = NODE_TOP, .session = s->id });
}

static void serve_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct server *v = server_of(req);
	struct session **at = &v->state.sessions, *s;
	struct node_id dir;

	if (!node_id_from_ino(parent, &dir) || dir.node != NODE_SESSIONS) {
		fuse_reply_err(req, EPERM);
		return;
	}
	s = find_session_by_name(&v->state, name, strlen(name));
	if (!s) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	v->session_count--;
	handles_drop_session(&v->handles, s);
	session_free(s);
	fuse_reply_err(req, 0);
}

const struct fuse_lowlevel_ops serve_ops = {
	.lookup = serve_lookup,
	.getattr = serve_getattr,
	.setattr = serve_setattr,
	.readdir = serve_readdir,
	.open = serve_open,
	.release = serve_release,
	.read = serve_read,
	.write = serve_write,
	.poll = serve_poll,
	.mkdir = serve_mkdir,
	.rmdir = serve_rmdir,
};

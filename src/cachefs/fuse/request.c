/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/request.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_interrupt(fuse_req_t req, void *request)
{
	struct request *r = request;

	(void)req;
	cache_interrupt(r->mount->cache, &r->waiter);
}

/* libfuse calls on_interrupt at once when the interrupt came first. */
static struct waiter *keep(struct waiter *w)
{
	struct request *r = (struct request *)w, *kept = r;
	size_t len = r->name ? strlen(r->name) + 1 : 0;

	if (!r->is_kept) {
		kept = malloc(sizeof *kept + len);
		if (!kept)
			return NULL;
		*kept = *r;
		kept->is_kept = true;
		if (len)
			kept->name = memcpy(kept + 1, r->name, len);
	}
	fuse_req_interrupt_func(kept->req, on_interrupt, kept);
	return &kept->waiter;
}

static struct credentials *read_caller(fuse_req_t req)
{
	const struct fuse_ctx *caller = fuse_req_ctx(req);
	gid_t groups[FSUSER_GROUPS];
	int count = caller->pid ? fuse_req_getgroups(req, FSUSER_GROUPS, groups) : -1;

	if (count < 0)
		return NULL;
	return credentials_new(caller->uid, caller->gid, groups, (size_t)count);
}

void request_note_caller(struct request *r)
{
	if (r->mount->asks_rights && !r->waiter.who)
		r->waiter.who = read_caller(r->req);
}

/* When fuse_req_interrupt_func returns, on_interrupt does not run. What storage refused to us, it
 * may grant to the caller, if we can take its credentials. */
static void resume(struct waiter *w)
{
	struct request *r = (struct request *)w;

	fuse_req_interrupt_func(r->req, NULL, NULL);
	if (geteuid() == 0 && fuse_req_ctx(r->req)->uid != 0 &&
	    cache_was_refused(r->mount->cache, w))
		w->who = read_caller(r->req);
	r->run(r);
}

struct request request_make(fuse_req_t req, void (*run)(struct request *r), fuse_ino_t ino,
			    enum metrics_op op)
{
	return (struct request){
		.waiter = { .keep = keep, .resume = resume, .caller = fuse_req_ctx(req)->pid },
		.req = req,
		.mount = fuse_req_userdata(req),
		.call = metrics_begin(op),
		.run = run,
		.ino = ino,
	};
}

struct node *request_node(const struct request *r)
{
	return ops_node_of(r->mount, r->ino);
}

void request_count(struct request *r, struct node *n, int rc, uint64_t bytes)
{
	const struct ops_mount *m = r->mount;
	enum metrics_op op = r->call.op;
	struct path_counts *counts;
	enum request_result result;
	int64_t ns;

	if (prefetch_is_caller(m->prefetch, r->waiter.caller))
		return;
	r->call.wait_ns = r->waiter.wait_ns;
	result = metrics_end(m->metrics, &r->call, rc, bytes, &ns);
	counts = n ? cache_path_counts(m->cache, n) : NULL;
	if (!counts)
		return;
	if (op == METRICS_GETATTR)
		path_counts_add(counts, PATH_METADATA, result, ns, 0);
	else if (op == METRICS_READ)
		path_counts_add(counts, PATH_DATA, result, ns, bytes);
	else if (op == METRICS_READDIR)
		path_counts_add(counts, PATH_TREE, result, ns, 0);
}

void request_count_at_once(fuse_req_t req, enum metrics_op op)
{
	struct request r = request_make(req, NULL, FUSE_ROOT_ID, op);

	request_count(&r, NULL, 0, 0);
}

void request_end(struct request *r)
{
	waiter_fini(&r->waiter);
	if (r->is_kept)
		free(r);
}

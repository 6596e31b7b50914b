/* SPDX-License-Identifier: MIT */
#include "cachefs/store/passthrough.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/fd.h"
#include "base/log.h"
#include "cachefs/memory/backing.h"
#include "cachefs/store/chunks.h"

/* Since Linux 6.9. Source: linux/fuse.h */
struct backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};
#define BACKING_OPEN _IOW(229, 1, struct backing_map)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)

#define COLLAPSE_LANE ((dev_t)-1) /* not of a file system */

/* Under the node's lock. */
struct passthrough {
	unsigned cached_opens, passthrough_opens; /* one of them is 0 */
	struct chunks_pinned pinned;              /* of passthrough opens: all data of the file */
	int backing_id;
};

struct collapse {
	struct job job;
	const struct passthroughs *files;
	struct backing *backing; /* holds a reference */
};

static void collapse(struct job *job)
{
	struct collapse *f = (struct collapse *)job;

	while (!*f->files->is_ending && backing_collapse_next(f->backing))
		;
	backing_collapse_end(f->backing);
	backing_unref(f->backing);
	free(f);
}

/* Failures are ignored: huge pages only make reads faster. */
static void start_collapse(struct passthroughs *t, struct backing *backing)
{
	struct collapse *f;

	if (!backing_collapse_begin(backing))
		return;
	f = calloc(1, sizeof *f);
	if (f)
		*f = (struct collapse){ .job = { .run = collapse, .is_local = true },
					.files = t,
					.backing = backing_ref(backing) };
	if (f && pool_submit(t->pool, &f->job, COLLAPSE_LANE, false) == 0)
		return;
	backing_collapse_end(backing);
	if (f)
		backing_unref(f->backing);
	free(f);
}

static void unpin(struct passthroughs *t, struct passthrough *p)
{
	atomic_fetch_sub(&t->bytes, backing_size(p->pinned.backing));
	chunks_unpin(&p->pinned);
	p->backing_id = 0;
}

/* Registers the backing file with the kernel if all data of n is cached, and the backing file has a
 * descriptor. */
static void register_backing(struct passthroughs *t, struct node *n, struct passthrough *p)
{
	struct backing_map map = { 0 };
	uint64_t size;
	int rc;

	if (!chunks_pin(n, &p->pinned))
		return;
	size = backing_size(p->pinned.backing);
	map.fd = backing_dup(p->pinned.backing);
	if (atomic_fetch_add(&t->bytes, size) + size <= t->max_bytes && map.fd >= 0)
		p->backing_id = ioctl(t->fuse_fd, BACKING_OPEN, &map);
	rc = errno;
	fd_close(&map.fd);
	if (p->backing_id > 0) {
		start_collapse(t, p->pinned.backing);
		return;
	}
	if (p->backing_id < 0 && !atomic_exchange(&t->has_failed, true))
		log_msg(LOG_WARN, "cache", "no file is passed through: %s", strerror(rc));
	unpin(t, p);
}

int passthrough_open(struct passthroughs *t, struct node *n)
{
	struct passthrough *p;
	int backing_id = -ENOMEM;

	node_lock(t->nodes, n);
	p = n->passthrough ? n->passthrough : calloc(1, sizeof *p);
	n->passthrough = p;
	if (p && !p->cached_opens && !p->passthrough_opens)
		register_backing(t, n, p);
	if (p) {
		backing_id = p->backing_id;
		p->cached_opens += !backing_id;
		p->passthrough_opens += backing_id > 0;
	}
	node_unlock(t->nodes, n);
	return backing_id;
}

void passthrough_close(struct passthroughs *t, struct node *n, bool was_passthrough)
{
	struct passthrough *p;
	uint32_t backing_id = 0;

	node_lock(t->nodes, n);
	p = n->passthrough;
	p->cached_opens -= !was_passthrough;
	p->passthrough_opens -= was_passthrough;
	if (!p->cached_opens && !p->passthrough_opens) {
		backing_id = (uint32_t)p->backing_id;
		if (backing_id)
			unpin(t, p);
		n->passthrough = NULL;
		free(p);
	}
	node_unlock(t->nodes, n);
	if (backing_id && ioctl(t->fuse_fd, BACKING_CLOSE, &backing_id) < 0)
		log_msg(LOG_DEBUG, "cache", "backing %u: cannot be closed", backing_id);
}

void passthrough_release(struct node *n)
{
	struct passthrough *p = n->passthrough;

	if (!p)
		return;
	free(p->pinned.list); /* the chunks are freed already */
	backing_unref(p->pinned.backing);
	free(p);
}

/* SPDX-License-Identifier: MIT */
#include "cachefs/store/storage.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"

/* Together ten times what a write was seen to take between its times and its size; see inflight.c.
 */
#define SETTLE_TRIES 50
#define SETTLE_NS (NS_PER_S / 50)

static int lookup_names(const struct storage *s, struct storage_request *r)
{
	r->attrs = calloc(r->len, sizeof *r->attrs);
	r->codes = calloc(r->len, sizeof *r->codes);
	if (!r->attrs || !r->codes)
		return -ENOMEM;
	return s->ops->lookup_names(s->self, r->path.data, r->listing, (size_t)r->offset, r->len,
				    r->attrs, r->codes, &r->done);
}

static int call_storage(const struct storage *s, struct storage_request *r)
{
	const char *path = r->path.data;

	switch (r->kind) {
	case STORAGE_LOOKUP:
		return s->ops->lookup(s->self, path, &r->attr);
	case STORAGE_LOOKUP_NAMES:
		return lookup_names(s, r);
	case STORAGE_LIST:
		return s->ops->list(s->self, path, r->max_entries, &r->listing);
	case STORAGE_READ:
		return s->ops->read_chunk(s->self, path, &r->attr, r->offset, r->into, r->len,
					  &r->read);
	case STORAGE_READ_LINK:
		return s->ops->read_link(s->self, path, &r->out);
	case STORAGE_XATTR:
		return s->ops->xattr(s->self, path, r->name, &r->out);
	case STORAGE_SEEK:
		return s->ops->seek(s->self, path, r->offset, r->whence, &r->number);
	case STORAGE_STAT_FS:
		return s->ops->stat_fs(s->self, path, &r->fs);
	case STORAGE_ACCESS:
		return s->ops->access(s->self, path, &r->attr, r->wanted);
	}
	return -EINVAL;
}

static int call_as(const struct storage *s, struct storage_request *r)
{
	struct fsuser own;
	int rc;

	if (credentials_are_ours(r->who))
		return call_storage(s, r);
	if (credentials_enter(r->who, &own) < 0)
		return -EACCES;
	rc = call_storage(s, r);
	if (!fsuser_leave(&own))
		log_msg(LOG_WARN, "cache", "a thread cannot leave the rights of user %u",
			(unsigned)r->who->uid);
	return rc;
}

bool storage_is_refused(const struct storage_request *r)
{
	return r->rc == -EACCES || r->rc == -EPERM;
}

/* Also root may be refused: by a server that takes it for nobody. Names are looked up one by one
 * then. */
static int call_for(const struct storage *s, struct storage_request *r)
{
	if (r->kind == STORAGE_ACCESS)
		return call_as(s, r);
	r->rc = call_storage(s, r);
	if (!storage_is_refused(r) || r->kind == STORAGE_LOOKUP_NAMES ||
	    credentials_are_ours(r->who))
		return r->rc;
	return call_as(s, r);
}

static int call_until_settled(struct storage_request *r)
{
	static const struct timespec pause = { .tv_nsec = SETTLE_NS };
	int rc = call_for(&r->queue->storage, r);

	for (int i = 0; i < SETTLE_TRIES && rc == 0 && r->is_unsettled(r); i++) {
		nanosleep(&pause, NULL);
		atomic_fetch_add(&r->queue->counts->calls, 1);
		rc = call_for(&r->queue->storage, r);
	}
	return rc;
}

static void run(struct job *job)
{
	struct storage_request *r = (struct storage_request *)job;

	r->is_skipped = job->is_refused || !r->is_needed(r);
	if (r->is_skipped) {
		r->rc = -EIO;
	} else {
		int64_t start_ns = clock_mono_ns();

		atomic_fetch_add(&r->queue->counts->calls, 1);
		r->rc = call_until_settled(r);
		r->took_ns = clock_mono_ns() - start_ns;
	}
	r->complete(r);
}

int storage_submit_to_pool(struct storage_queue *q, struct storage_request *r, dev_t device,
			   bool high_priority)
{
	r->queue = q;
	r->job.run = run;
	return pool_submit(q->pool, &r->job, device, high_priority);
}

int storage_submit(struct storage_queue *q, struct storage_request *r, dev_t device,
		   bool high_priority)
{
	const struct storage *s = &q->storage;

	r->queue = q;
	if (s->ops->submit) {
		int rc = s->ops->submit(s->self, r, high_priority);

		if (rc != STORAGE_BY_POOL)
			return rc;
	}
	return storage_submit_to_pool(q, r, device, high_priority);
}

void storage_request_fini(struct storage_request *r)
{
	buf_fini(&r->path);
	buf_fini(&r->out);
	dirlist_unref(r->listing);
	credentials_unref(r->who);
	free(r->name);
	free(r->attrs);
	free(r->codes);
}

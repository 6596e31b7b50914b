/* SPDX-License-Identifier: MIT */
#include "cachefs/store/storage.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

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
	}
	return -EINVAL;
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
		r->rc = call_storage(&r->queue->storage, r);
		r->took_ns = clock_mono_ns() - start_ns;
	}
	r->complete(r);
}

int storage_submit(struct storage_queue *q, struct storage_request *r, dev_t device,
		   bool high_priority)
{
	const struct storage *s = &q->storage;

	r->queue = q;
	if (s->ops->submit) {
		atomic_fetch_add(&q->counts->calls, 1);
		return s->ops->submit(s->self, r, high_priority);
	}
	r->job.run = run;
	return pool_submit(q->pool, &r->job, device, high_priority);
}

void storage_request_fini(struct storage_request *r)
{
	buf_fini(&r->path);
	buf_fini(&r->out);
	dirlist_unref(r->listing);
	free(r->name);
	free(r->attrs);
	free(r->codes);
}

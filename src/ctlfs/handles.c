/* SPDX-License-Identifier: MIT */
#include "ctlfs/handles.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

static size_t count_handles(const struct handles *h, uid_t user)
{
	size_t count = 0;

	for (const struct handle *o = h->list; o; o = o->next)
		count += o->user == user;
	return count;
}

int handles_check_bytes(const struct handles *h, uid_t user, uint64_t more)
{
	for (const struct handle *o = h->list; o; o = o->next) {
		if (o->user != user)
			continue;
		more += o->text.cap;
		more += o->stream ? SESSION_STREAM_BYTES : 0;
		more += o->snapshot ? HANDLES_SNAPSHOT_BYTES : 0;
	}
	return more > HANDLES_MAX_BYTES ? -EMFILE : 0;
}

int handles_add(struct handles *h, struct node_id p, uid_t user, struct handle **ret)
{
	struct handle *handle;

	if (count_handles(h, user) >= HANDLES_MAX)
		return -EMFILE;
	handle = calloc(1, sizeof *handle);
	if (!handle)
		return -ENOMEM;
	handle->id = p;
	handle->user = user;
	handle->core = p.node == NODE_CPU_KPOPROFILE ? command_core_index(&h->state->known, p.core)
						     : QUEUE_ALL;
	handle->next = h->list;
	h->list = handle;
	*ret = handle;
	return 0;
}

static void free_handle(struct handles *h, struct handle *handle)
{
	struct session *s = find_session(h->state, handle->id.session);
	struct buf out = { 0 };
	struct err e;

	if (s && handle->stream)
		session_close_stream(s, handle->stream);
	if (handle->snapshot && snapshot_finish(handle->snapshot, &out, &e) == 0)
		buf_fini(&out);
	if (handle->opener)
		fuse_reply_err(handle->opener, handle->is_opener_interrupted ? EINTR : ENODEV);
	if (handle->poll)
		fuse_pollhandle_destroy(handle->poll);
	buf_fini(&handle->text);
	free(handle);
}

void handles_remove(struct handles *h, struct handle *handle)
{
	struct handle **at = &h->list;

	while (*at && *at != handle)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = handle->next;
	free_handle(h, handle);
}

void handles_fini(struct handles *h)
{
	while (h->waiters) {
		struct waiter *w = h->waiters;

		h->waiters = w->next;
		fuse_reply_err(w->req, ENODEV);
		free(w);
	}
	while (h->list)
		handles_remove(h, h->list);
}

bool handles_has_reader(const struct handles *h, struct node_id p, size_t core)
{
	for (const struct handle *o = h->list; o; o = o->next)
		if (o->is_reader && o->id.session == p.session &&
		    (core == QUEUE_ALL || o->core == QUEUE_ALL || o->core == core))
			return true;
	return false;
}

void handles_drop_session(struct handles *h, const struct session *s)
{
	for (struct handle *o = h->list; o; o = o->next)
		if (o->id.session == s->id)
			o->stream = NULL;
}

static size_t left(const struct handle *handle)
{
	return handle->text.len - handle->at;
}

bool handles_is_ready(const struct handles *h, const struct handle *handle, bool *ret_is_end)
{
	const struct session *s = find_session(h->state, handle->id.session);

	*ret_is_end = !s;
	if (!s || left(handle))
		return true;
	if (node_info(handle->id.node)->source == SOURCE_QUEUE) {
		*ret_is_end = !session_is_tracing(s, handle->core);
		return queue_len(&s->queue, handle->core) > 0 || *ret_is_end;
	}
	if (!handle->stream) {
		*ret_is_end = true;
		return true;
	}
	*ret_is_end = handle->stream->was_stopped && !session_is_tracing(s, QUEUE_ALL);
	return handle->stream->queue.len > 0 || *ret_is_end;
}

/* Takes whole samples until size is reached; the rest of the last stays for the next read. */
static void fill(const struct handles *h, struct handle *handle, size_t size)
{
	struct session *s = find_session(h->state, handle->id.session);
	bool is_stream = handle->stream != NULL;
	struct queue *q;

	if (!s || (!is_stream && node_info(handle->id.node)->source != SOURCE_QUEUE))
		return;
	q = is_stream ? &handle->stream->queue : &s->queue;
	if (!left(handle)) {
		buf_clear(&handle->text);
		handle->at = 0;
	}
	while (left(handle) < size && queue_take(q, is_stream ? 0 : handle->core, &handle->text))
		continue;
}

/* false: nothing to read yet. */
static bool try_read(const struct handles *h, struct handle *handle, fuse_req_t req, size_t size)
{
	bool is_end;
	size_t len;

	if (!handles_is_ready(h, handle, &is_end))
		return false;
	fill(h, handle, size);
	len = left(handle) < size ? left(handle) : size;
	if (buf_error(&handle->text) < 0) {
		fuse_reply_err(req, ENOMEM);
		buf_clear(&handle->text);
		handle->at = 0;
		return true;
	}
	fuse_reply_buf(req, len ? handle->text.data + handle->at : NULL, len);
	handle->at += len;
	return true;
}

/* libfuse holds the lock of the request here, so the request is answered later. */
static void on_interrupt(fuse_req_t req, void *waiter)
{
	(void)req;
	((struct waiter *)waiter)->is_interrupted = true;
}

static void on_opener_interrupt(fuse_req_t req, void *handle)
{
	(void)req;
	((struct handle *)handle)->is_opener_interrupted = true;
}

void handles_read(struct handles *h, struct handle *handle, fuse_req_t req, size_t size,
		  bool is_nonblocking)
{
	struct waiter *w;

	if (try_read(h, handle, req, size))
		return;
	if (is_nonblocking) {
		fuse_reply_err(req, EAGAIN);
		return;
	}
	w = calloc(1, sizeof *w);
	if (!w) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	*w = (struct waiter){ h->waiters, req, handle, size, false };
	h->waiters = w;
	fuse_req_interrupt_func(req, on_interrupt, w);
}

void handles_wait_for_snapshot(struct handles *h, struct handle *handle, fuse_req_t req,
			       const struct fuse_file_info *fi)
{
	(void)h;
	handle->opener = req;
	handle->fi = *fi;
	fuse_req_interrupt_func(req, on_opener_interrupt, handle);
}

static void serve_waiters(struct handles *h)
{
	struct waiter **at = &h->waiters;

	while (*at) {
		struct waiter *w = *at;
		bool is_answered = w->is_interrupted;

		if (is_answered)
			fuse_reply_err(w->req, EINTR);
		else
			is_answered = try_read(h, w->handle, w->req, w->size);
		if (!is_answered) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		free(w);
	}
}

/* The snapshot is complete. */
static void open_snapshot(struct handles *h, struct handle *handle)
{
	struct err e;
	int rc = snapshot_finish(handle->snapshot, &handle->text, &e);
	fuse_req_t req = handle->opener;

	handle->snapshot = NULL;
	handle->opener = NULL;
	if (rc == 0 && fuse_reply_open(req, &handle->fi) == 0)
		return; /* else the kernel sends no release for it */
	if (rc < 0) {
		journal_add(&h->state->journal, "%s: %s", node_info(handle->id.node)->name, e.msg);
		fuse_reply_err(req, -rc);
	}
	handles_remove(h, handle);
}

static void serve_openers(struct handles *h)
{
	struct handle *next;

	for (struct handle *o = h->list; o; o = next) {
		next = o->next;
		if (!o->snapshot)
			continue;
		if (o->opener && o->is_opener_interrupted) {
			fuse_reply_err(o->opener, EINTR);
			o->opener = NULL;
		}
		if (!snapshot_is_done(o->snapshot))
			continue;
		if (o->opener)
			open_snapshot(h, o);
		else
			handles_remove(h, o);
	}
}

static void serve_pollers(struct handles *h)
{
	bool is_end;

	for (struct handle *o = h->list; o; o = o->next) {
		if (!o->poll || !handles_is_ready(h, o, &is_end))
			continue;
		fuse_lowlevel_notify_poll(o->poll);
		fuse_pollhandle_destroy(o->poll);
		o->poll = NULL;
	}
}

void handles_serve(struct handles *h)
{
	serve_waiters(h);
	serve_openers(h);
	serve_pollers(h);
}

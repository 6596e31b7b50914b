/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

#define CHUNKS_AHEAD 8

static void *zeroed(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		abort();
	return memory;
}

static void shuffle(struct sim *s, struct item *items, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t k = (uint32_t)sim_random(s, i);
		struct item last = items[i - 1];

		items[i - 1] = items[k];
		items[k] = last;
	}
}

static void make_items(struct sim *s, struct node *n)
{
	const struct world *w = &s->world;

	for (uint32_t i = 0; i < w->folders && s->config.reads_listings; i++)
		n->items[n->item_count++] = (struct item){ ITEM_LIST, i };
	for (uint32_t i = 0; i < w->files; i++)
		n->items[n->item_count++] = (struct item){ ITEM_FILE, i };
	if (!s->config.reads_listings || s->config.chunks)
		return;
	for (uint32_t i = 0; i < w->files; i += 3)
		n->items[n->item_count++] = (struct item){ ITEM_LINK, i };
	for (uint32_t i = 0; i < w->files; i += 4)
		n->items[n->item_count++] = (struct item){ ITEM_XATTRS, i };
	shuffle(s, n->items, n->item_count);
}

void app_new(struct sim *s, struct node *n)
{
	const struct world *w = &s->world;

	n->attrs = zeroed(w->files, sizeof(*n->attrs));
	n->links = zeroed(w->files, sizeof(*n->links));
	n->xattrs = zeroed(w->files, sizeof(*n->xattrs));
	n->lists = zeroed(w->folders, sizeof(*n->lists));
	n->list_versions = zeroed(w->files, sizeof(*n->list_versions));
	n->chunk_versions = zeroed((size_t)w->files * s->max_chunks, sizeof(*n->chunk_versions));
	n->items = zeroed(w->folders + 3 * (size_t)w->files, sizeof(*n->items));
	make_items(s, n);
}

void app_free(struct node *n)
{
	free(n->attrs);
	free(n->links);
	free(n->xattrs);
	free(n->lists);
	free(n->list_versions);
	free(n->chunk_versions);
	free(n->items);
	free(n->contacts);
}

void app_clear(struct sim *s, struct node *n)
{
	const struct world *w = &s->world;

	memset(n->attrs, 0, w->files * sizeof(*n->attrs));
	memset(n->links, 0, w->files * sizeof(*n->links));
	memset(n->xattrs, 0, w->files * sizeof(*n->xattrs));
	memset(n->lists, 0, w->folders * sizeof(*n->lists));
	memset(n->chunk_versions, 0, (size_t)w->files * s->max_chunks * sizeof(*n->chunk_versions));
	memset(n->pending, 0, sizeof(n->pending));
	n->pending_count = 0;
	n->item = 0;
	n->next_chunk = n->chunks_done = 0;
	n->has_attr = n->wants_new = n->is_waiting = false;
}

/* --- the cache --- */

static struct held *held_of(struct node *n, enum wire_op op, uint32_t file)
{
	return op == WIRE_GETATTR    ? n->attrs + file
	       : op == WIRE_READLINK ? n->links + file
				     : n->xattrs + file;
}

/* What the listing of its folder tells about a file, when that is newer. */
static struct held by_listing(const struct node *n, uint32_t folder, uint32_t file, struct held own)
{
	const struct held *list = n->lists + folder;
	struct held h = *list;

	if (!list->is_held || (own.is_held && own.read_ns >= list->read_ns))
		return own;
	h.version = n->list_versions[file];
	h.is_absent = !h.version;
	return h;
}

static unsigned char found_content[32];
static struct buf found_body; /* freed by nobody: reachable at exit */

static void find_list(const struct sim *s, const struct node *n, uint32_t folder,
		      struct protocol_answer *ret)
{
	uint32_t files = s->world.files / s->world.folders;
	const struct held *list = n->lists + folder;

	buf_clear(&found_body);
	for (uint32_t i = 0; i < files; i++) {
		uint32_t file = folder * files + i, version = n->list_versions[file];
		struct file_attr attr = world_attr(s, file, version, list->true_ns);
		const char *name = strchr(s->world.paths[file], '/') + 1;

		if (version)
			wire_put_entry(&found_body, (struct str){ name, strlen(name) }, &attr);
	}
	ret->has_attr = true;
	ret->attr = (struct file_attr){ .identity = { 1, folder + 1000000, 1, 0 },
					.mode = 040755,
					.atime_ns = list->true_ns };
	ret->body = (struct wire_body){ .bytes = found_body.data, .len = (uint32_t)found_body.len };
}

static bool find_chunk(const struct sim *s, const struct node *n, uint32_t file,
		       const struct wire_key *key, struct protocol_answer *ret)
{
	uint32_t version = n->chunk_versions[(size_t)file * s->max_chunks + key->chunk];

	if (!version)
		return false;
	ret->attr.identity = world_attr(s, file, version, 0).identity;
	if (!file_identity_equals(&ret->attr.identity, &key->identity))
		return false;
	world_content(found_content, WIRE_CHUNK, file, version, key->chunk, 0);
	ret->body = world_body(s, found_content);
	ret->read_ns = node_clock(s, n);
	return true;
}

bool app_find(void *self, const struct wire_key *key, struct protocol_answer *ret)
{
	struct sim *s = sim_running;
	struct node *n = self;
	uint32_t folder, file;
	bool is_file = world_parse(&s->world, key->path, &folder, &file);
	struct held h;

	*ret = (struct protocol_answer){ 0 };
	if (is_file && key->op == WIRE_CHUNK)
		return find_chunk(s, n, file, key, ret);
	h = is_file ? *held_of(n, key->op, file) : n->lists[folder];
	if (is_file && key->op == WIRE_GETATTR)
		h = by_listing(n, folder, file, h);
	if (!h.is_held)
		return false;
	ret->read_ns = h.read_ns;
	if (!is_file) {
		find_list(s, n, folder, ret);
		return true;
	}
	ret->has_attr = true;
	ret->attr = world_attr(s, file, h.version, h.true_ns);
	ret->rc = h.is_absent ? -ENOENT : 0;
	if (key->op != WIRE_GETATTR && !h.is_absent) {
		world_content(found_content, key->op, file, h.version, 0, h.true_ns);
		ret->body = world_body(s, found_content);
	}
	return true;
}

static void keep_list(struct sim *s, struct node *n, uint32_t folder,
		      const struct protocol_answer *a)
{
	uint32_t files = s->world.files / s->world.folders;
	struct cursor c = cursor_make(a->body.bytes, a->body.len);
	struct file_attr attr;
	struct str name;

	memset(n->list_versions + (size_t)folder * files, 0, files * sizeof(*n->list_versions));
	while (wire_next_entry(&c, &name, &attr))
		n->list_versions[attr.identity.ino - 1] = (uint32_t)attr.identity.ctime_ns;
	if (c.bad)
		sim_fail(s, "rank %u got a malformed listing", n->rank);
}

void app_keep(void *self, const struct wire_key *key, const struct protocol_answer *a,
	      bool is_local)
{
	struct sim *s = sim_running;
	struct node *n = self;
	uint32_t folder, file;
	struct held *h;

	if (!is_local && s->config.keeps_nothing_passing)
		return;
	if (a->rc != 0 && a->rc != -ENOENT)
		sim_fail(s, "rank %u keeps error %d", n->rank, a->rc);
	if (!world_parse(&s->world, key->path, &folder, &file)) {
		if (n->lists[folder].is_held && n->lists[folder].read_ns >= a->read_ns)
			return;
		keep_list(s, n, folder, a);
		h = n->lists + folder;
	} else if (key->op == WIRE_CHUNK) {
		if (!a->rc)
			n->chunk_versions[(size_t)file * s->max_chunks + key->chunk] =
				(uint32_t)a->attr.identity.ctime_ns;
		return;
	} else {
		h = held_of(n, key->op, file);
		if (h->is_held && h->read_ns >= a->read_ns)
			return;
		h->version = (uint32_t)a->attr.identity.ctime_ns;
	}
	h->is_held = true;
	h->is_absent = a->rc == -ENOENT;
	h->read_ns = a->read_ns;
	h->true_ns = a->attr.atime_ns;
}

/* --- the program --- */

static void check_age(struct sim *s, const struct node *n, const struct pending *p,
		      const struct protocol_answer *a)
{
	int64_t true_ns = a->attr.atime_ns, now = s->now;

	if (p->key.op == WIRE_CHUNK || (a->rc && a->rc != -ENOENT))
		return;
	if (a->read_ns - n->clock_offset > true_ns)
		sim_fail(s, "rank %u: %.*s looks %" PRId64 " us younger than it is", n->rank,
			 (int)p->key.path.len, p->key.path.ptr,
			 (a->read_ns - n->clock_offset - true_ns) / 1000);
	if (true_ns < p->start_ns && now - true_ns > p->max_age_ns)
		sim_fail(s, "rank %u: %.*s is %" PRId64 " ms old, %" PRId64 " allowed", n->rank,
			 (int)p->key.path.len, p->key.path.ptr, (now - true_ns) / MS,
			 p->max_age_ns / MS);
}

static void check_content(struct sim *s, const struct node *n, const struct pending *p,
			  const struct protocol_answer *a, uint32_t file)
{
	unsigned char want[32];
	uint32_t version = p->key.op == WIRE_CHUNK ? (uint32_t)p->key.identity.ctime_ns
						   : (uint32_t)a->attr.identity.ctime_ns;

	world_content(want, p->key.op, file, version, p->key.chunk, 0);
	/* The time, behind the first 16 bytes, is checked by check_age(). */
	if (a->body.len < 32 || memcmp(want, a->body.bytes, 16) != 0)
		sim_fail(s, "rank %u got wrong bytes of %.*s", n->rank, (int)p->key.path.len,
			 p->key.path.ptr);
}

static void next_item(struct node *n)
{
	n->item++;
	n->has_attr = n->wants_new = false;
	n->next_chunk = n->chunks_done = 0;
}

static void got_file(struct sim *s, struct node *n, const struct pending *p,
		     const struct protocol_answer *a, uint32_t file)
{
	if (p->key.op == WIRE_GETATTR) {
		n->attr = a->attr;
		n->has_attr = true;
		n->wants_new = false;
		n->next_chunk = n->chunks_done = 0;
		if (a->rc == -ENOENT)
			next_item(n);
		return;
	}
	if (a->rc == -ESTALE || a->rc == -ENOENT) { /* it changed: from its attributes again */
		n->has_attr = false;
		n->wants_new = true;
		return;
	}
	check_content(s, n, p, a, file);
	n->chunks_done++;
}

/* Its own storage was broken, and no other node could help until the time was over. */
static bool is_excused(const struct sim *s, const struct node *n, const struct pending *p)
{
	return s->now - p->start_ns >= s->config.timeout_ns &&
	       p->start_ns < n->storage_broken_until;
}

static void got(struct sim *s, struct node *n, const struct pending *p,
		const struct protocol_answer *a)
{
	uint32_t folder, file;

	check_age(s, n, p, a);
	if (a->rc == -EIO) { /* the program tries again */
		s->result.errors++;
		if (p->key.op == WIRE_CHUNK)
			n->wants_new = !(n->has_attr = false);
		if (!s->config.storage_outage && !is_excused(s, n, p))
			sim_fail(s, "rank %u got EIO for %.*s", n->rank, (int)p->key.path.len,
				 p->key.path.ptr);
		return;
	}
	world_parse(&s->world, p->key.path, &folder, &file);
	if (n->items[n->item].kind == ITEM_FILE) {
		got_file(s, n, p, a, file);
		return;
	}
	if (n->items[n->item].kind != ITEM_LIST && !a->rc)
		check_content(s, n, p, a, file);
	next_item(n);
}

static void program_soon(struct sim *s, struct node *n, int64_t delay)
{
	if (n->is_waiting)
		return;
	n->is_waiting = true;
	sim_at(s, s->now + delay, EVENT_PROGRAM, n->rank, 0);
}

void app_answer(void *self, uint64_t cookie, const struct wire_key *key,
		const struct protocol_answer *a)
{
	struct sim *s = sim_running;
	struct node *n = self;
	int64_t waited;
	struct pending *p = NULL;

	(void)key;
	for (size_t i = 0; i < MAX_PENDING; i++)
		if (n->pending[i].is_used && n->pending[i].cookie == cookie)
			p = n->pending + i;
	if (!p) {
		sim_fail(s, "rank %u: request %" PRIu64 " is answered twice", n->rank, cookie);
		return;
	}
	waited = s->now - p->start_ns;
	if (n->stopped_until < p->start_ns && waited > s->result.longest_ns)
		s->result.longest_ns = waited;
	if (n->stopped_until < p->start_ns && waited > s->config.timeout_ns + SECOND &&
	    !s->config.is_direct)
		sim_fail(s, "rank %u waited %" PRId64 " s", n->rank, waited / SECOND);
	p->is_used = false;
	n->pending_count--;
	got(s, n, p, a);
	program_soon(s, n,
		     a->rc == -EIO ? 300 * MS
				   : (int64_t)sim_random(s, (uint64_t)s->config.think_ns));
}

static bool is_fresh(struct sim *s, const struct node *n, const struct protocol_answer *a,
		     int64_t max_age)
{
	return node_clock(s, n) - a->read_ns <= max_age;
}

/* false: the request has to wait. */
static bool request(struct sim *s, struct node *n, struct wire_key key, int64_t max_age)
{
	struct pending p = { .is_used = true,
			     .cookie = ++n->cookies,
			     .start_ns = s->now,
			     .max_age_ns = max_age,
			     .key = key };
	struct protocol_answer a;
	size_t slot = 0;
	int rc;

	if (app_find(n, &key, &a) && (key.op == WIRE_CHUNK || is_fresh(s, n, &a, max_age))) {
		got(s, n, &p, &a);
		return true;
	}
	while (slot < MAX_PENDING && n->pending[slot].is_used)
		slot++;
	if (slot == MAX_PENDING)
		return false;
	rc = s->config.is_direct
		     ? 0
		     : protocol_request(n->protocol, node_clock(s, n), &key, max_age, p.cookie);
	if (rc < 0) {
		program_soon(s, n, 10 * MS);
		return false;
	}
	n->pending[slot] = p;
	n->pending_count++;
	if (s->config.is_direct)
		sim_ops.read_storage(n, p.cookie, &n->pending[slot].key);
	return true;
}

static struct wire_key key_of(const struct sim *s, enum wire_op op, const struct item *item)
{
	const char *path = item->kind == ITEM_LIST ? s->world.folder_paths[item->index]
						   : s->world.paths[item->index];

	return (struct wire_key){ .op = op, .path = { path, strlen(path) } };
}

/* The current file: attributes, then its chunks with some ahead. false: wait for an answer. */
static bool step_file(struct sim *s, struct node *n, const struct item *item)
{
	struct wire_key key;
	uint32_t chunks;

	if (!n->has_attr)
		return !n->pending_count && request(s, n, key_of(s, WIRE_GETATTR, item),
						    n->wants_new ? 0 : s->config.revalidate_ns);
	chunks = (uint32_t)n->attr.identity.size;
	if (n->next_chunk < chunks) {
		key = key_of(s, WIRE_CHUNK, item);
		key.chunk = n->next_chunk;
		key.identity = n->attr.identity;
		if (n->pending_count >= CHUNKS_AHEAD)
			return false;
		if (!request(s, n, key, FOREVER))
			return false;
		n->next_chunk += n->has_attr;
		return true;
	}
	if (n->chunks_done < chunks)
		return false;
	next_item(n);
	return true;
}

void app_step(struct sim *s, struct node *n)
{
	static const enum wire_op ops[] = {
		[ITEM_LIST] = WIRE_LIST, [ITEM_LINK] = WIRE_READLINK, [ITEM_XATTRS] = WIRE_XATTRS
	};

	n->is_waiting = false;
	while (n->item < n->item_count) {
		const struct item *item = n->items + n->item;

		if (item->kind == ITEM_FILE) {
			if (!step_file(s, n, item))
				return;
		} else if (n->pending_count || !request(s, n, key_of(s, ops[item->kind], item),
							s->config.revalidate_ns)) {
			return;
		}
	}
	if (n->done_ns == FOREVER) {
		n->done_ns = s->now;
		s->unfinished--;
	}
}

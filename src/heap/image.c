/* SPDX-License-Identifier: MIT */
#include "heap/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What refers to the others is counted first, so that they are there. */
enum { READ_SITES, READ_NODES, READ_MAPPINGS, READ_STRINGS, READS };

struct reader {
	int fd;
	const char *name;
	struct heap_head heads[READS]; /* read one after the other */
	struct err *e;
};

/* -EINVAL: the file is shorter; -ENODATA: it is empty, or so short that it has no header. */
static int read_at(const struct reader *r, void *to, size_t len, uint64_t offset)
{
	char *at = to;

	while (len) {
		ssize_t n = pread(r->fd, at, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(r->e, "%s", r->name);
		if (n == 0)
			return err_set(r->e, offset ? -EINVAL : -ENODATA, "%s: cut at byte %llu",
				       r->name, (unsigned long long)offset);
		at += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static int check_magic(const struct reader *r)
{
	char unset[sizeof((struct heap_header *)NULL)->magic] = { 0 }, magic[sizeof unset];
	int rc = read_at(r, magic, sizeof magic, 0);

	if (rc < 0)
		return rc;
	if (memcmp(magic, unset, sizeof unset) == 0)
		return err_set(r->e, -ENODATA, "%s: its process did not begin to fill it", r->name);
	if (memcmp(magic, HEAP_MAGIC, sizeof magic) != 0)
		return err_set(r->e, -EINVAL, "%s: no heap file; 'auger report' shows profiles",
			       r->name);
	return 0;
}

static int check_head(const struct reader *r, const struct heap_header *h)
{
	if (h->version != HEAP_VERSION)
		return err_set(r->e, -EINVAL, "%s: version %u, not %d", r->name, h->version,
			       HEAP_VERSION);
	if (h->header_size != HEAP_HEADER_SIZE || h->chunk_size != HEAP_CHUNK)
		return err_set(r->e, -EINVAL, "%s: byte 12: sizes of another version", r->name);
	if (h->chunk_count > HEAP_CHUNKS_MAX)
		return err_set(r->e, -EINVAL, "%s: byte 76: more than %u chunks", r->name,
			       HEAP_CHUNKS_MAX);
	if (!h->node_count || !h->site_count)
		return err_set(r->e, -EINVAL, "%s: byte 88: no root", r->name);
	return 0;
}

static int read_heads(struct reader *r)
{
	int rc = check_magic(r);

	for (int i = 0; i < READS && rc == 0; i++) {
		rc = read_at(r, &r->heads[i], sizeof r->heads[i], 0);
		if (rc == 0)
			rc = check_head(r, &r->heads[i].header);
	}
	return rc;
}

/* The first bytes of the chunks of a kind, together; NUL bytes follow. */
static int read_kind(const struct reader *r, enum heap_kind kind, uint64_t bytes, void **ret)
{
	const struct heap_head *head = &r->heads[READ_STRINGS];
	uint64_t chunks = 0, got = 0;
	char *all;
	int rc = 0;

	for (uint32_t i = 0; i < head->header.chunk_count; i++)
		chunks += head->kinds[i] == kind;
	if (bytes > chunks * HEAP_CHUNK)
		return err_set(r->e, -EINVAL, "%s: kind %d: more items than chunks for them",
			       r->name, (int)kind);
	all = calloc(1, bytes + 1);
	if (!all)
		return err_nomem(r->e);
	for (uint32_t i = 0; i < head->header.chunk_count && got < bytes && rc == 0; i++) {
		uint64_t len = bytes - got < HEAP_CHUNK ? bytes - got : HEAP_CHUNK;

		if (head->kinds[i] != kind)
			continue;
		rc = read_at(r, all + got, len, HEAP_HEADER_SIZE + (uint64_t)i * HEAP_CHUNK);
		got += len;
	}
	if (rc < 0)
		free(all);
	else
		*ret = all;
	return rc;
}

static int read_items(const struct reader *r, struct heap_image *h)
{
	void *sites = NULL, *nodes = NULL, *mappings = NULL, *strings = NULL;
	int rc;

	h->head = r->heads[READ_STRINGS].header;
	h->head.site_count = r->heads[READ_SITES].header.site_count;
	h->head.node_count = r->heads[READ_NODES].header.node_count;
	h->head.mapping_count = r->heads[READ_MAPPINGS].header.mapping_count;
	rc = read_kind(r, HEAP_SITES, (uint64_t)h->head.site_count * sizeof *h->sites, &sites);
	h->sites = sites;
	if (rc == 0)
		rc = read_kind(r, HEAP_NODES, (uint64_t)h->head.node_count * sizeof *h->nodes,
			       &nodes);
	h->nodes = nodes;
	if (rc == 0)
		rc = read_kind(r, HEAP_MAPPINGS,
			       (uint64_t)h->head.mapping_count * sizeof *h->mappings, &mappings);
	h->mappings = mappings;
	if (rc == 0)
		rc = read_kind(r, HEAP_STRINGS, h->head.string_bytes, &strings);
	h->strings = strings;
	return rc;
}

static int check_items(const struct reader *r, const struct heap_image *h)
{
	for (uint32_t i = 1; i < h->head.node_count; i++)
		if (h->nodes[i].parent >= i || (h->nodes[i].mapping != HEAP_NO_MAPPING &&
						h->nodes[i].mapping >= h->head.mapping_count))
			return err_set(r->e, -EINVAL, "%s: node %u: refers to what comes later",
				       r->name, i);
	for (uint32_t i = 0; i < h->head.site_count; i++)
		if (h->sites[i].node >= h->head.node_count)
			return err_set(r->e, -EINVAL, "%s: site %u: has no node", r->name, i);
	for (uint32_t i = 0; i < h->head.mapping_count; i++)
		if (h->mappings[i].build_id_len > HEAP_BUILD_ID_MAX ||
		    h->mappings[i].start >= h->mappings[i].end)
			return err_set(r->e, -EINVAL, "%s: mapping %u: makes no sense", r->name, i);
	return 0;
}

static int read_all(struct reader *r, struct heap_image *h)
{
	int rc = read_heads(r);

	if (rc == 0)
		rc = read_items(r, h);
	return rc == 0 ? check_items(r, h) : rc;
}

int heap_image_read(int fd, const char *name, struct heap_image *ret, struct err *e)
{
	struct reader *r = calloc(1, sizeof *r);
	struct heap_image h = { 0 };
	int rc;

	if (!r)
		return err_nomem(e);
	r->fd = fd;
	r->name = name;
	r->e = e;
	rc = read_all(r, &h);
	free(r);
	if (rc < 0)
		heap_image_fini(&h);
	else
		*ret = h;
	return rc;
}

void heap_image_fini(struct heap_image *h)
{
	free(h->mappings);
	free(h->nodes);
	free(h->sites);
	free(h->strings);
	*h = (struct heap_image){ 0 };
}

const char *heap_image_string(const struct heap_image *h, uint32_t string)
{
	const char *text;

	if (string >= h->head.string_bytes)
		return "";
	text = h->strings + string;
	return strnlen(text, HEAP_PATH_MAX) < HEAP_PATH_MAX ? text : "";
}

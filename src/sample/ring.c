/* SPDX-License-Identifier: MIT */
#include "sample/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf/record.h"

int ring_open(struct ring *r, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *scratch = malloc(RECORD_MAX_BYTES);
	void *at;

	if (!scratch)
		return -ENOMEM;
	at = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		int rc = -errno;

		free(scratch);
		return rc;
	}
	*r = (struct ring){
		.page = at, .data = (unsigned char *)at + page, .size = bytes, .scratch = scratch
	};
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r->page)
		return;
	munmap(r->page, (size_t)(r->data - (unsigned char *)r->page) + r->size);
	free(r->scratch);
	*r = (struct ring){ 0 };
}

void ring_refresh(struct ring *r)
{
	r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

/* [0..len) at a position, contiguous. */
static const unsigned char *bytes_at(struct ring *r, uint64_t position, size_t len)
{
	size_t at = position & (r->size - 1);
	size_t first = r->size - at;

	if (len <= first)
		return r->data + at;
	memcpy(r->scratch, r->data + at, first);
	memcpy(r->scratch + first, r->data, len - first);
	return r->scratch;
}

bool ring_peek(struct ring *r, const unsigned char **ret_bytes, size_t *ret_len)
{
	uint64_t left = r->head - r->tail;
	struct perf_event_header header;

	if (left < sizeof header)
		return false;
	/* Records are aligned to 8 bytes, so a header never wraps around. */
	memcpy(&header, r->data + (r->tail & (r->size - 1)), sizeof header);
	if (header.size < sizeof header || header.size > left) {
		r->tail = r->head; /* not a record: the kernel does not do this */
		return false;
	}
	*ret_bytes = bytes_at(r, r->tail, header.size);
	*ret_len = header.size;
	return true;
}

void ring_skip(struct ring *r, size_t len)
{
	r->tail += len;
}

void ring_release(struct ring *r)
{
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}

/* SPDX-License-Identifier: MIT */
/* heap_maker: makes heap files (wire/heap.h), for tests that read them. */
#ifndef HEAP_MAKER_H
#define HEAP_MAKER_H

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wire/heap.h"

/* A chunk of each kind, in their order: chunk i is of kind i + 1. */
#define MAKER_CHUNKS (HEAP_KINDS - 1)

struct heap_maker {
	struct heap_head head;
	_Alignas(8) unsigned char chunks[MAKER_CHUNKS][HEAP_CHUNK];
};

static inline void *heap_maker_item(struct heap_maker *m, enum heap_kind kind, uint32_t i,
				    size_t size)
{
	return m->chunks[kind - 1] + i * size;
}

static inline uint32_t heap_maker_string(struct heap_maker *m, const char *text)
{
	uint32_t at = m->head.header.string_bytes;

	strcpy((char *)m->chunks[HEAP_STRINGS - 1] + at, text);
	m->head.header.string_bytes += (uint32_t)strlen(text) + 1;
	return at;
}

/* At start, 64 KiB of file offset 4096 on, linked for 0x1000; a build id of two bytes. */
static inline uint32_t heap_maker_mapping(struct heap_maker *m, const char *path, uint64_t start)
{
	uint32_t id = m->head.header.mapping_count++;
	struct heap_mapping *to = heap_maker_item(m, HEAP_MAPPINGS, id, sizeof *to);

	*to = (struct heap_mapping){ .start = start,
				     .end = start + 65536,
				     .offset = 4096,
				     .bias = start - 0x1000,
				     .path = heap_maker_string(m, path),
				     .build_id_len = 2,
				     .build_id = { 0xab, 0xcd } };
	return id;
}

static inline uint32_t heap_maker_node(struct heap_maker *m, uint32_t parent, uint32_t mapping,
				       uint64_t address)
{
	uint32_t id = m->head.header.node_count++;
	struct heap_node *to = heap_maker_item(m, HEAP_NODES, id, sizeof *to);

	*to = (struct heap_node){ .address = address, .parent = parent, .mapping = mapping };
	return id;
}

static inline struct heap_site *heap_maker_site(struct heap_maker *m, uint32_t node)
{
	uint32_t id = m->head.header.site_count++;
	struct heap_site *to = heap_maker_item(m, HEAP_SITES, id, sizeof *to);

	*to = (struct heap_site){ .node = node };
	return to;
}

/* With the root, and site 0. */
static inline void heap_maker_init(struct heap_maker *m)
{
	memset(m, 0, sizeof *m);
	m->head.header = (struct heap_header){ .magic = HEAP_MAGIC,
					       .version = HEAP_VERSION,
					       .header_size = HEAP_HEADER_SIZE,
					       .chunk_size = HEAP_CHUNK,
					       .machine = EM_X86_64,
					       .pid = 7,
					       .start_ns = 1000,
					       .program = HEAP_NO_STRING,
					       .arguments = HEAP_NO_STRING,
					       .chunk_count = MAKER_CHUNKS,
					       .threads = 1 };
	for (unsigned i = 0; i < MAKER_CHUNKS; i++)
		m->head.kinds[i] = (unsigned char)(i + 1);
	heap_maker_node(m, 0, HEAP_NO_MAPPING, 0);
	heap_maker_site(m, 0);
}

/* A file in memory with the first len bytes of it; -1: it cannot be made. */
static inline int heap_maker_fd(const struct heap_maker *m, size_t len)
{
	int fd = memfd_create("heap", MFD_CLOEXEC);
	size_t head = len < sizeof m->head ? len : sizeof m->head;

	if (fd < 0 || pwrite(fd, &m->head, head, 0) != (ssize_t)head ||
	    pwrite(fd, m->chunks, len - head, (off_t)head) != (ssize_t)(len - head))
		return -1;
	return fd;
}

#define MAKER_SIZE (sizeof(struct heap_head) + sizeof((struct heap_maker *)0)->chunks)

#endif

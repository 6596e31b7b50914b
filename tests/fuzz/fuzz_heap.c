/* SPDX-License-Identifier: MIT */
/*
 * Any heap file. The input is the used part of one: its header's numbers, the kinds of its first 8
 * chunks, and the start of each chunk in equal parts; a first byte of 0 has the head's constants
 * set. What is accepted refers to nothing outside, and its totals are those of its profile.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "heap/collect.h"

#define CHUNKS 8

static void set_constants(struct heap_head *head)
{
	memcpy(head->header.magic, HEAP_MAGIC, sizeof head->header.magic);
	head->header.version = HEAP_VERSION;
	head->header.header_size = HEAP_HEADER_SIZE;
	head->header.chunk_size = HEAP_CHUNK;
}

/* A file in memory, of zeros but for the input. */
static int make_file(const uint8_t *data, size_t size)
{
	static struct heap_head head;
	static int fd = -1;
	size_t part = size < sizeof head.header ? size : sizeof head.header, each;

	memset(&head, 0, sizeof head);
	memcpy(&head.header, data, part);
	if (!part || !data[0])
		set_constants(&head);
	data += part;
	size -= part;
	part = size < CHUNKS ? size : CHUNKS;
	memcpy(head.kinds, data, part);
	data += part;
	size -= part;
	each = size / CHUNKS < HEAP_CHUNK ? size / CHUNKS : HEAP_CHUNK;
	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
	FUZZ_CHECK(ftruncate(fd, HEAP_HEADER_SIZE + CHUNKS * HEAP_CHUNK) == 0);
	FUZZ_CHECK(pwrite(fd, &head, sizeof head, 0) == (ssize_t)sizeof head);
	for (size_t i = 0; i < CHUNKS && each; i++)
		FUZZ_CHECK(pwrite(fd, data + i * each, each,
				  (off_t)(HEAP_HEADER_SIZE + i * HEAP_CHUNK)) == (ssize_t)each);
	return fd;
}

static void check_profile(const struct heap_collection *c)
{
	int64_t sums[HEAP_TYPES] = { 0 };

	FUZZ_CHECK(profile_error(c->profile) == 0);
	for (size_t i = 0; i < profile_sample_count(c->profile); i++)
		for (size_t type = 0; type < HEAP_TYPES; type++) {
			int64_t value = profile_get_sample(c->profile, i).values[type];

			FUZZ_CHECK(value >= 0);
			if (__builtin_add_overflow(sums[type], value, &sums[type]))
				sums[type] = INT64_MAX;
		}
	FUZZ_CHECK(memcmp(sums, c->totals, sizeof sums) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heap_collection c;
	struct heap_image h;
	struct err e;

	if (heap_image_read(make_file(data, size), "heap", &h, &e) < 0) {
		FUZZ_CHECK(e.msg[0]);
		return 0;
	}
	for (uint32_t i = 0; i < h.head.mapping_count; i++)
		FUZZ_CHECK(strlen(heap_image_string(&h, h.mappings[i].path)) < HEAP_PATH_MAX);
	FUZZ_CHECK(heap_collection_init(&c, &e) == 0);
	heap_collection_add(&c, &h);
	check_profile(&c);
	heap_collection_fini(&c);
	heap_image_fini(&h);
	return 0;
}

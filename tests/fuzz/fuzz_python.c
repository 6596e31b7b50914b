/* SPDX-License-Identifier: MIT */
/*
 * The memory of a Python process, which may hold anything: reading the frames of a thread ends
 * after a bounded number of steps, the same memory gives the same frames, and none is out of range.
 *
 * The first byte chooses the version; the second one what the rest is: such a memory (0), records
 * as they come from the kernel (1), or an ELF file in which Python is looked for (2).
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "interp/merge.h"
#include "interp/python_file.h"
#include "interp/python_layout.h"
#include "interp/python_read.h"

#define BASE UINT64_C(0x10000)
#define HEAD 2
#define TID 77
/* Of a frame: itself, its code and what names it; and of the search for the thread. */
#define READS_MAX (12 * PYTHON_FRAMES_MAX + 4 * PYTHON_THREADS_MAX)

struct memory {
	const uint8_t *bytes;
	size_t len, reads;
};

static bool read_memory(void *memory, uint64_t at, void *to, size_t len)
{
	struct memory *m = memory;

	m->reads++;
	if (at < BASE || at - BASE > m->len || len > m->len - (at - BASE))
		return false;
	if (len)
		memcpy(to, m->bytes + (at - BASE), len);
	return true;
}

/* The frames in place of loops of a native stack that is made up from the same bytes. */
static void check_merge(const struct interp_stack *s, const uint8_t *bytes, size_t len)
{
	uint8_t kinds[64];
	size_t count = len < sizeof kinds ? len : sizeof kinds, frames = 0, shown = 0;
	struct rows items = { 0 };
	const struct interp_item *item;
	enum interp_fit fit;

	for (size_t i = 0; i < count; i++)
		kinds[i] = bytes[i] % 3;
	FUZZ_CHECK(interp_merge(kinds, count, len & 1, s, len & 2, &items, &fit) == 0);
	item = items.data;
	for (size_t i = 0; i < items.count; i++) {
		FUZZ_CHECK(item[i].index < (item[i].is_interp ? s->count : count));
		frames += item[i].is_interp;
	}
	for (size_t i = 0; i < s->count; i++)
		shown += s->frames[i].location != 0;
	FUZZ_CHECK(frames == shown); /* none is lost, none is there twice */
	rows_fini(&items);
}

static size_t check_found(struct python_stacks *s, struct profile *p, const uint8_t *bytes,
			  size_t len)
{
	struct interp_stack found;

	if (!python_stacks_find(s, 5, 1234, &found))
		return 0;
	FUZZ_CHECK((found.count > 0 || found.lock) && found.count <= PYTHON_FRAMES_MAX);
	for (size_t i = 0; i < found.count; i++)
		FUZZ_CHECK(found.frames[i].location < profile_location_count(p));
	check_merge(&found, bytes, len);
	return found.count;
}

static size_t read_frames(unsigned minor, const uint8_t *bytes, size_t len)
{
	struct memory m = { bytes, len, 0 };
	struct map seen = { 0 };
	struct profile *p = profile_new();
	struct python_stacks s;
	struct python_reader r = { .process = { .runtime = BASE,
						.layout = *python_layout_of(minor) },
				   .read = read_memory,
				   .context = &m,
				   .seen = &seen };
	size_t count;

	FUZZ_CHECK(p && python_stacks_init(&s) == 0);
	codes_use(s.codes, p);
	FUZZ_CHECK(python_read_stack(&r, 5, TID, 1234, &s) == 0);
	FUZZ_CHECK(m.reads <= READS_MAX);
	count = check_found(&s, p, bytes, len);
	FUZZ_CHECK(profile_error(p) == 0);
	python_stacks_fini(&s);
	map_fini(&seen);
	profile_free(p);
	return count;
}

/* Records of any length, each behind two bytes of it. */
static void put_records(const uint8_t *bytes, size_t len)
{
	struct profile *p = profile_new();
	struct python_stacks s;

	FUZZ_CHECK(p && python_stacks_init(&s) == 0);
	codes_use(s.codes, p);
	while (len >= 2) {
		size_t part = bytes[0] | (size_t)bytes[1] << 8;
		void *record;

		part = part > len - 2 ? len - 2 : part;
		record = malloc(part ? part : 1);
		FUZZ_CHECK(record);
		memcpy(record, bytes + 2, part);
		FUZZ_CHECK(python_stacks_put(&s, record, part) == 0);
		free(record);
		bytes += 2 + part;
		len -= 2 + part;
	}
	check_found(&s, p, bytes, len);
	FUZZ_CHECK(python_stacks_forget(&s, 1235) == 0 && s.by_sample.count <= 65536);
	python_stacks_fini(&s);
	profile_free(p);
}

/* Ranges of functions are sorted and disjoint. */
static void find_in_file(const uint8_t *bytes, size_t len)
{
	struct elf_image image;
	struct python_file_info info;
	struct err e;

	if (elf_image_init(&image, bytes, len, &e) < 0)
		return;
	python_file_find(&image, &info);
	FUZZ_CHECK(info.range_count <= PYTHON_FILE_RANGES);
	for (uint32_t i = 0; i < info.range_count; i++) {
		const struct interp_range *r = &info.ranges[i];

		FUZZ_CHECK(r->kind == INTERP_EVAL || r->kind == INTERP_FOLD);
		FUZZ_CHECK(r->start < r->end && (i == 0 || r->start >= info.ranges[i - 1].end));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned versions = PYTHON_MINOR_TABLE_MAX - PYTHON_MINOR_MIN + 1, minor;

	if (size < HEAD)
		return 0;
	minor = PYTHON_MINOR_MIN + data[0] % versions;
	if (data[1] & 2)
		find_in_file(data + HEAD, size - HEAD);
	else if (data[1] & 1)
		put_records(data + HEAD, size - HEAD);
	else
		FUZZ_CHECK(read_frames(minor, data + HEAD, size - HEAD) ==
			   read_frames(minor, data + HEAD, size - HEAD));
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "sample/ring.h"

#include <stdlib.h>

#include "perf/record.h"
#include "tap.h"

#define SIZE 4096

/* A ring as the kernel would fill it: records whose bytes count up from their length. */
struct fake {
	struct perf_event_mmap_page *page;
	unsigned char data[SIZE];
	struct ring ring;
};

static struct fake *fake_new(uint64_t start)
{
	struct fake *f = calloc(1, sizeof *f);

	f->page = calloc(1, sizeof *f->page);
	f->page->data_head = f->page->data_tail = start;
	f->ring = (struct ring){ .page = f->page,
				 .data = f->data,
				 .size = SIZE,
				 .head = start,
				 .tail = start,
				 .scratch = malloc(RECORD_MAX_BYTES) };
	return f;
}

static void fake_free(struct fake *f)
{
	free(f->ring.scratch);
	free(f->page);
	free(f);
}

static void write_record(struct fake *f, uint16_t len)
{
	uint64_t at = f->page->data_head;

	for (uint16_t i = 0; i < len; i++)
		f->data[(at + i) % SIZE] = (unsigned char)(len + i);
	f->data[(at + 6) % SIZE] = (unsigned char)(len & 255);
	f->data[(at + 7) % SIZE] = (unsigned char)(len >> 8);
	f->page->data_head += len;
}

static void check_record(struct fake *f, size_t len)
{
	const unsigned char *bytes;
	size_t got;

	if (!CHECK(ring_peek(&f->ring, &bytes, &got)) || !CHECK_INT(got, len))
		return;
	for (size_t i = 8; i < len; i++)
		CHECK_INT(bytes[i], (unsigned char)(len + i));
	ring_skip(&f->ring, got);
}

/* All positions of the end of the ring within a record, also when 64 bits run over. */
static void test_wrap(void)
{
	static const uint64_t starts[] = { 0,         SIZE - 8,     SIZE - 16,
					   SIZE - 96, -(uint64_t)8, UINT64_C(1) << 40 };

	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		struct fake *f = fake_new(starts[i]);
		const unsigned char *bytes;
		size_t len;

		CHECK(!ring_peek(&f->ring, &bytes, &len));
		write_record(f, 104);
		CHECK(!ring_peek(&f->ring, &bytes, &len)); /* not seen yet */
		ring_refresh(&f->ring);
		write_record(f, 8);
		check_record(f, 104);
		CHECK(!ring_peek(&f->ring, &bytes, &len));
		ring_refresh(&f->ring);
		check_record(f, 8);
		CHECK_INT(f->page->data_tail, starts[i]);
		ring_release(&f->ring);
		CHECK_INT(f->page->data_tail, starts[i] + 112);
		fake_free(f);
	}
}

/* What is no record is dropped, with all behind it. */
static void test_broken(void)
{
	static const uint16_t sizes[] = { 0, 7, 9000 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct fake *f = fake_new(0);
		const unsigned char *bytes;
		size_t len;

		write_record(f, 64);
		f->data[6] = (unsigned char)(sizes[i] & 255);
		f->data[7] = (unsigned char)(sizes[i] >> 8);
		ring_refresh(&f->ring);
		CHECK(!ring_peek(&f->ring, &bytes, &len));
		CHECK(!ring_peek(&f->ring, &bytes, &len));
		write_record(f, 32);
		ring_refresh(&f->ring);
		check_record(f, 32);
		fake_free(f);
	}
}

int main(void)
{
	TAP_CASE(test_wrap);
	TAP_CASE(test_broken);
	return tap_done();
}

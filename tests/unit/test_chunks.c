/* SPDX-License-Identifier: MIT */
#include "cachefs/store/chunks.h"

#include <pthread.h>
#include <unistd.h>

#include "cachefs/memory/backing.h"
#include "cachefs/store/passthrough.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)
#define NO_LIMIT (UINT64_C(1) << 40)

struct store {
	struct usage usage;
	struct nodes *nodes;
	struct chunks *chunks;
};

static void open_store(struct store *s, uint64_t limit)
{
	memset(s, 0, sizeof *s);
	s->nodes = nodes_new(&s->usage, passthrough_release);
	s->chunks = chunks_new(s->nodes, &s->usage, limit);
}

/* All chunks are gone, and so is all usage. */
static void close_store(struct store *s)
{
	chunks_free(s->chunks);
	CHECK_INT(s->usage.bytes[USAGE_DATA], 0);
	CHECK_INT(s->usage.entries[USAGE_DATA], 0);
	nodes_free(s->nodes);
}

static struct node *node_of(struct store *s, int number)
{
	char name[16];

	snprintf(name, sizeof name, "f%d", number);
	return nodes_get(s->nodes, nodes_root(s->nodes), name);
}

static struct chunk *add(struct store *s, struct node *n, uint64_t index, uint64_t size)
{
	struct chunk *chunk;

	node_lock(s->nodes, n);
	chunk = chunks_add(s->chunks, n, index, size);
	node_unlock(s->nodes, n);
	return chunk;
}

/* The only chunk of a small file, with its first and last byte written. False: no memory. */
static bool fill(struct store *s, int number, uint64_t size)
{
	struct node *n = node_of(s, number);
	struct chunk *chunk = add(s, n, 0, size);

	node_unref(n, 1);
	if (!chunk)
		return false;
	chunk->bytes[0] = 1;
	chunk->bytes[size - 1] = (char)number;
	chunk_filled(chunk, (size_t)size, false);
	chunk_end_read(chunk);
	return true;
}

static bool has(struct store *s, int number, uint64_t size)
{
	struct node *n = node_of(s, number);
	struct chunk *chunk;
	bool found;

	node_lock(s->nodes, n);
	chunk = chunks_find(n, 0);
	found = chunk && chunk->bytes[size - 1] == (char)number;
	node_unlock(s->nodes, n);
	node_unref(n, 1);
	return found;
}

/* Lines of /proc/self/maps; sanitizers have mappings of their own. */
static size_t mappings(void)
{
	FILE *f = TAP_UNDER_TSAN || TAP_UNDER_ASAN ? NULL : fopen("/proc/self/maps", "re");
	size_t lines = 0;
	int c;

	while (f && (c = getc(f)) != EOF)
		lines += c == '\n';
	if (f)
		fclose(f);
	return lines;
}

static uint64_t resident(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long all, pages = 0;

	if (f) {
		CHECK_INT(fscanf(f, "%llu %llu", &all, &pages), 2);
		fclose(f);
	}
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t size_of(int number)
{
	return 100 + (uint64_t)number * 7919 % 3000;
}

/* 250,000 files: few mappings; usage is what their chunks take; and evicted memory goes back. */
static void test_many(void)
{
	enum { COUNT = TAP_UNDER_TSAN ? 20000 : 250000, KEPT = 20 };
	struct store s;
	size_t before = mappings();
	uint64_t most, data = 0;

	open_store(&s, NO_LIMIT);
	for (int i = 0; i < COUNT; i++) {
		if (!CHECK(fill(&s, i, size_of(i))))
			break;
		data += size_of(i);
	}
	CHECK_INT(s.usage.entries[USAGE_DATA], COUNT);
	CHECK(s.usage.bytes[USAGE_DATA] >= data + COUNT * sizeof(struct chunk));
	CHECK(s.usage.bytes[USAGE_DATA] < data + data / 8 + COUNT * (uint64_t)CHUNK_EXTRA / 16);
	CHECK(mappings() < before + 100);
	for (int i = 0; i < COUNT; i += COUNT / KEPT)
		CHECK(has(&s, i, size_of(i)));
	most = resident();
	chunks_shrink(s.chunks, usage_total(&s.usage) - data / 2);
	if (!TAP_UNDER_ASAN && !TAP_UNDER_TSAN)
		CHECK(resident() < most - data / 3);
	CHECK(has(&s, COUNT - 1, size_of(COUNT - 1)));
	close_store(&s);
	CHECK(mappings() < before + 100);
}

/* A hole takes no memory; a chunk with some data takes its pages; both read as before. */
static void test_holes(void)
{
	enum { CHUNKS = 10 * 1024 }; /* 10 GiB */
	struct store s;
	struct node *n;
	uint64_t size = CHUNKS * MIB, before;

	open_store(&s, NO_LIMIT);
	n = node_of(&s, 1);
	before = resident();
	for (uint64_t i = 0; i < CHUNKS; i++) {
		struct chunk *chunk = add(&s, n, i, size);
		bool has_data = i % 100 == 50;

		if (!CHECK(chunk))
			break;
		if (has_data)
			chunk->bytes[500000] = 1;
		chunk_filled(chunk, (size_t)MIB, !has_data && i % 16);
		CHECK_INT(chunk->bytes[500000], has_data);
		CHECK(chunk->bytes[0] == 0 && chunk->bytes[MIB - 1] == 0);
		chunk_end_read(chunk);
	}
	CHECK_INT(chunks_bytes(n), size);
	CHECK(s.usage.bytes[USAGE_DATA] < 4 * MIB);
	if (!TAP_UNDER_ASAN && !TAP_UNDER_TSAN)
		CHECK(resident() < before + 6 * MIB);
	chunks_shrink(s.chunks, 0);
	CHECK_INT(chunks_bytes(n), 0);
	node_unref(n, 1);
	close_store(&s);
}

/* The same in a backing file; and a file with holes is not passed through. */
static void test_holes_of_backing(void)
{
	struct store s;
	struct chunks_pinned pinned;
	struct node *n;

	open_store(&s, NO_LIMIT);
	chunks_enable_backing(s.chunks, NO_LIMIT);
	for (int holes = 0; holes < 2; holes++) {
		uint64_t size = 4 * MIB + 5;

		n = node_of(&s, holes);
		for (uint64_t i = 0; i < 5; i++) {
			struct chunk *chunk = add(&s, n, i, size);

			if (!CHECK(chunk) || !CHECK(chunk->backing))
				break;
			if (!holes || i == 4)
				memset(chunk->bytes, 1, chunk->cap);
			chunk_filled(chunk, chunk->cap, holes && i == 1);
			chunk_end_read(chunk);
		}
		node_lock(s.nodes, n);
		CHECK_INT(chunks_pin(n, &pinned), !holes);
		if (!holes)
			chunks_unpin(&pinned);
		node_unlock(s.nodes, n);
		node_unref(n, 1);
	}
	CHECK(s.usage.bytes[USAGE_DATA] < 5 * MIB);
	CHECK(s.usage.bytes[USAGE_DATA] > 4 * MIB);
	close_store(&s);
}

/* Only so many backing files have descriptors; all keep their data. */
static void test_backing_limit(void)
{
	enum { COUNT = 10, MAX = 3 };
	struct backings *all = backings_new(MAX);
	struct backing *list[COUNT];
	int before = dup(0), last, fds[COUNT];

	close(before);
	for (int i = 0; i < COUNT; i++) {
		list[i] = backing_new(all, MIB);
		if (!CHECK(list[i]))
			return;
		backing_at(list[i], 0)[0] = (char)i;
		if (i == 0)
			continue;
		last = backing_dup(list[0]); /* is used again and again */
		CHECK(last >= 0);
		close(last);
	}
	for (int i = 0; i < COUNT; i++) {
		CHECK_INT(backing_at(list[i], 0)[0], i);
		fds[i] = backing_dup(list[i]);
		CHECK_INT(fds[i] >= 0, i == 0 || i >= COUNT - MAX + 1);
	}
	for (int i = 0; i < COUNT; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		backing_unref(list[i]);
	}
	backings_free(all);
	last = dup(0);
	close(last);
	CHECK_INT(last, before);
}

struct crew {
	struct store *store;
	int first;
};

static void *fill_some(void *arg)
{
	struct crew *crew = arg;

	for (int i = 0; i < 1000; i++) {
		fill(crew->store, crew->first + i, i % 100 ? size_of(i) : MIB);
		has(crew->store, crew->first + i / 2, size_of(i / 2));
	}
	return NULL;
}

/* Threads that fill, find and evict at once. */
static void test_threads(void)
{
	struct store s;
	pthread_t threads[4];
	struct crew crew[4];

	open_store(&s, 4 * MIB);
	for (int i = 0; i < 4; i++) {
		crew[i] = (struct crew){ &s, i * 1000 };
		pthread_create(&threads[i], NULL, fill_some, &crew[i]);
	}
	for (int i = 0; i < 1000; i++)
		chunks_shrink(s.chunks, 3 * MIB);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	close_store(&s);
}

int main(void)
{
	TAP_CASE(test_many);
	TAP_CASE(test_holes);
	TAP_CASE(test_holes_of_backing);
	TAP_CASE(test_backing_limit);
	TAP_CASE(test_threads);
	return tap_done();
}

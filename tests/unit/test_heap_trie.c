/* SPDX-License-Identifier: MIT */
#include "preload/heap/trie.h"

#include <pthread.h>
#include <unistd.h>

#include "preload/heap/file.h"
#include "tap.h"

#define THREADS 4
#define STACKS 5000
#define DEPTH 6

static char folder[] = "/tmp/auger-trie-XXXXXX";
static uint32_t nodes[THREADS][STACKS], sites[THREADS][STACKS];

/* Stack i: frames that it has in common with others, outermost first, and one of its own. */
static uint32_t make_stack(uint32_t i)
{
	uint32_t node = 0;

	for (uint32_t depth = 0; depth < DEPTH; depth++)
		node = trie_child(node, 0x1000 + (i >> depth) % 16, depth);
	return trie_child(node, 0x100000 + i, HEAP_NO_MAPPING);
}

/* All threads make the same stacks, each in another order. */
static void *make_all(void *number)
{
	uint32_t me = (uint32_t)(uintptr_t)number;

	for (uint32_t k = 0; k < STACKS; k++) {
		uint32_t i = (k * 7 + me * 1237) % STACKS;

		nodes[me][i] = make_stack(i);
		sites[me][i] = trie_site(nodes[me][i], i % 2 ? me : 0);
	}
	return NULL;
}

static void check_stack(uint32_t i)
{
	uint32_t node = nodes[0][i];

	CHECK(file_node(node)->address == 0x100000 + i);
	for (uint32_t depth = DEPTH; depth-- > 0;) {
		CHECK(file_node(node)->parent < node);
		node = file_node(node)->parent;
		CHECK(file_node(node)->address == 0x1000 + (i >> depth) % 16);
		CHECK_INT(file_node(node)->mapping, depth);
	}
	CHECK_INT(file_node(node)->parent, 0);
}

static void test_threads(void)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, make_all, (void *)i);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < STACKS; i++) {
		check_stack(i);
		for (uint32_t t = 1; t < THREADS; t++) {
			CHECK_INT(nodes[t][i], nodes[0][i]);
			CHECK((sites[t][i] == sites[0][i]) == (i % 2 == 0));
		}
		CHECK_INT(file_site(sites[0][i])->node, nodes[0][i]);
	}
	CHECK(file_header()->node_count > STACKS);
	CHECK_INT(file_header()->site_count, 1 + STACKS / 2 + STACKS / 2 * THREADS);
}

static void test_full(void)
{
	uint32_t node = 0, last = 0;

	__atomic_fetch_or(&file_header()->flags, HEAP_FULL, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < 20000 && node != TRIE_FULL; i++) {
		last = node;
		node = trie_child(node, i, 77);
	}
	CHECK_INT(node, TRIE_FULL);
	CHECK_INT(trie_child(node, 1, 1), TRIE_FULL);
	CHECK_INT(trie_site(node, 0), heap_file.site_base);
	CHECK(last != TRIE_FULL);
}

/* A child begins with nothing, and sites of numbers that the parent's blocks do not have. */
static void test_forget(void)
{
	uint32_t next = trie_forget();

	CHECK(next > sites[0][0] && next > sites[3][STACKS - 1]);
	file_forget(next);
	CHECK(file_open(folder, 0));
	CHECK_INT(file_header()->node_count, 1);
	CHECK_INT(trie_child(0, 5, 5), 1);
	CHECK_INT(trie_site(1, 0), next + 1);
	CHECK_INT(file_site(next + 1)->node, 1);
}

static void remove_files(void)
{
	char path[128];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/heap.%d.%d", folder, getpid(), i);
		CHECK_INT(unlink(path), 0);
	}
	CHECK_INT(rmdir(folder), 0);
}

int main(void)
{
	if (!mkdtemp(folder) || !file_open(folder, 0))
		return 1;
	TAP_CASE(test_threads);
	TAP_CASE(test_full);
	TAP_CASE(test_forget);
	TAP_CASE(remove_files);
	return tap_done();
}

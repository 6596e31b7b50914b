/* SPDX-License-Identifier: MIT */
#include "model/trie.h"

#include "tap.h"

static void test_equal_keys_are_one_node(void)
{
	struct trie t = { 0 };
	uint32_t a, b;

	CHECK_INT(trie_init(&t), 0);
	a = trie_push(&t, 0, 7);
	b = trie_push(&t, a, 7);
	CHECK_INT(a, 1);
	CHECK_INT(b, 2);
	CHECK_INT(trie_push(&t, 0, 7), a);
	CHECK_INT(trie_push(&t, a, 7), b);
	CHECK_INT(trie_push(&t, 0, 0), 3); /* the null location is one as well */
	CHECK_INT(trie_push(&t, 0, 0), 3);
	CHECK_INT(trie_push(&t, UINT32_MAX, UINT32_MAX), 4);
	CHECK_INT(t.nodes[b].parent, a);
	CHECK_INT(t.nodes[b].location, 7);
	CHECK_INT(t.count, 5);
	trie_fini(&t);
}

/* A wide and a deep tree, over many growths of the index. */
static void test_many(void)
{
	enum { MANY = 100000 };
	struct trie t = { 0 };
	uint32_t deep = 0, wrong = 0;

	CHECK_INT(trie_init(&t), 0);
	for (uint32_t i = 1; i <= MANY; i++) {
		trie_push(&t, 0, i);
		deep = trie_push(&t, deep, MANY + i);
	}
	CHECK_INT(t.count, 2 * MANY + 1);
	deep = 0;
	for (uint32_t i = 1; i <= MANY; i++) {
		uint32_t wide = trie_push(&t, 0, i);

		deep = trie_push(&t, deep, MANY + i);
		wrong += wide != 2 * i - 1 || deep != 2 * i;
	}
	CHECK_INT(wrong, 0);
	CHECK_INT(t.count, 2 * MANY + 1);
	trie_fini(&t);
}

int main(void)
{
	TAP_CASE(test_equal_keys_are_one_node);
	TAP_CASE(test_many);
	return tap_done();
}

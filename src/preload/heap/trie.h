/* SPDX-License-Identifier: MIT */
/*
 * trie: the call stacks and sites of the file, each stack once.
 *
 * Finding what exists takes no lock. A new node is visible to all threads once trie_child()
 * returns it.
 */
#ifndef PRELOAD_HEAP_TRIE_H
#define PRELOAD_HEAP_TRIE_H

#include <stdint.h>

#define TRIE_FULL UINT32_MAX     /* a node that the file has no space for */
#define TRIE_SITES_MAX 0xffffffU /* site numbers have 24 bits */

/* The node of a frame that parent called; parent TRIE_FULL: TRIE_FULL. */
uint32_t trie_child(uint32_t parent, uint64_t address, uint32_t mapping);

/* The site of a node, for threads of a shard. Without space the site of the root. */
uint32_t trie_site(uint32_t node, uint32_t shard);

/* For a child: its file has no stacks yet. Returns the number its sites begin with. */
uint32_t trie_forget(void);

#endif

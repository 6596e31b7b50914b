/* SPDX-License-Identifier: MIT */
/*
 * stack_trie: finds the node of the profile's calling-context trie for the frames of a sample.
 *
 * A cache maps (parent, address, version of the maps) to the child node, so a known frame costs
 * one lookup and no search in the mappings.
 */
#ifndef PERF_STACK_TRIE_H
#define PERF_STACK_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "model/profile.h"
#include "perf/dso.h"
#include "perf/maps.h"

enum frame_space {
	FRAME_SPACE_USER,
	FRAME_SPACE_KERNEL,
	FRAME_SPACE_GUEST, /* a virtual machine's */
	FRAME_SPACE_HYPERVISOR,
	FRAME_SPACE_TRUNCATED, /* no frame: the stack copy ends before the caller */
	FRAME_SPACE_BROKEN,    /* no frame: the caller of the one before is unknown */
	FRAME_SPACE_INTERP,    /* an interpreter's: the address is a location of the profile */
};

struct stack_frame {
	uint64_t address; /* of an instruction: return addresses are less one already */
	enum frame_space space;
};

struct stack_trie;

struct stack_trie *stack_trie_new(struct profile *p,
				  struct dsos *d) MUST_CHECK; /* NULL: no memory */
void stack_trie_free(struct stack_trie *s);

/* The node of frames [0..count), leaf first, of a process with these maps. */
uint32_t stack_trie_node(struct stack_trie *s, const struct stack_frame *frames, size_t count,
			 struct maps *maps, uint32_t pid);

/* The same of a stack whose outer frames have a node. */
uint32_t stack_trie_extend(struct stack_trie *s, uint32_t node, const struct stack_frame *frames,
			   size_t count, struct maps *maps, uint32_t pid);

/* The location of a user's frame; 0: in no mapping. */
uint32_t stack_trie_locate(struct stack_trie *s, uint64_t address, struct maps *maps, uint32_t pid);

/* What is shown of a frame that is no address of ours. */
const char *stack_trie_space_name(enum frame_space space);

uint64_t stack_trie_unknown(const struct stack_trie *s); /* user frames in no mapping so far */

#endif

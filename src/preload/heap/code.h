/* SPDX-License-Identifier: MIT */
/*
 * code: the code that is loaded: how to unwind it, and its mapping in the file.
 *
 * Read from /proc/self/maps once at the start, and again when a walk comes to code that the dynamic
 * linker has loaded since, or dlclose() was called.
 */
#ifndef PRELOAD_HEAP_CODE_H
#define PRELOAD_HEAP_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

/* A rule as one word, for the frames of nearly all code: the rest is CODE_SPECIAL. */
enum code_kind {
	CODE_SPECIAL, /* by unwind_walk() only */
	CODE_SP,      /* the CFA is sp + offset */
	CODE_FP,      /* fp + offset */
	CODE_END,     /* the outermost frame */
};

#define CODE_SLOTS 16384 /* rules that are remembered; a power of two */

/* Two words, each read and written by itself: they belong together when tag is right. */
struct code_slot {
	uint64_t tag; /* pc ^ word ^ version */
	uint64_t word;
};

extern struct code_slot code_slots[CODE_SLOTS];
extern uint64_t code_version; /* of the code, mixed: changes when code was unloaded; atomic */

static inline enum code_kind code_kind(uint64_t word)
{
	return (enum code_kind)(word & 3);
}

/* Bytes to the CFA. */
static inline uint64_t code_offset(uint64_t word)
{
	return (word >> 2 & 0xfffff) * 8;
}

/* Bytes below the CFA where the caller's fp was saved; 0: it is still in the register. */
static inline uint64_t code_fp_below(uint64_t word)
{
	return (word >> 22 & 0x1fff) * 8;
}

/* Number in the file or HEAP_NO_MAPPING. */
static inline uint32_t code_mapping(uint64_t word)
{
	uint32_t number = (uint32_t)(word >> 48);

	return number == 0xffff ? UINT32_MAX : number;
}

/* What the slots do not have. errno is kept. */
uint64_t code_look_up(uint64_t pc, uint64_t version);

static inline uint64_t code_find(uint64_t pc, uint64_t version)
{
	const struct code_slot *slot = &code_slots[pc * UINT64_C(0x9e3779b97f4a7c15) >> 50];
	uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_RELAXED);

	if (__builtin_expect((__atomic_load_n(&slot->tag, __ATOMIC_RELAXED) ^ word ^ version) == pc,
			     1))
		return word;
	return code_look_up(pc, version);
}

/* Reads what is loaded now. false: not possible. errno is kept. */
bool code_start(void);

/* After code was unloaded. errno is kept. */
void code_refresh(void);

/* For walks with all registers, on the big stack: the code stays while it is borrowed. NULL: none.
 */
const struct unwind_space *code_borrow(void);
void code_give_back(void);
uint32_t code_mapping_of(const struct unwind_space *space, uint64_t pc); /* borrowed */
bool code_is_own(uint64_t pc);                                           /* of this library */

/* For a child: its file has no mappings yet. Puts them there; on a large stack. */
void code_forget(void);

/* Gives all memory back, where no thread uses it; code_start() may follow. */
void code_release(void);

/* Are there rules for this library's own code? */
bool code_knows_own(void);

#endif

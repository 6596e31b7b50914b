/* SPDX-License-Identifier: MIT */
/*
 * callchain: converts the kernel's call chain of a sample to frames.
 *
 * A chain is a list of addresses, leaf first. Context markers in it name the space of the
 * addresses that follow. The first address after a marker is exact; the others are return
 * addresses.
 *
 * Source: perf_event_open(2), PERF_SAMPLE_CALLCHAIN.
 */
#ifndef PERF_CALLCHAIN_H
#define PERF_CALLCHAIN_H

#include <stddef.h>
#include <stdint.h>

#include "perf/record.h"
#include "perf/stack_trie.h"

/* The space that the record's misc gives for an address. */
enum frame_space callchain_space_of(uint16_t misc);

/* Frames of a chain to out[0..max), which has room for chain.count. Marks are left out.
 * misc: of the record, for a chain that does not start with a mark. */
size_t callchain_frames(struct record_words chain, uint16_t misc, struct stack_frame *out);

/* The user's part of a chain, without its mark; none: no words. */
struct record_words callchain_user(struct record_words chain);

#endif

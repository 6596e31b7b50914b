/* SPDX-License-Identifier: MIT */
#include "perf/callchain.h"

#include <stdbool.h>

/* Marks are the last values below 2^64. Source: enum perf_callchain_context, kernel 6.18. */
#define FIRST_MARK ((uint64_t)-4095)
#define MARK_USER_DEFERRED ((uint64_t)-640) /* what follows is a cookie, no address */

enum frame_space callchain_space_of(uint16_t misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		return FRAME_SPACE_KERNEL;
	case PERF_RECORD_MISC_HYPERVISOR:
		return FRAME_SPACE_HYPERVISOR;
	case PERF_RECORD_MISC_GUEST_KERNEL:
	case PERF_RECORD_MISC_GUEST_USER:
		return FRAME_SPACE_GUEST;
	default:
		return FRAME_SPACE_USER;
	}
}

static enum frame_space space_behind(uint64_t mark, enum frame_space before)
{
	switch (mark) {
	case PERF_CONTEXT_HV:
		return FRAME_SPACE_HYPERVISOR;
	case PERF_CONTEXT_KERNEL:
		return FRAME_SPACE_KERNEL;
	case PERF_CONTEXT_USER:
		return FRAME_SPACE_USER;
	case PERF_CONTEXT_GUEST:
	case PERF_CONTEXT_GUEST_KERNEL:
	case PERF_CONTEXT_GUEST_USER:
		return FRAME_SPACE_GUEST;
	default:
		return before;
	}
}

size_t callchain_frames(struct record_words chain, uint16_t misc, struct stack_frame *out)
{
	enum frame_space space = callchain_space_of(misc);
	bool is_exact = true;
	size_t n = 0;

	for (size_t i = 0; i < chain.count; i++) {
		uint64_t address = record_word(chain, i);

		if (address == MARK_USER_DEFERRED) {
			i++;
			continue;
		}
		if (address >= FIRST_MARK) {
			space = space_behind(address, space);
			is_exact = true;
			continue;
		}
		if (address == 0 && !is_exact)
			continue; /* how a frame pointer chain may end */
		out[n++] = (struct stack_frame){ is_exact ? address : address - 1, space };
		is_exact = false;
	}
	return n;
}

struct record_words callchain_user(struct record_words chain)
{
	size_t start = 0, end;

	while (start < chain.count && record_word(chain, start) != PERF_CONTEXT_USER)
		start++;
	if (start >= chain.count)
		return (struct record_words){ 0 };
	start++;
	for (end = start; end < chain.count && record_word(chain, end) < FIRST_MARK;)
		end++;
	return (struct record_words){ chain.bytes + 8 * start, end - start };
}

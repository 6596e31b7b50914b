/* SPDX-License-Identifier: MIT */
/* mix: a step of a hash, for programs that run in the kernel. */
#ifndef BPF_MIX_H
#define BPF_MIX_H

#include <linux/types.h>

#define MIX 0x9e3779b97f4a7c15ull

static inline __attribute__((always_inline)) __u64 mix(__u64 h, __u64 word)
{
	h = (h ^ word) * MIX;
	return h ^ h >> 32;
}

#endif

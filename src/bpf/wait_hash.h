/* SPDX-License-Identifier: MIT */
/* wait_hash: the hash of a stack, for BPF programs: equal keys mean equal stacks (wait.bpf.c). */
#ifndef BPF_WAIT_HASH_H
#define BPF_WAIT_HASH_H

#include "bpf/kernel.h"
#include "bpf/mix.h"
#include "bpf/wait.h"

/* Hashing in four streams, so that no multiplication waits for another. */
struct hash {
	__u64 a, b, c, d;
	const __u64 *words;
};

/* The word if it may be an address of user space, 2^16..2^47; else 0. Branch-free, because a branch
 * would often be mispredicted. */
static __always_inline __u64 user_address(__u64 word)
{
	__u64 beyond = ((word >> 16) - 1) >> 31;

	return word & (__u64)((__s64)(beyond - 1) >> 63);
}

/* One block of the user's stack. */
static long hash_block(__u64 index, struct hash *h)
{
	const __u64 *w;

	if (index >= WAIT_STACK_MAX / WAIT_STACK_BLOCK)
		return 1;
	w = h->words + index * (WAIT_STACK_BLOCK / 8);
	h->a = mix(h->a, user_address(w[0]));
	h->b = mix(h->b, user_address(w[1]));
	h->c = mix(h->c, user_address(w[2]));
	h->d = mix(h->d, user_address(w[3]));
	h->a = mix(h->a, user_address(w[4]));
	h->b = mix(h->b, user_address(w[5]));
	h->c = mix(h->c, user_address(w[6]));
	h->d = mix(h->d, user_address(w[7]));
	return 0;
}

/* One address of a chain. */
static long hash_kernel(__u64 index, struct hash *h)
{
	if (index >= WAIT_KERNEL_MAX)
		return 1;
	h->a = mix(h->a, h->words[index]);
	return 0;
}

static long hash_user(__u64 index, struct hash *h)
{
	if (index >= WAIT_USER_MAX)
		return 1;
	h->b = mix(h->b, h->words[index]);
	return 0;
}

static __always_inline __u64 finish_hash(const struct hash *h)
{
	__u64 key = mix(mix(mix(mix(MIX, h->a), h->b), h->c), h->d);

	return key ? key : 1;
}

#endif

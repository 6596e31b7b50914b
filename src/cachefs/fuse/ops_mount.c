/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/ops_mount.h"

#include "base/clock.h"

/* The kernel rounds a time-out up to its ticks, of 10 ms at most. Source: fs/fuse/dir.c */
#define KERNEL_TICKS_NS (NS_PER_S / 50)

struct node *ops_node_of(const struct ops_mount *m, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? cache_root(m->cache) : (struct node *)(uintptr_t)ino;
}

double ops_timeout(double max_s, int64_t ttl_ns)
{
	double left_s = (double)(ttl_ns - KERNEL_TICKS_NS) / (double)NS_PER_S;

	if (ttl_ns == CACHE_FOREVER || left_s > max_s)
		return max_s;
	return left_s > 0 ? left_s : 0;
}

void ops_forget(const struct ops_mount *m, fuse_ino_t ino, uint64_t count)
{
	struct node *n = ops_node_of(m, ino);

	if (n == cache_root(m->cache))
		return;
	if (atomic_fetch_sub(&n->lookups, count) == count && n->is_detached)
		cache_drop_version(m->cache, n);
	node_unref(n, count);
}

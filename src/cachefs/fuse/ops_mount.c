/* SPDX-License-Identifier: MIT */
#include "cachefs/fuse/ops_mount.h"

struct node *ops_node_of(const struct ops_mount *m, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? cache_root(m->cache) : (struct node *)(uintptr_t)ino;
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

/* SPDX-License-Identifier: MIT */
/*
 * cache_share: what a cache has for other nodes, and what it keeps of replies that pass through it
 * to them. Paths are as a storage's. Any thread may call it, and none of it blocks on storage.
 *
 * What is found is valid here, by ttl_ns and negative_ttl_ns; data that may be of another state of
 * its file (recheck.h) is not found. read_ns: when storage was read for it, or earlier, by
 * CLOCK_MONOTONIC; 0: not known, as replies are valid forever.
 */
#ifndef CACHEFS_STORE_CACHE_SHARE_H
#define CACHEFS_STORE_CACHE_SHARE_H

#include "cachefs/store/cache.h"

struct cache_found {
	int rc; /* 0, or -ENOENT: a negative entry, or a listing without the name */
	int64_t read_ns;
	struct stat attr; /* rc is 0 */
};

/* False: it is not cached, here and below. */
bool cache_find_attr(struct cache *c, const char *path, struct cache_found *ret) MUST_CHECK;
/* *ret has a reference for the caller. */
bool cache_find_list(struct cache *c, const char *path, struct dirlist **ret,
		     int64_t *ret_read_ns) MUST_CHECK;
bool cache_find_link(struct cache *c, const char *path, struct buf *ret,
		     int64_t *ret_read_ns) MUST_CHECK;
/* Of this version of the file: device, inode, ctime, size. *ret has a reader, the caller. */
bool cache_find_chunk(struct cache *c, const char *path, const struct stat *same, uint64_t index,
		      struct chunk **ret) MUST_CHECK;
/* Are all of its bytes zeros that take no memory? */
bool cache_chunk_is_hole(const struct chunk *chunk);

/* Without memory or room in the budget, they keep nothing. attr: as of lookup; of a chunk st_dev,
 * st_ino, st_ctim and st_size are enough. */
void cache_keep_attr(struct cache *c, const char *path, int rc, const struct stat *attr,
		     int64_t read_ns);
/* attrs, codes: [count] of the listing; NULL: not known. */
void cache_keep_list(struct cache *c, const char *path, struct dirlist *listing,
		     const struct stat *attrs, const int *codes, size_t count, int64_t read_ns);
void cache_keep_link(struct cache *c, const char *path, const char *link, size_t len);
/* bytes NULL: zeros. len: the whole chunk. False: a request of this node for the same chunk is in
 * flight, and will want it soon. */
bool cache_keep_chunk(struct cache *c, const char *path, const struct stat *attr, uint64_t index,
		      const void *bytes, size_t len, int64_t read_ns);

/* Runs job, which reads storage for another node, as a request of this node would run. */
int cache_run_storage(struct cache *c, struct job *job, dev_t device) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * recheck: data that may be of two states of its file, although the file's identity is the same.
 *
 * A file's ctime has the granularity of a clock tick, or of a second on some servers: a file that
 * is read right after it changed may change again and keep its identity. So data that was read
 * within RECHECK_NS of the ctime is provisional: a hash of it is kept, and RECHECK_NS after the
 * read it is read once more before anything of the file is served. When it differs, it was another
 * version. The same is done for the end of a file that grew, or, where that is not cached,
 * for the bytes that were read last: it may have been rewritten, or be a new file with the inode
 * number of a removed one.
 *
 * The next request for the file checks it, and nobody else. The kernel serves the pages that it has
 * without a request: the notifier drops them a quarter of a second after the data is ready to be
 * read again. So after RECHECK_NS and that, no read gets the old bytes, as soon as the notifier's
 * thread got a CPU and the kernel's locks of these pages: no time is guaranteed on a loaded
 * machine. While storage does not reply, what is cached is served on.
 *
 * Source: git, Documentation/technical/racy-git.txt. A caller locks what it passes.
 */
#ifndef CACHEFS_MEMORY_RECHECK_H
#define CACHEFS_MEMORY_RECHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/macros.h"

#define RECHECK_NS (2 * NS_PER_S)

struct recheck; /* of one file; NULL: nothing is to be read again */

/* bytes NULL: zeros. */
uint64_t recheck_hash(const char *bytes, size_t len);
/* Was data of a file with this ctime, read from read_ns on, read too early? By the server's clock:
 * see server_clocks.h. */
bool recheck_is_early(const struct stat *attr, int64_t read_ns);

/* These bytes are to be read again, at ready_ns (CLOCK_MONOTONIC) or later. -ENOMEM. */
int recheck_add(struct recheck **to, uint64_t offset, size_t len, uint64_t hash,
		int64_t ready_ns) MUST_CHECK;
void recheck_clear(struct recheck **at);

struct recheck_part {
	uint64_t offset, hash;
	size_t len;
	int64_t ready_ns;
	void *reader; /* of the caller: reads it again; NULL: none */
};
/* The first part from index *i on that is ready; *i is behind it. NULL: none. */
struct recheck_part *recheck_next(const struct recheck *r, int64_t now_ns, size_t *i);
/* The part with this reader, who has read it again. NULL: it is forgotten. */
struct recheck_part *recheck_of(const struct recheck *r, const void *reader);
void recheck_remove(struct recheck **at, struct recheck_part *part); /* it is as it was */

#endif

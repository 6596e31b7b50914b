/* SPDX-License-Identifier: MIT */
/*
 * metrics: how often each operation of the file system was asked for, how long it took, and
 * what came of it.
 *
 * Each thread counts for itself; who reads sums over the threads, and nobody waits for anybody.
 * Times are of the monotonic clock, from the request's arrival to its answer. Operations have
 * Copper's names: what the kernel calls LOOKUP is a getattr there.
 */
#ifndef CACHEFS_PROFILE_METRICS_H
#define CACHEFS_PROFILE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "cachefs/store/path_counts.h"

/* clang-format off */
/* In Copper's order, which is that of its files; the names are metrics_op_names. */
enum metrics_op {
	METRICS_GETATTR, METRICS_EXT_GETATTR, METRICS_READLINK, METRICS_MKNOD, METRICS_MKDIR,
	METRICS_UNLINK, METRICS_RMDIR, METRICS_SYMLINK, METRICS_RENAME, METRICS_LINK,
	METRICS_CHMOD, METRICS_CHOWN, METRICS_TRUNCATE, METRICS_OPEN, METRICS_READ,
	METRICS_WRITE, METRICS_STATFS, METRICS_FLUSH, METRICS_RELEASE, METRICS_FSYNC,
	METRICS_SETXATTR, METRICS_GETXATTR, METRICS_LISTXATTR, METRICS_REMOVEXATTR,
	METRICS_OPENDIR, METRICS_READDIR, METRICS_RELEASEDIR, METRICS_FSYNCDIR, METRICS_INIT,
	METRICS_DESTROY, METRICS_ACCESS, METRICS_CREATE, METRICS_LOCK, METRICS_UTIMENS,
	METRICS_BMAP, METRICS_IOCTL, METRICS_POLL, METRICS_WRITE_BUF, METRICS_READ_BUF,
	METRICS_FLOCK, METRICS_FALLOCATE, METRICS_COPY_FILE_RANGE, METRICS_LSEEK,
	METRICS_OPS,
};
/* clang-format on */

extern const char *const metrics_op_names[METRICS_OPS];

/* What is summed for each operation. */
enum metrics_sum {
	METRICS_CALLS,
	METRICS_HITS,      /* answered from memory */
	METRICS_MISSES,    /* waited for storage */
	METRICS_NEGATIVES, /* ended with an error: in most cases there is no such file */
	METRICS_NS,
	METRICS_STORAGE_NS, /* of METRICS_NS: waiting for storage */
	METRICS_BYTES,      /* read */
	METRICS_SUMS,
};

/* A histogram of powers of two with 8 steps each: bucket i starts at metrics_bucket_ns(i). */
#define METRICS_STEPS 8
#define METRICS_BUCKETS 304 /* up to 2^40 ns, 18 minutes; the last has all above */

struct metrics_counts {
	uint64_t sums[METRICS_SUMS];
	uint64_t max_ns;
	uint64_t buckets[METRICS_BUCKETS]; /* calls */
};

struct metrics;

struct metrics *metrics_new(void) MUST_CHECK; /* NULL: out of memory */
void metrics_free(struct metrics *m);         /* no thread counts any more; NULL is allowed */

/* One request. Begun and ended by one thread, which serves no other in between. */
struct metrics_call {
	enum metrics_op op;
	int64_t start_ns;
};

struct metrics_call metrics_begin(enum metrics_op op);

/* The thread's request waited for storage. */
void metrics_note_wait(int64_t ns);

/* What came of it: rc is the request's, 0 or -errno. *ret_ns: how long it took. */
enum request_result metrics_end(struct metrics *m, const struct metrics_call *call, int rc,
				uint64_t bytes, int64_t *ret_ns);

void metrics_read(struct metrics *m, enum metrics_op op, struct metrics_counts *ret);
void metrics_read_sums(struct metrics *m, enum metrics_op op, uint64_t ret[METRICS_SUMS]);

/* Counts this sum of all operations from 0 again; METRICS_CALLS: and the bytes; METRICS_NS: and the
 * histograms, and what of it was waiting. */
void metrics_reset(struct metrics *m, enum metrics_sum sum);

int64_t metrics_bucket_ns(size_t bucket); /* the least time in it */

/* The time that at least the share q of all calls did not take longer than: the upper end of a
 * bucket, and never above the longest. 0: no calls. */
int64_t metrics_quantile(const struct metrics_counts *c, double q);

#endif

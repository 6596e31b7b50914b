/* SPDX-License-Identifier: MIT */
/*
 * metrics: the calls of each file system operation, with their latencies and results.
 *
 * Each thread counts in its own memory without a lock, and a reader sums over the threads. Latency
 * is from the arrival of a request to its reply, by CLOCK_MONOTONIC. Operations have Copper's
 * names, where FUSE_LOOKUP is a getattr.
 */
#ifndef CACHEFS_PROFILE_METRICS_H
#define CACHEFS_PROFILE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "cachefs/store/path_counts.h"

/* clang-format off */
/* In the order of Copper's files; named by metrics_op_names. */
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

/* The sums of each operation. */
enum metrics_sum {
	METRICS_CALLS,
	METRICS_HITS,      /* RESULT_HIT */
	METRICS_MISSES,    /* RESULT_MISS */
	METRICS_NEGATIVES, /* RESULT_NEGATIVE */
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
void metrics_free(struct metrics *m);         /* all counting threads have ended; NULL is allowed */

/* One request. The thread that ends it may be another than the one that began it. */
struct metrics_call {
	enum metrics_op op;
	int64_t start_ns;
	int64_t wait_ns; /* how long it waited for storage; 0: it was served from memory */
};

struct metrics_call metrics_begin(enum metrics_op op);

/* rc: of the request, 0 or -errno. *ret_ns: its latency. */
enum request_result metrics_end(struct metrics *m, const struct metrics_call *call, int rc,
				uint64_t bytes, int64_t *ret_ns);

void metrics_read(struct metrics *m, enum metrics_op op, struct metrics_counts *ret);
void metrics_read_sums(struct metrics *m, enum metrics_op op, uint64_t ret[METRICS_SUMS]);

/* Resets this sum of all operations; with METRICS_CALLS also the bytes, with METRICS_NS also the
 * histograms and the time in storage. */
void metrics_reset(struct metrics *m, enum metrics_sum sum);

int64_t metrics_bucket_ns(size_t bucket); /* its lower end */

/* The latency that the share q of all calls did not exceed: the upper end of a bucket, and at most
 * the maximum. 0: no calls. */
int64_t metrics_quantile(const struct metrics_counts *c, double q);

#endif

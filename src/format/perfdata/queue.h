/* SPDX-License-Identifier: MIT */
/*
 * perfdata_queue: sorts the records of a perf.data file by time.
 *
 * perf empties the rings of all CPUs one after the other; one pass is a round. So records are out
 * of order by up to two rounds: no later record precedes the latest record of the previous round.
 * Records stay where they are: in the file, or in a block of decompressed memory that is freed
 * after its last record.
 *
 * Source: tools/perf/Documentation/perf.data-file-format.txt, PERF_RECORD_FINISHED_ROUND.
 */
#ifndef FORMAT_PERFDATA_QUEUE_H
#define FORMAT_PERFDATA_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* Unpacked records; see perfdata_queue_put. */
struct perfdata_block {
	size_t refs;      /* records in the queue, and its maker */
	size_t used, cap; /* bytes */
	unsigned char bytes[];
};

struct perfdata_block *perfdata_block_new(size_t cap) MUST_CHECK; /* one reference */
void perfdata_block_unref(struct perfdata_block *b);              /* NULL is allowed */

struct perfdata_record {
	uint64_t time;
	uint64_t number;              /* in the order of the file */
	const unsigned char *bytes;   /* [record_len()] */
	struct perfdata_block *block; /* its reference; NULL: in the file */
};

/* All zero is a valid empty queue. */
struct perfdata_queue {
	struct perfdata_record *list; /* [cap], [first..count) hold; owned */
	size_t first, count, cap;
	uint64_t next_number;
	uint64_t latest;              /* time of all records so far */
	uint64_t round_latest;        /* of those before this round */
	uint64_t settled;             /* records up to this time can be taken */
	struct perfdata_block *taken; /* of the record that was taken last */
};

void perfdata_queue_fini(struct perfdata_queue *q);

/* 0 or -ENOMEM. */
int perfdata_queue_put(struct perfdata_queue *q, uint64_t time, const unsigned char *bytes,
		       struct perfdata_block *block) MUST_CHECK;

/* A round is over: the records up to the end of the one before it can be taken. */
void perfdata_queue_end_round(struct perfdata_queue *q);
/* All can be taken. */
void perfdata_queue_end(struct perfdata_queue *q);

/* The next record, valid until the next call; false: none can be taken now. */
bool perfdata_queue_take(struct perfdata_queue *q, struct perfdata_record *ret);

/* The lowest address in the file of a record that waits, or NULL. */
const unsigned char *perfdata_queue_oldest(const struct perfdata_queue *q);

#endif

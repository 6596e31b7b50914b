/* SPDX-License-Identifier: MIT */
/*
 * perfdata_decompress: the records inside PERF_RECORD_COMPRESSED (perf record -z).
 *
 * The bodies of these records form one zstd stream, cut at any byte. Source: RFC 8878;
 * tools/perf/Documentation/perf.data-file-format.txt.
 */
#ifndef FORMAT_PERFDATA_DECOMPRESS_H
#define FORMAT_PERFDATA_DECOMPRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <zstd.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "format/perfdata/queue.h"

/* All zero is valid. */
struct perfdata_decompress {
	ZSTD_DStream *stream;
	struct perfdata_block *block; /* of the record that was returned last; our reference */
	size_t at;                    /* records before it were returned */
	bool is_full;                 /* more may come without more input */
	uint64_t limit;               /* bytes that may still be unpacked */
};

/* in_len: bytes of the whole file; 256 times as much may come out of it, and 4 GiB in any case. */
void perfdata_decompress_init(struct perfdata_decompress *u, uint64_t in_len);
void perfdata_decompress_fini(struct perfdata_decompress *u);

/*
 * The next whole record, in u->block. in: the body at hand, which moves on. 1: there is one; 0:
 * the next body is needed; -EINVAL, -EFBIG, -ENOMEM.
 */
int perfdata_decompress_next(struct perfdata_decompress *u, struct cursor *in,
			     const unsigned char **ret, struct err *e) MUST_CHECK;

#endif

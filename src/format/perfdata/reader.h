/* SPDX-License-Identifier: MIT */
/*
 * perfdata_reader: sorts the records of a perf.data file and passes them to ingest.
 *
 * Records of perf itself (from PERF_RECORD_USER_TYPE_START on) describe the file and take effect
 * in file order; records of the kernel go through the queue. Ingest starts at the first kernel
 * record, when all events are known.
 */
#ifndef FORMAT_PERFDATA_READER_H
#define FORMAT_PERFDATA_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/macros.h"
#include "format/perfdata/decompress.h"
#include "format/perfdata/env.h"
#include "format/perfdata/queue.h"
#include "format/perfdata/sample.h"
#include "perf/ingest.h"
#include "perf/kernel.h"

struct perfdata_reader {
	struct profile *profile;
	const struct file_input *in;
	bool has_parts; /* perfdata_reader_run_part() follows */
	size_t dropped; /* bytes of the input that were given back */
	struct perfdata_env env;
	struct perfdata_queue queue;
	struct perfdata_decompress unpack;
	struct kernel *kernel;
	struct ingest *ingest; /* NULL: no record yet */
	size_t *types;         /* [event_count]: which of ingest's events; owned */
	uint32_t event_count;  /* when ingest started */
	struct perfdata_counters counters;
	struct perfdata_chain chain; /* of the sample at hand */
	uint64_t first_ns, last_ns;  /* times of samples; last_ns 0: none yet */
	uint64_t lost_in_rings;      /* records */
	bool has_lost_records;       /* lost samples were counted by event */
};

int perfdata_reader_init(struct perfdata_reader *r, struct profile *p, const struct file_input *in,
			 struct err *e) MUST_CHECK;
void perfdata_reader_fini(struct perfdata_reader *r);

/* The records in [from..to) of the input. What is broken ends them with a warning. */
int perfdata_reader_run(struct perfdata_reader *r, size_t from, size_t to,
			struct err *e) MUST_CHECK;

/* Then those of another file of the same recording, which holds nothing else and outlives r. They
 * all come in the order of time: nothing is handed on before the last. */
int perfdata_reader_run_part(struct perfdata_reader *r, const struct file_input *part,
			     struct err *e) MUST_CHECK;

/* What waits, and what is lost. The last call. */
int perfdata_reader_finish(struct perfdata_reader *r, struct err *e) MUST_CHECK;

#endif

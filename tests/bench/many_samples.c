/* SPDX-License-Identifier: MIT */
/*
 * many_samples FILE: writes a pprof file of 10 million samples over 200,000 distinct stacks of
 * 24 frames, each sample in full, as profilers write them that do not sum.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/output/outfile.h"
#include "format/gzip_writer.h"
#include "format/pprof/fields.h"
#include "format/pprof/proto.h"

#define SAMPLES 10000000
#define STACKS 200000
#define TREE_BITS 17 /* of the number of a stack */
#define DEPTH 24
#define FUNCTIONS 20000

/* The stack is a path through a binary tree, so that stacks share their outer frames. */
static void put_sample(struct buf *out, struct buf *message, struct buf *packed, uint64_t stack)
{
	static const unsigned char one[] = { 1 };

	buf_clear(message);
	buf_clear(packed);
	for (unsigned depth = DEPTH; depth-- > 0;) {
		uint64_t path = stack >> (TREE_BITS * (DEPTH - 1 - depth) / (DEPTH - 1));

		buf_put_varint(packed, 1 + (path * 2654435761 + depth) % FUNCTIONS);
	}
	proto_put_bytes(message, SAMPLE_LOCATION_ID, packed->data, packed->len);
	proto_put_bytes(message, SAMPLE_VALUE, one, sizeof one);
	proto_put_bytes(out, PROFILE_SAMPLE, message->data, message->len);
}

static void put_tables(struct gzip_writer *pk, struct buf *message)
{
	static const char *const strings[] = { "", "samples", "count" };

	for (uint64_t id = 1; id <= FUNCTIONS; id++) {
		buf_clear(message);
		proto_put_number(message, LOCATION_ID, id);
		proto_put_number(message, LOCATION_ADDRESS, 0x1000 + 16 * id);
		proto_put_bytes(&pk->staged, PROFILE_LOCATION, message->data, message->len);
	}
	for (size_t i = 0; i < ARRAY_LEN(strings); i++)
		proto_put_bytes(&pk->staged, PROFILE_STRING_TABLE, strings[i], strlen(strings[i]));
}

int main(int argc, char **argv)
{
	static const unsigned char type[] = { 8, 1, 16, 2 }; /* samples/count */
	CLEANUP(buf_fini) struct buf out = { 0 }, message = { 0 }, packed = { 0 };
	struct err e = { 0 };
	struct gzip_writer pk;
	int rc;

	if (argc != 2 || gzip_writer_open(&pk, &out, &e) < 0)
		return 2;
	proto_put_bytes(&pk.staged, PROFILE_SAMPLE_TYPE, type, sizeof type);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		put_sample(&pk.staged, &message, &packed, i / (SAMPLES / STACKS));
		gzip_writer_flush(&pk);
	}
	put_tables(&pk, &message);
	rc = gzip_writer_end(&pk, &e);
	gzip_writer_close(&pk);
	if (rc == 0)
		rc = outfile_replace(argv[1], out.data, out.len, &e);
	if (rc < 0)
		fprintf(stderr, "%s\n", e.msg);
	return rc < 0;
}

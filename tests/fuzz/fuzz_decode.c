/* SPDX-License-Identifier: MIT */
/* Packed input, also in layers, and UTF-16: unpacked, or refused with a reason. */
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "format/decode.h"
#include "fuzz.h"

static void check_layers(const uint8_t *data, size_t size)
{
	CLEANUP(file_input_fini) struct file_input in = { 0 };
	struct err e = { 0 };
	uint8_t *copy = malloc(size + 1);

	if (!copy)
		return;
	memcpy(copy, data, size);
	in = (struct file_input){ .data = copy, .len = size };
	FUZZ_CHECK((decode_input(&in, "x", NULL, &e) < 0) == (e.msg[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct err e = { 0 };
	int rc = decode_bytes(data, size, &out, &e);

	FUZZ_CHECK((rc < 0) == (e.msg[0] != '\0'));
	FUZZ_CHECK(buf_error(&out) == 0);
	FUZZ_CHECK(rc != 1 || !out.len);
	if (size)
		check_layers(data, size);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Packed input and UTF-16: unpacked, or refused with a reason. */
#include "base/buf.h"
#include "base/macros.h"
#include "format/decode.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	struct err e = { 0 };
	int rc = decode_bytes(data, size, &out, &e);

	FUZZ_CHECK((rc < 0) == (e.msg[0] != '\0'));
	FUZZ_CHECK(buf_error(&out) == 0);
	FUZZ_CHECK(rc != 1 || !out.len);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* A zlib stream, behind two bytes that say how many bytes come out: fills them, or fails. */
#include "fuzz.h"

#include <errno.h>

#include "unwind/inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len;
	uint8_t *out;
	int rc;

	if (size < 2)
		return 0;
	len = (size_t)(data[0] | data[1] << 8);
	out = malloc(len ? len : 1);
	FUZZ_CHECK(out);
	rc = inflate_zlib(data + 2, size - 2, out, len);
	FUZZ_CHECK(rc == 0 || rc == -EINVAL);
	free(out);
	return 0;
}

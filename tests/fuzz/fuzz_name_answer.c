/* SPDX-License-Identifier: MIT */
/* Any bytes taken for an answer of the naming process: what is accepted is consistent, and is
 * written back to the same answer. The first byte is the number of addresses. */
#include <string.h>

#include "fuzz.h"
#include "symbol/name_records.h"

static size_t check(const struct name_answer *a, size_t count)
{
	size_t length = strlen(a->reason);

	FUZZ_CHECK(a->code <= 0);
	if (a->code)
		return length;
	FUZZ_CHECK(a->first[0] == 0);
	for (size_t i = 0; i < count; i++)
		FUZZ_CHECK(a->first[i] <= a->first[i + 1]);
	for (uint32_t i = 0; i < a->first[count]; i++)
		FUZZ_CHECK(a->frames[i].function < a->function_count);
	for (uint32_t i = 0; i < a->function_count; i++)
		length += strlen(a->functions[i].name) + strlen(a->functions[i].system_name) +
			  strlen(a->functions[i].file);
	return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t count = size ? data[0] : 0, length;
	struct name_answer a = { 0 }, b = { 0 };
	struct buf once = { 0 }, twice = { 0 };

	if (size && name_answer_read(data + 1, size - 1, count, &a) == 0) {
		length = check(&a, count);
		name_answer_write(&a, count, &once);
		FUZZ_CHECK(name_answer_read(once.data, once.len, count, &b) == 0);
		FUZZ_CHECK(check(&b, count) == length);
		name_answer_write(&b, count, &twice);
		FUZZ_CHECK(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
	}
	name_answer_fini(&a);
	name_answer_fini(&b);
	buf_fini(&once);
	buf_fini(&twice);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Any lines taken for results: what is accepted is read the same again, and reduces to sums and to
 * a profile whatever it says. */
#include <string.h>

#include "base/buf.h"
#include "format/stage_record.h"
#include "fuzz.h"

static void read_twice(struct stage_reader *reader, struct stages *s, const char *line, size_t len)
{
	struct stage_record record;
	struct err e;
	int rc = stage_reader_read(reader, line, len, &record, &e);
	size_t rows = rc > 0 ? record.row_count : 0;

	if (rc > 0)
		FUZZ_CHECK(stages_add(s, &record) == 0);
	FUZZ_CHECK(stage_reader_read(reader, line, len, &record, &e) == rc);
	if (rc > 0)
		FUZZ_CHECK(record.row_count == rows && stages_add(s, &record) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stage_reader *reader = stage_reader_new("input");
	struct stages *s = stages_new();
	struct profile *p = profile_new();
	struct buf text = { 0 };

	buf_put(&text, data, size);
	for (size_t at = 0; at <= size;) {
		const char *line = text.data + at;
		const char *end = memchr(line, '\n', size - at);
		size_t len = end ? (size_t)(end - line) : size - at;

		read_twice(reader, s, line, len);
		at += len + 1;
	}
	FUZZ_CHECK(stages_end(s) == 0);
	for (size_t i = 0; i < stages_count(s); i++)
		FUZZ_CHECK(stages_get(s, i)->records % 2 == 0);
	stages_to_profile(s, "input", p);
	FUZZ_CHECK(profile_error(p) == 0);
	profile_free(p);
	stages_free(s);
	stage_reader_free(reader);
	buf_fini(&text);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* A text file, plain, gzip or zstd: its lines are numbered, hold no line end, and the same come
 * again. */
#include <string.h>

#include "base/hash.h"
#include "format/lines.h"
#include "fuzz.h"
#include "fuzz_file.h"

/* Each four bytes of zstd can be 128 KiB of text: of a packed file so much is text enough. */
#define ENOUGH 100000
#define MOST 512

struct seen {
	uint64_t lines, bytes, hash;
	int rc;
};

static struct seen read_all(const char *path)
{
	struct seen seen = { 0 };
	struct line_text line;
	struct lines *l;
	struct err e = { 0 };

	FUZZ_CHECK(lines_open(path, &l, &e) == 0);
	while (seen.bytes + seen.lines < ENOUGH && (seen.rc = lines_next(l, &line, &e)) > 0) {
		FUZZ_CHECK(line.number == ++seen.lines);
		FUZZ_CHECK(!memchr(line.text, '\n', line.len));
		FUZZ_CHECK(line.text[line.len] == '\0' || line.text[line.len] == '\n');
		seen.bytes += line.len;
		seen.hash = hash_number(seen.hash ^ hash_bytes(line.text, line.len));
	}
	FUZZ_CHECK((seen.rc < 0) == (e.msg[0] != '\0'));
	lines_close(l);
	return seen;
}

/* A zstd frame that says to need much memory for its window, or for all of its text at once.
 * Source: RFC 8878, 3.1.1.1. */
static bool is_large_frame(const uint8_t *data, size_t size)
{
	static const uint8_t magic[] = { 0x28, 0xb5, 0x2f, 0xfd };

	if (size < 6 || memcmp(data, magic, sizeof magic) != 0)
		return false;
	return data[4] & 0x20 ? data[4] >> 6 > 1 : data[5] >> 3 > 7; /* above 64 KiB, 128 KiB */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size < MOST ? size : MOST);
	struct seen first, second;

	if (is_large_frame(data, size))
		return 0;
	first = read_all(path);
	second = read_all(path);
	FUZZ_CHECK(first.rc == second.rc && first.lines == second.lines);
	FUZZ_CHECK(first.bytes == second.bytes && first.hash == second.hash);
	return 0;
}

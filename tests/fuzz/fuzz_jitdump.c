/* SPDX-License-Identifier: MIT */
/* Any jitdump, and what is not one: names lie within the text, and are as long as they may be. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "fuzz.h"
#include "fuzz_file.h"
#include "symbol/jitdump.h"

static const uint64_t wanted[] = {
	0, 1, 0x1000, 0x1008, 0x2000, 0x7f0000000000, UINT64_MAX,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *names[ARRAY_LEN(wanted)] = { 0 }, *path = fuzz_file(data, size);
	struct buf text = { 0 };
	struct err e;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	FUZZ_CHECK(fd >= 0);
	jitdump_detect(fd);
	FUZZ_CHECK(jitdump_find(fd, path, wanted, ARRAY_LEN(wanted), &text, names, &e) == 0);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (names[i]) {
			FUZZ_CHECK(names[i] >= text.data && names[i] < text.data + text.len);
			FUZZ_CHECK(names[i][0] && strlen(names[i]) <= JITDUMP_MAX_NAME);
		}
	close(fd);
	buf_fini(&text);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Any perf map, which is also taken for a /proc/kallsyms: names lie within the text. */
#include <string.h>

#include "base/macros.h"
#include "fuzz.h"
#include "fuzz_file.h"
#include "symbol/kallsyms.h"
#include "symbol/perfmap.h"

static const uint64_t wanted[] = {
	0,
	1,
	0x1000,
	0x1008,
	0x2000,
	0x7f0000000000,
	0xffffffff81000000,
	0xffffffffc0000010,
	UINT64_MAX,
};

static void check_name(const struct buf *text, const char *name)
{
	if (name)
		FUZZ_CHECK(name >= text->data && name + strlen(name) <= text->data + text->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kernel_symbol symbols[ARRAY_LEN(wanted)] = { { 0 } };
	const char *names[ARRAY_LEN(wanted)] = { 0 };
	struct buf text = { 0 }, kernel = { 0 };
	const char *path = fuzz_file(data, size);
	struct err e;

	FUZZ_CHECK(perfmap_find(path, false, wanted, ARRAY_LEN(wanted), &text, names, &e) == 0);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		check_name(&text, names[i]);
	if (kallsyms_find(path, wanted, ARRAY_LEN(wanted), &kernel, symbols, &e) == 0)
		for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
			check_name(&kernel, symbols[i].name);
			check_name(&kernel, symbols[i].module);
		}
	buf_fini(&text);
	buf_fini(&kernel);
	return 0;
}

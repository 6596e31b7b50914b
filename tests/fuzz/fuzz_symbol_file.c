/* SPDX-License-Identifier: MIT */
/* Any file: asking for the names of addresses ends, and the answer makes sense. */
#include <elf.h>
#include <string.h>

#include "base/macros.h"
#include "fuzz.h"
#include "fuzz_file.h"
#include "symbol/symbol_file.h"

#define ASKED 64

/* Where the files of the corpus have their code. */
static size_t choose_addresses(uint64_t *ret)
{
	static const uint64_t starts[] = { 0x1d0, 0x2e0, 0x4000b0, 0x8048080 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		for (uint64_t at = 0; at < ASKED / ARRAY_LEN(starts); at++)
			ret[n++] = starts[i] + 7 * at;
	return n;
}

static void check_answer(const struct symbol_file *f, const struct symbol_answer *a, size_t count)
{
	size_t functions = symbol_file_function_count(f);

	FUZZ_CHECK(a->first[0] == 0);
	for (size_t i = 0; i < count; i++)
		FUZZ_CHECK(a->first[i] <= a->first[i + 1]);
	for (uint32_t i = 0; i < a->first[count]; i++) {
		struct symbol_function function;

		FUZZ_CHECK(a->frames[i].function < functions);
		function = symbol_file_function(f, a->frames[i].function);
		FUZZ_CHECK(strlen(function.name) + strlen(function.system_name) +
				   strlen(function.file) + 1 >
			   0);
	}
}

static void ask(struct symbol_file *f)
{
	uint64_t addresses[ASKED], vaddr;
	size_t count = choose_addresses(addresses);
	struct symbol_answer answer;
	struct symbol_extent extent;
	struct err e;

	FUZZ_CHECK(symbol_file_lookup(f, addresses, count, &answer, &e) == 0);
	check_answer(f, &answer, count);
	symbol_answer_fini(&answer);
	symbol_file_vaddr(f, 0x1000, &vaddr);
	if (symbol_file_extent(f, addresses[8], &extent))
		symbol_file_code(f, extent.start, extent.end - extent.start);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_file_opts o = { .debug_dir = "/nowhere" };
	struct symbol_file *f;
	struct err e;

	o.path = fuzz_file(data, size);
	if (symbol_file_open(&o, &f, &e) < 0)
		return 0;
	ask(f);
	symbol_file_close(f);
	return 0;
}

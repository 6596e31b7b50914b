/* SPDX-License-Identifier: MIT */
/*
 * symbol_dump [-C] [-n] FILE [DEBUG_DIR] < ADDRESSES: what auger knows of each address, in the
 * form of addr2line -aif: the address, then a name and FILE:LINE for each frame.
 *
 * -C: names for people. -n: names only, without DWARF. A line of "time SECONDS" on standard
 * error tells what the lookup took.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "symbol/symbol_file.h"

static int by_value(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

/* Distinct addresses of standard input, ascending. */
static size_t read_addresses(struct buf *ret)
{
	uint64_t address, *list;
	size_t count = 0;

	while (scanf("%" SCNx64, &address) == 1)
		buf_put(ret, &address, sizeof address);
	list = (void *)ret->data;
	if (!list)
		return 0;
	qsort(list, ret->len / sizeof *list, sizeof *list, by_value);
	for (size_t i = 0; i < ret->len / sizeof *list; i++)
		if (count == 0 || list[count - 1] != list[i])
			list[count++] = list[i];
	return count;
}

static void print_frames(const struct symbol_file *f, const struct symbol_answer *answer, size_t i,
			 int is_readable)
{
	if (answer->first[i] == answer->first[i + 1])
		printf("??\n??:0\n");
	for (uint32_t k = answer->first[i]; k < answer->first[i + 1]; k++) {
		const struct symbol_frame *frame = &answer->frames[k];
		struct symbol_function fn = symbol_file_function(f, frame->function);

		printf("%s\n%s:%u\n", is_readable ? fn.name : fn.system_name,
		       fn.file[0] ? fn.file : "??", frame->line);
	}
}

static int dump(const struct symbol_file_opts *o, int is_readable)
{
	struct buf addresses = { 0 };
	size_t count = read_addresses(&addresses);
	const uint64_t *list = (const void *)addresses.data;
	int64_t begin = clock_mono_ns();
	struct symbol_answer answer;
	struct symbol_file *f;
	struct err e;

	if ((buf_error(&addresses) < 0 && err_nomem(&e) < 0) || symbol_file_open(o, &f, &e) < 0 ||
	    symbol_file_lookup(f, list, count, &answer, &e) < 0) {
		fprintf(stderr, "symbol_dump: %s\n", e.msg);
		return 1;
	}
	fprintf(stderr, "time %.6f\n", (double)(clock_mono_ns() - begin) / 1e9);
	for (size_t i = 0; i < count; i++) {
		printf("0x%016" PRIx64 "\n", list[i]);
		print_frames(f, &answer, i, is_readable);
	}
	symbol_answer_fini(&answer);
	symbol_file_close(f);
	buf_fini(&addresses);
	return 0;
}

int main(int argc, char **argv)
{
	struct symbol_file_opts o = { .debug_dir = "/nowhere" };
	int is_readable = 0, c;

	while ((c = getopt(argc, argv, "Cn")) != -1) {
		is_readable |= c == 'C';
		o.no_dwarf |= c == 'n';
		if (c == '?')
			return 2;
	}
	if (optind == argc)
		return 2;
	o.path = argv[optind];
	if (optind + 1 < argc)
		o.debug_dir = argv[optind + 1];
	return dump(&o, is_readable);
}

/* SPDX-License-Identifier: MIT */
/*
 * replay: runs a fuzz target over the files of a folder once, as a regression test in builds
 * without libFuzzer. The last file named on standard error is the one that ended the program.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/macros.h"
#include "fuzz.h"

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* A copy of exactly its size, so that the sanitizers see every read past the end. */
static int run_file(const char *path)
{
	struct file_input in;
	struct err e = { 0 };
	uint8_t *copy;

	fprintf(stderr, "%s\n", path);
	if (file_load(path, &in, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return -1;
	}
	copy = malloc(in.len);
	if (in.len && !copy)
		return -1;
	if (in.len)
		memcpy(copy, in.data, in.len);
	LLVMFuzzerTestOneInput(copy, in.len);
	free(copy);
	file_input_fini(&in);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent **entries;
	int count, failed = 0;

	if (argc != 2)
		return 2;
	count = scandir(argv[1], &entries, is_visible, alphasort);
	if (count <= 0) {
		fprintf(stderr, "%s: no corpus\n", argv[1]);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		CLEANUP(buf_fini) struct buf path = { 0 };

		buf_printf(&path, "%s/%s", argv[1], entries[i]->d_name);
		failed += buf_error(&path) < 0 || run_file(path.data) < 0;
		free(entries[i]);
	}
	free(entries);
	printf("%sok 1 - %d files\n1..1\n", failed ? "not " : "", count);
	return failed > 0;
}

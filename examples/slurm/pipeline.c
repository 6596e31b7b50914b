/* SPDX-License-Identifier: MIT */
/*
 * pipeline LIST RESULTS INDEX COUNT: counts the words of files, one record of results a file.
 *
 * LIST has one path a line; of them this task takes those at INDEX, INDEX + COUNT, ... Each record
 * embeds the stage report of its file under "profile", so that the economics of a corpus lie in its
 * results: auger stages RESULTS.
 */
#include <auger/stage.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)64 << 20)

struct words {
	char **list; /* [count]; point into the text */
	size_t count;
};

static char *read_file(struct auger_profiler *prof, const char *path)
{
	AUGER_STAGE(prof, "read");
	FILE *in = fopen(path, "r");
	char *text = in ? calloc(1, MAX_BYTES + 1) : NULL;

	if (text)
		text[fread(text, 1, MAX_BYTES, in)] = '\0';
	if (in)
		fclose(in);
	return text;
}

static struct words split(struct auger_profiler *prof, char *text)
{
	AUGER_STAGE(prof, "split");
	struct words words = { NULL, 0 };
	char *rest, *word = strtok_r(text, " \t\r\n", &rest);

	for (size_t room = 0; word; word = strtok_r(NULL, " \t\r\n", &rest)) {
		if (words.count == room) {
			char **list;

			room = room ? 2 * room : 1024;
			list = realloc(words.list, room * sizeof *list);
			if (!list)
				break;
			words.list = list;
		}
		words.list[words.count++] = word;
	}
	return words;
}

static int compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static size_t count_distinct(struct auger_profiler *prof, struct words *words)
{
	AUGER_STAGE(prof, "classify");
	size_t distinct = 0;

	if (words->count) {
		AUGER_STAGE(prof, "sort");
		qsort(words->list, words->count, sizeof *words->list, compare);
	}
	for (size_t i = 0; i < words->count; i++)
		distinct += i == 0 || strcmp(words->list[i], words->list[i - 1]) != 0;
	return distinct;
}

static void take(struct auger_profiler *prof, const char *path, FILE *results)
{
	char *text = read_file(prof, path), *report;
	struct words words = { NULL, 0 };
	size_t distinct = 0;

	if (text) {
		words = split(prof, text);
		distinct = count_distinct(prof, &words);
	}
	report = auger_profiler_report(prof, NULL);
	auger_profiler_reset(prof);
	fprintf(results, "{\"input\": \"%s\", \"words\": %zu, \"distinct\": %zu%s%s}\n", path,
		words.count, distinct, report ? ", \"profile\": " : "", report ? report : "");
	free(report);
	free(words.list);
	free(text);
}

int main(int argc, char **argv)
{
	struct auger_profiler *prof = auger_profiler_new(AUGER_OPTS(.out = ""));
	long index = argc == 5 ? atol(argv[3]) : -1, count = argc == 5 ? atol(argv[4]) : 0, at = 0;
	FILE *list = argc == 5 ? fopen(argv[1], "r") : NULL, *results;
	char path[4096];

	if (!list || index < 0 || count < 1) {
		fputs("usage: pipeline LIST RESULTS INDEX COUNT\n", stderr);
		return 2;
	}
	snprintf(path, sizeof path, "%s/%ld.jsonl", argv[2], index);
	results = fopen(path, "w");
	if (!results) {
		perror(path);
		return 1;
	}
	while (fgets(path, sizeof path, list)) {
		path[strcspn(path, "\n")] = '\0';
		if (at++ % count == index)
			take(prof, path, results);
	}
	fclose(list);
	auger_profiler_close(prof);
	return fclose(results) ? 1 : 0;
}

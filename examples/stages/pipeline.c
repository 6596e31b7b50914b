/* SPDX-License-Identifier: MIT */
/*
 * A pipeline whose phases are stages. One line of JSON for each input, on standard output.
 *
 *	cc pipeline.c $(pkg-config --cflags --libs auger)
 *	AUGER_STAGES=off ./a.out      # the same results, no report
 */
#include <auger/stage.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *extract(unsigned seed, size_t len)
{
	unsigned char *text = malloc(len);

	for (size_t i = 0; text && i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		text[i] = (unsigned char)(seed >> 24);
	}
	return text;
}

static unsigned classify(struct auger_profiler *prof, const unsigned char *text, size_t len)
{
	unsigned counts[256] = { 0 };
	unsigned most = 0;

	{
		AUGER_STAGE(prof, "count");
		for (size_t i = 0; i < len; i++)
			counts[text[i]]++;
	}
	AUGER_STAGE(prof, "choose");
	for (unsigned i = 1; i < 256; i++) {
		if (counts[i] > counts[most])
			most = i;
	}
	return most;
}

static int run(struct auger_profiler *prof, unsigned input)
{
	size_t len = (size_t)1 << 20;
	unsigned char *text;
	unsigned result;

	{
		AUGER_STAGE(prof, "extract");
		text = extract(input, len);
	}
	if (!text)
		return -1;
	{
		AUGER_STAGE(prof, "classify");
		result = classify(prof, text, len);
	}
	free(text);
	printf("{\"input\":%u,\"result\":%u", input, result);
	return 0;
}

int main(void)
{
	struct auger_profiler *prof = auger_profiler_new(NULL);

	for (unsigned input = 0; input < 3; input++) {
		char *report;

		auger_profiler_reset(prof);
		if (run(prof, input) < 0)
			return 1;
		report = auger_profiler_report(prof, NULL);
		if (report)
			printf(",\"profile\":%s", report);
		puts("}");
		free(report);
	}
	auger_profiler_close(prof);
	return 0;
}

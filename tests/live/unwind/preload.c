/* SPDX-License-Identifier: MIT */
/*
 * preload: the sampler in any program, by LD_PRELOAD. When the program ends, the file named by
 * UNWIND_REPORT gets a line of figures, and one for each of the first stacks that are not
 * complete.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sampler.h"

#define COPIED ((size_t)64 * 1024)
#define TOLD_MAX 20

static const char *const ends[] = { "complete", "truncated", "no info", "broken", "full" };

/* Programs load code as they run. */
static void *renew_often(void *arg)
{
	const struct timespec pause = { .tv_nsec = 5000000 };

	do
		nanosleep(&pause, NULL);
	while (sampler_renew() == 0);
	return arg;
}

static void write_report(FILE *out)
{
	size_t counts[5] = { 0 }, guessed = 0, told = 0;

	for (size_t i = 0; i < sampler_count(); i++) {
		counts[sampler_get(i)->end]++;
		guessed += sampler_get(i)->guessed > 0;
	}
	fprintf(out, "%zu stacks", sampler_count());
	for (int i = 0; i < 5; i++)
		fprintf(out, ", %zu %s", counts[i], ends[i]);
	fprintf(out, ", %zu guessed\n", guessed);
	for (size_t i = 0; i < sampler_count() && told < TOLD_MAX; i++) {
		const struct sampler_stack *s = sampler_get(i);

		if (s->end == UNWIND_COMPLETE)
			continue;
		told++;
		fprintf(out, "%s after %u frames, the last at %#llx\n", ends[s->end], s->count,
			(unsigned long long)s->frames[s->count - 1].pc);
	}
}

__attribute__((constructor)) static void start(void)
{
	pthread_t thread;

	if (!getenv("UNWIND_REPORT") || sampler_open(COPIED) < 0 ||
	    pthread_create(&thread, NULL, renew_often, NULL) != 0)
		return;
	sampler_start();
}

__attribute__((destructor)) static void stop(void)
{
	const char *path = getenv("UNWIND_REPORT");
	FILE *out;

	if (!path)
		return;
	sampler_stop();
	out = fopen(path, "w");
	if (!out)
		return;
	write_report(out);
	fclose(out);
}

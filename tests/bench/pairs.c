/* SPDX-License-Identifier: MIT */
/*
 * pairs: THREADS threads allocate and free PAIRS blocks in all, at ten depths of recursion, so from
 * ten stacks; each keeps the last KEPT blocks.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define DEPTHS 10
#define KEPT_MAX 1000

static struct {
	long pairs; /* a thread; written before the threads start */
	long kept;
} plan;

/* Not a tail call: each depth is a frame of its own. */
static __attribute__((noinline)) void *allocate(int depth, size_t size)
{
	void *volatile block = depth ? allocate(depth - 1, size) : malloc(size);

	return block;
}

static void *work(void *unused)
{
	void *ring[KEPT_MAX] = { 0 };
	uint32_t random = 1;

	(void)unused;
	for (long i = 0; i < plan.pairs; i++) {
		long at = plan.kept ? i % plan.kept : 0;

		random = random * 1664525 + 1013904223;
		free(ring[at]);
		ring[at] = allocate((int)(i % DEPTHS), 16 + random % 240);
		if (!plan.kept) {
			free(ring[0]);
			ring[0] = NULL;
		}
	}
	for (long i = 0; i < KEPT_MAX; i++)
		free(ring[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	long pairs = argc > 2 ? strtol(argv[2], NULL, 10) : 1000000;
	pthread_t all[64];

	plan.kept = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	if (threads < 1 || threads > 64 || plan.kept < 0 || plan.kept > KEPT_MAX)
		return 2;
	plan.pairs = pairs / threads;
	for (long i = 0; i < threads; i++)
		if (pthread_create(&all[i], NULL, work, NULL) != 0)
			return 1;
	for (long i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	return 0;
}

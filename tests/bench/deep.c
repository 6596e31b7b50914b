/* SPDX-License-Identifier: MIT */
/*
 * deep ROUNDS: CPU-bound work at the end of call chains of 10 to 60 functions, nearly each
 * of them different. Prints the CPU time that it took, in nanoseconds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define FUNCTIONS(X) ROW(X, 0) ROW(X, 1) ROW(X, 2) ROW(X, 3)
#define ROW(X, r) X(r, 0) X(r, 1) X(r, 2) X(r, 3) X(r, 4) X(r, 5) X(r, 6) X(r, 7)

typedef uint64_t step(uint64_t seed, unsigned depth);

static uint64_t call_next(uint64_t seed, unsigned depth);

/* Each keeps something on its stack across the call, as functions do. */
#define DEFINE(r, c)                                                                              \
	static __attribute__((noinline)) uint64_t f##r##c(uint64_t seed, unsigned depth)          \
	{                                                                                         \
		volatile uint64_t kept[1 + (c) % 4] = { seed };                                   \
		uint64_t v =                                                                      \
			call_next(seed * UINT64_C(6364136223846793005) + (r)*8 + (c) + 1, depth); \
                                                                                                  \
		return v + kept[0];                                                               \
	}
FUNCTIONS(DEFINE)

static step *const steps[] = {
#define NAME(r, c) f##r##c,
	FUNCTIONS(NAME)
};

static __attribute__((noinline)) uint64_t work(uint64_t seed)
{
	for (int i = 0; i < 4000; i++)
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return seed;
}

static uint64_t call_next(uint64_t seed, unsigned depth)
{
	if (depth == 0)
		return work(seed);
	return steps[seed >> 59](seed, depth - 1);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	uint64_t seed = 1;
	struct rusage own;

	for (unsigned long i = 0; i < rounds; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		seed += call_next(seed, 10 + (unsigned)((seed >> 33) % 51));
	}
	getrusage(RUSAGE_SELF, &own);
	fprintf(stderr, "%s", seed == 0 ? "zero\n" : "");
	printf("%lld\n", (own.ru_utime.tv_sec + own.ru_stime.tv_sec) * 1000000000ll +
				 (own.ru_utime.tv_usec + own.ru_stime.tv_usec) * 1000ll);
	return 0;
}

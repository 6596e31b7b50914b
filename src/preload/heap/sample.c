/* SPDX-License-Identifier: MIT */
#include "preload/heap/sample.h"

#include <string.h>
#include <time.h>

#include "preload/heap/blocks.h"

#define LN2 0.69314718055994530942

/* xorshift64*. Source: Vigna, An experimental exploration of Marsaglia's xorshift generators. */
static uint64_t next_random(struct thread *t)
{
	uint64_t x = t->random;

	if (x == 0) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		x = (uintptr_t)t ^ (uint64_t)now.tv_nsec << 20 ^ (uint64_t)now.tv_sec;
		x |= 1;
	}
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	t->random = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* In [0, 1). */
static double next_fraction(struct thread *t)
{
	return (double)(next_random(t) >> 11) * 0x1p-53;
}

/* ln(x) for 0 < x <= 1, good to 1e-9: no libm here. With x = m 2^e and m near 1, by the series of
 * atanh. */
static double natural_log(double x)
{
	uint64_t bits;
	int exponent;
	double m, y, square, sum = 0, power;

	memcpy(&bits, &x, sizeof bits);
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	memcpy(&m, &bits, sizeof m);
	y = (m - 1) / (m + 1);
	square = y * y;
	power = y;
	for (int k = 1; k < 26; k += 2, power *= square)
		sum += power / k;
	return 2 * sum + exponent * LN2;
}

/* 1 - exp(-x) for x >= 0. */
static double hit_probability(double x)
{
	double term = x, sum = 0;
	double half;

	if (x > 40)
		return 1;
	if (x > 0.5) {
		half = hit_probability(x / 2); /* 1 - (1 - half)^2 */
		return half * (2 - half);
	}
	for (int k = 2; k < 14; k++) {
		sum += term;
		term *= -x / k;
	}
	return sum;
}

static int64_t next_distance(struct thread *t, uint64_t period)
{
	double distance = -natural_log(1 - next_fraction(t)) * (double)period;

	return distance < 0x1p60 ? (int64_t)distance + 1 : INT64_MAX / 2;
}

uint32_t sample_weight(struct thread *t, size_t size, uint64_t period)
{
	double weight;
	uint32_t whole;

	if (t->random == 0)
		t->sample_left = next_distance(t, period);
	/* A block of nothing has no byte that can be hit: it counts as one byte. */
	if (size == 0)
		size = 1;
	if (size < INT64_MAX && (int64_t)size < t->sample_left) {
		t->sample_left -= (int64_t)size;
		return 0;
	}
	t->sample_left = next_distance(t, period);
	weight = 1 / hit_probability((double)size / (double)period);
	if (weight >= BLOCK_WEIGHT_MAX)
		return BLOCK_WEIGHT_MAX;
	whole = (uint32_t)weight;
	return whole + (next_fraction(t) < weight - whole);
}

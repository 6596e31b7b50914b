/* SPDX-License-Identifier: MIT */
/*
 * shares MS: a known call tree, each part of it for a known share of MS milliseconds of CPU
 * time. Prints "FUNCTION NANOSECONDS", the CPU time that was spent below each function.
 *
 *	main - alpha - spin_one
 *	     - beta  - spin_one
 *	             - spin_two
 *	     - delta - delta - delta - spin_three
 */
#include <stdlib.h>

#include "spin.h"

/* The sum behind a call keeps it from being a jump, which would leave no frame. */
static volatile int64_t kept;

static int64_t one_ns, two_ns, three_ns, alpha_ns, beta_ns, delta_ns;

static NOINLINE int64_t spin_one(int64_t ns)
{
	int64_t used = spin(ns);

	one_ns += used;
	return used;
}

static NOINLINE int64_t spin_two(int64_t ns)
{
	int64_t used = spin(ns);

	two_ns += used;
	return used;
}

static NOINLINE int64_t spin_three(int64_t ns)
{
	int64_t used = spin(ns);

	three_ns += used;
	return used;
}

static NOINLINE int64_t alpha(int64_t ns)
{
	int64_t used = spin_one(ns);

	alpha_ns += used;
	kept = used;
	return used;
}

static NOINLINE int64_t beta(int64_t ns)
{
	int64_t used = spin_one(ns / 4) + spin_two(ns - ns / 4);

	beta_ns += used;
	kept = used;
	return used;
}

static NOINLINE int64_t delta(int64_t ns, int depth)
{
	int64_t used = depth ? delta(ns, depth - 1) : spin_three(ns);

	if (depth == 0)
		delta_ns += used;
	kept = used + depth;
	return used;
}

int main(int argc, char **argv)
{
	int64_t total = (argc > 1 ? atol(argv[1]) : 500) * INT64_C(1000000);
	int64_t done = 0;

	/* Small turns, so that every part of the run looks the same. */
	while (done < total)
		done += alpha(2000000) + beta(4000000) + delta(1000000, 2);
	printf("alpha %lld\nbeta %lld\ndelta %lld\nspin_one %lld\nspin_two %lld\nspin_three %lld\n",
	       (long long)alpha_ns, (long long)beta_ns, (long long)delta_ns, (long long)one_ns,
	       (long long)two_ns, (long long)three_ns);
	return 0;
}

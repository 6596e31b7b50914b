/* SPDX-License-Identifier: MIT */
/*
 * bench: hands over what was measured, in the form of bench.py, for the table of tools/bench.py.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>

/* One measurement, for bench_print(); texts need no escapes in JSON. */
struct bench_row {
	const char *what;
	double value; /* ours, in unit */
	const char *unit;
	const char *peer;   /* NULL: compared with nobody */
	double peer_value;  /* in unit */
	double most, least; /* the goal for the ratio, or without a peer for value; 0: none */
};

static inline void bench_number(const char *key, double value)
{
	if (value > 0)
		printf(", \"%s\": %.9g", key, value);
	else
		printf(", \"%s\": null", key);
}

static inline void bench_print(const struct bench_row *r)
{
	double ratio = r->peer ? r->value / r->peer_value : 0;
	double judged = r->peer ? ratio : r->value;
	int holds = (r->most <= 0 || judged <= r->most) && judged >= r->least;

	printf("bench: {\"what\": \"%s\", \"value\": %.9g, \"unit\": \"%s\"", r->what, r->value,
	       r->unit);
	printf(r->peer ? ", \"peer\": \"%s\"" : ", \"peer\": null", r->peer);
	bench_number("peer_value", r->peer ? r->peer_value : 0);
	bench_number("ratio", ratio);
	bench_number("most", r->most);
	bench_number("least", r->least);
	printf(", \"holds\": %s}\n", holds ? "true" : "false");
}

static inline void bench_value(const char *what, double value, const char *unit)
{
	bench_print(&(struct bench_row){ .what = what, .value = value, .unit = unit });
}

/* most: 0, or the goal for the ratio to the peer. */
static inline void bench_compare(const char *what, double value, const char *unit, const char *peer,
				 double peer_value, double most)
{
	bench_print(&(struct bench_row){ .what = what,
					 .value = value,
					 .unit = unit,
					 .peer = peer,
					 .peer_value = peer_value,
					 .most = most });
}

#endif

/* SPDX-License-Identifier: MIT */
#include "model/units.h"

#include <stddef.h>
#include <stdio.h>
#include <strings.h>

#include "base/macros.h"

enum family {
	FAMILY_COUNT,
	FAMILY_TIME, /* base: nanoseconds */
	FAMILY_SIZE, /* base: bytes */
};

/* The names that profiles use; pprof and its ecosystem write the long ones. */
static const struct unit {
	const char *name;
	enum family family;
	double factor; /* of the family's base */
} units[] = {
	{ "", FAMILY_COUNT, 1 },
	{ "count", FAMILY_COUNT, 1 },
	{ "counts", FAMILY_COUNT, 1 },
	{ "samples", FAMILY_COUNT, 1 },
	{ "nanoseconds", FAMILY_TIME, 1 },
	{ "nanosecond", FAMILY_TIME, 1 },
	{ "ns", FAMILY_TIME, 1 },
	{ "microseconds", FAMILY_TIME, 1e3 },
	{ "us", FAMILY_TIME, 1e3 },
	{ "milliseconds", FAMILY_TIME, 1e6 },
	{ "ms", FAMILY_TIME, 1e6 },
	{ "seconds", FAMILY_TIME, 1e9 },
	{ "s", FAMILY_TIME, 1e9 },
	{ "minutes", FAMILY_TIME, 60e9 },
	{ "hours", FAMILY_TIME, 3600e9 },
	{ "bytes", FAMILY_SIZE, 1 },
	{ "byte", FAMILY_SIZE, 1 },
	{ "b", FAMILY_SIZE, 1 },
	{ "kilobytes", FAMILY_SIZE, 1024 },
	{ "kb", FAMILY_SIZE, 1024 },
	{ "megabytes", FAMILY_SIZE, 1048576 },
	{ "mb", FAMILY_SIZE, 1048576 },
};

struct scale {
	double factor; /* of the family's base */
	const char *suffix;
};

static const struct unit *find_unit(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcasecmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

/* Three digits: what is below 9.995 has two decimals, so that rounding never adds a digit. */
static int decimals_of(double amount)
{
	return amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0;
}

static void put_time(struct buf *out, double ns)
{
	static const struct scale scales[] = {
		{ 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" }, { 3600e9, "h" },
	};
	size_t i = 0;

	/* The next scale from the value on that would be shown as its first whole number. */
	while (i + 1 < ARRAY_LEN(scales) && ns >= 0.9995 * scales[i + 1].factor)
		i++;
	if (i == 0)
		buf_printf(out, "%.0f ns", ns);
	else
		buf_printf(out, "%.*f %s", decimals_of(ns / scales[i].factor),
			   ns / scales[i].factor, scales[i].suffix);
}

static void put_size(struct buf *out, double bytes)
{
	static const char *const suffixes[] = {
		"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB"
	};
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(suffixes) && bytes >= (i ? 1023.95 : 1023.5)) {
		bytes /= 1024;
		i++;
	}
	buf_printf(out, "%.*f %s", i ? 1 : 0, bytes, suffixes[i]);
}

void units_put(struct buf *out, int64_t value, const char *unit)
{
	const struct unit *known = find_unit(unit);
	double amount;

	if (!value || !known || known->family == FAMILY_COUNT) {
		buf_put_int(out, value);
		if (value && !known)
			buf_printf(out, " %s", unit);
		return;
	}
	if (value < 0)
		buf_put_byte(out, '-');
	amount = (value < 0 ? -(double)value : (double)value) * known->factor;
	if (known->family == FAMILY_TIME)
		put_time(out, amount);
	else
		put_size(out, amount);
}

void units_put_grouped(struct buf *out, uint64_t value)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_put_byte(out, ',');
		buf_put_byte(out, (unsigned char)digits[i]);
	}
}

/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/decimal.h"

#include <errno.h>

#include "base/number.h"

#define MICROS 1000000

static size_t count_digits(const char *text, size_t len)
{
	size_t count = 0;

	while (count < len && number_is_digit(text[count]))
		count++;
	return count;
}

int decimal_parse(struct decimal *ret, const char *text, size_t len, struct err *e)
{
	struct decimal f = { 0 };
	size_t digits = count_digits(text, len), decimals = 0;
	int32_t unit = MICROS / 10;

	for (size_t i = 0; i < digits && f.integer <= DECIMAL_MAX; i++)
		f.integer = 10 * f.integer + (text[i] - '0');
	if (digits < len && text[digits] == '.') {
		f.has_point = true;
		decimals = count_digits(text + digits + 1, len - digits - 1);
		for (size_t i = 0; i < decimals && unit; i++, unit /= 10)
			f.micros += unit * (text[digits + 1 + i] - '0');
	}
	if (!digits || (f.has_point && !decimals) || digits + f.has_point + decimals != len)
		return err_set(e, -EINVAL, "'%.*s' is not a count", (int)(len < 64 ? len : 64),
			       text);
	if (f.integer > DECIMAL_MAX)
		return err_set(e, -EINVAL, "%.*s is too much for a count",
			       (int)(len < 64 ? len : 64), text);
	*ret = f;
	return 0;
}

double decimal_real(struct decimal f)
{
	return (double)f.integer + (double)f.micros / MICROS;
}

bool decimal_is_zero(struct decimal f)
{
	return f.integer == 0 && f.micros == 0;
}

void decimal_add(struct decimal *sum, struct decimal f)
{
	int64_t carry = (sum->micros + f.micros) / MICROS;

	sum->micros = (sum->micros + f.micros) % MICROS;
	if (__builtin_add_overflow(sum->integer, f.integer, &sum->integer) ||
	    __builtin_add_overflow(sum->integer, carry, &sum->integer))
		sum->integer = INT64_MAX;
	sum->has_point |= f.has_point;
}

int decimal_compare(struct decimal a, struct decimal b)
{
	if (a.integer != b.integer)
		return a.integer < b.integer ? -1 : 1;
	return (a.micros > b.micros) - (a.micros < b.micros);
}

void decimal_put(struct buf *out, struct decimal f)
{
	buf_put_int(out, f.integer);
	if (f.has_point)
		buf_printf(out, ".%06d", f.micros);
}

void range_add(struct range *r, uint32_t rank, struct decimal f)
{
	if (!r->ranks || decimal_compare(f, r->min) < 0) {
		r->min = f;
		r->min_rank = rank;
	}
	if (!r->ranks || decimal_compare(f, r->max) > 0) {
		r->max = f;
		r->max_rank = rank;
	}
	decimal_add(&r->sum, f);
	r->ranks++;
}

void range_fill(struct range *r, size_t ranks, uint32_t rank)
{
	if (r->ranks >= ranks)
		return;
	range_add(r, rank, (struct decimal){ 0 });
	r->ranks = ranks;
}

double range_mean(const struct range *r)
{
	return r->ranks ? decimal_real(r->sum) / (double)r->ranks : 0;
}

double range_imbalance(const struct range *r)
{
	double mean = range_mean(r);

	return mean > 0 ? decimal_real(r->max) / mean : 0;
}

/* SPDX-License-Identifier: MIT */
#include "cachefs/profile/figure.h"

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

int figure_parse(struct figure *ret, const char *text, size_t len, struct err *e)
{
	struct figure f = { 0 };
	size_t digits = count_digits(text, len), decimals = 0;
	int32_t unit = MICROS / 10;

	for (size_t i = 0; i < digits && f.whole <= FIGURE_MAX; i++)
		f.whole = 10 * f.whole + (text[i] - '0');
	if (digits < len && text[digits] == '.') {
		f.is_decimal = true;
		decimals = count_digits(text + digits + 1, len - digits - 1);
		for (size_t i = 0; i < decimals && unit; i++, unit /= 10)
			f.micros += unit * (text[digits + 1 + i] - '0');
	}
	if (!digits || (f.is_decimal && !decimals) || digits + f.is_decimal + decimals != len)
		return err_set(e, -EINVAL, "'%.*s' is not a count", (int)(len < 64 ? len : 64),
			       text);
	if (f.whole > FIGURE_MAX)
		return err_set(e, -EINVAL, "%.*s is too much for a count",
			       (int)(len < 64 ? len : 64), text);
	*ret = f;
	return 0;
}

double figure_real(struct figure f)
{
	return (double)f.whole + (double)f.micros / MICROS;
}

bool figure_is_zero(struct figure f)
{
	return f.whole == 0 && f.micros == 0;
}

void figure_add(struct figure *sum, struct figure f)
{
	int64_t carry = (sum->micros + f.micros) / MICROS;

	sum->micros = (sum->micros + f.micros) % MICROS;
	if (__builtin_add_overflow(sum->whole, f.whole, &sum->whole) ||
	    __builtin_add_overflow(sum->whole, carry, &sum->whole))
		sum->whole = INT64_MAX;
	sum->is_decimal |= f.is_decimal;
}

int figure_compare(struct figure a, struct figure b)
{
	if (a.whole != b.whole)
		return a.whole < b.whole ? -1 : 1;
	return (a.micros > b.micros) - (a.micros < b.micros);
}

void figure_put(struct buf *out, struct figure f)
{
	buf_put_int(out, f.whole);
	if (f.is_decimal)
		buf_printf(out, ".%06d", f.micros);
}

void range_add(struct range *r, uint32_t rank, struct figure f)
{
	if (!r->ranks || figure_compare(f, r->min) < 0) {
		r->min = f;
		r->min_rank = rank;
	}
	if (!r->ranks || figure_compare(f, r->max) > 0) {
		r->max = f;
		r->max_rank = rank;
	}
	figure_add(&r->sum, f);
	r->ranks++;
}

void range_fill(struct range *r, size_t ranks, uint32_t rank)
{
	if (r->ranks >= ranks)
		return;
	range_add(r, rank, (struct figure){ 0 });
	r->ranks = ranks;
}

double range_mean(const struct range *r)
{
	return r->ranks ? figure_real(r->sum) / (double)r->ranks : 0;
}

double range_imbalance(const struct range *r)
{
	double mean = range_mean(r);

	return mean > 0 ? figure_real(r->max) / mean : 0;
}

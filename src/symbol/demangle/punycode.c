/* SPDX-License-Identifier: MIT */
#include "symbol/demangle/punycode.h"

#include <stdbool.h>
#include <string.h>

#include "base/number.h"

/* Section 6.1, with the parameters of section 5. */
static uint32_t adapt_bias(uint32_t delta, uint32_t count, bool is_first)
{
	uint32_t k = 0;

	delta /= is_first ? 700 : 2;
	delta += delta / count;
	for (; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/* One number of variable length, added to *ret; false: broken. */
static bool take_delta(const char **at, const char *end, uint32_t bias, uint64_t *ret)
{
	uint64_t weight = 1;

	for (uint32_t k = 36;; k += 36) {
		uint32_t threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
		uint32_t digit;

		if (*at == end)
			return false;
		if (**at >= 'a' && **at <= 'z')
			digit = (uint32_t)(**at - 'a');
		else if (number_is_digit(**at))
			digit = (uint32_t)(**at - '0') + 26;
		else
			return false;
		(*at)++;
		*ret += digit * weight;
		if (*ret > UINT32_MAX)
			return false;
		if (digit < threshold)
			return true;
		weight *= 36 - threshold;
	}
}

size_t punycode_decode(const char *text, size_t len, uint32_t ret[PUNYCODE_MAX])
{
	const char *split = memrchr(text, '_', len), *end = text + len;
	const char *at = split ? split + 1 : text;
	size_t count = split ? (size_t)(split - text) : 0;
	uint64_t where = 0, code = 0x80;
	uint32_t bias = 72;

	if (count >= PUNYCODE_MAX || at == end)
		return 0;
	for (size_t i = 0; i < count; i++)
		ret[i] = (unsigned char)text[i];
	while (at < end) {
		uint64_t old = where;

		if (count == PUNYCODE_MAX || !take_delta(&at, end, bias, &where))
			return 0;
		count++;
		bias = adapt_bias((uint32_t)(where - old), (uint32_t)count, old == 0);
		code += where / count;
		where %= count;
		if (code > 0x10ffff)
			return 0;
		memmove(ret + where + 1, ret + where, (count - 1 - where) * sizeof *ret);
		ret[where++] = (uint32_t)code;
	}
	return count;
}

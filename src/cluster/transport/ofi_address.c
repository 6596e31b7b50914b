/* SPDX-License-Identifier: MIT */
#include "cluster/transport/ofi_address.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define PREFIX "ofi:"

#define NUMBER 16 /* digits */

static_assert(sizeof(PREFIX) + OFI_PROVIDER_MAX + 2 * OFI_ADDRESS_MAX + 2 * (NUMBER + 1) <=
		      ENDPOINT_MAX,
	      "fits");

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_provider(const char *text, size_t len, struct ofi_address *a)
{
	if (!len || len >= sizeof(a->provider))
		return false;
	for (size_t i = 0; i < len; i++) {
		bool is_letter = (text[i] >= 'a' && text[i] <= 'z') ||
				 (text[i] >= '0' && text[i] <= '9') || text[i] == '_';

		if (!is_letter && text[i] != '+')
			return false;
		a->provider[i] = is_letter ? text[i] : ';';
	}
	a->provider[len] = '\0';
	return true;
}

static bool read_bytes(const char *text, size_t len, struct ofi_address *a)
{
	if (!len || len % 2 || len / 2 > sizeof(a->bytes))
		return false;
	for (size_t i = 0; i < len / 2; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		a->bytes[i] = (unsigned char)(high << 4 | low);
	}
	a->len = len / 2;
	return true;
}

/* ":" and a number, and nothing else before end. */
static bool read_number(const char *text, const char *end, uint64_t *ret)
{
	if (end - text != NUMBER + 1 || *text++ != ':')
		return false;
	for (*ret = 0; text < end; text++) {
		int d = digit(*text);

		if (d < 0)
			return false;
		*ret = *ret << 4 | (uint64_t)d;
	}
	return true;
}

static bool read_address(const char *name, struct ofi_address *a)
{
	const char *colon = strchr(name, ':'), *end = name + strlen(name), *word;

	if (!colon || end - colon <= 2 * (NUMBER + 1))
		return false;
	word = end - 2 * (NUMBER + 1);
	return read_provider(name, (size_t)(colon - name), a) &&
	       read_bytes(colon + 1, (size_t)(word - colon - 1), a) &&
	       read_number(word, word + NUMBER + 1, &a->life_key) &&
	       read_number(word + NUMBER + 1, end, &a->life_address);
}

int ofi_address_parse(const char *text, struct ofi_address *ret, struct err *e)
{
	struct ofi_address a = { 0 };

	if (strlen(text) >= ENDPOINT_MAX || !text_starts_with(text, PREFIX) ||
	    !read_address(text + strlen(PREFIX), &a))
		return err_set(e, -EINVAL, "'%.100s' is no endpoint of libfabric", text);
	*ret = a;
	return 0;
}

void ofi_address_print(const struct ofi_address *a, char ret[ENDPOINT_MAX])
{
	int at = snprintf(ret, ENDPOINT_MAX, PREFIX "%s:", a->provider);

	for (char *c = ret; *c; c++)
		if (*c == ';')
			*c = '+';
	for (size_t i = 0; i < a->len; i++)
		at += snprintf(ret + at, (size_t)(ENDPOINT_MAX - at), "%02x", a->bytes[i]);
	snprintf(ret + at, (size_t)(ENDPOINT_MAX - at), ":%016" PRIx64 ":%016" PRIx64, a->life_key,
		 a->life_address);
}

bool ofi_address_equals(const struct ofi_address *a, const struct ofi_address *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0 &&
	       a->life_key == b->life_key && a->life_address == b->life_address;
}

/* SPDX-License-Identifier: MIT */
/* number: parses and prints digits in bounded text, independent of the locale. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool number_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The value of a hexadecimal digit of either case; -1: it is none. */
static inline int number_hex_digit(char c)
{
	if (number_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Read the digits that text starts with, [0..len). Return how many they are; 0 when there are none,
 * or their value needs more than 64 bits. */
size_t number_parse(const char *text, size_t len, uint64_t *ret);
size_t number_parse_hex(const char *text, size_t len, uint64_t *ret);

/* Two lower-case digits a byte, and a NUL: out has room for 2 * len + 1. */
void number_print_hex(char *out, const unsigned char *bytes, size_t len);

#endif

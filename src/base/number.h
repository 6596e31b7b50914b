/* SPDX-License-Identifier: MIT */
/*
 * number: parses and prints digits in bounded text, independent of the locale; sums that stay in
 * their range.
 */
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

/* The end of the range, INT64_MAX or -INT64_MAX, for a number beyond it. A warning is logged the
 * first time in a process. */
int64_t number_end(bool is_negative);

/* Adds to a sum, which stays at the end of its range. */
static inline void number_add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = number_end(value < 0);
}

/* Two lower-case digits a byte, and a NUL: out has room for 2 * len + 1. */
void number_print_hex(char *out, const unsigned char *bytes, size_t len);

#endif

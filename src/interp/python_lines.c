/* SPDX-License-Identifier: MIT */
#include "interp/python_lines.h"

#include "base/cursor.h"

#define UNIT 2 /* bytes of an instruction */
#define NO_LINE (-128)

/* Pairs (bytes, lines), up to 3.9: lines hold from behind the bytes. */
static int64_t line_by_lnotab(struct cursor c, int64_t line, int64_t at)
{
	int64_t address = 0;

	while (cursor_left(&c) >= 2) {
		address += cursor_u8(&c);
		if (address > at)
			break;
		line += (int8_t)cursor_u8(&c);
	}
	return line;
}

/* Pairs (bytes, lines) of 3.10: lines hold for the bytes. */
static int64_t line_by_linetable(struct cursor c, int64_t first_line, int64_t at)
{
	int64_t address = 0, line = first_line;

	while (cursor_left(&c) >= 2) {
		uint8_t bytes = cursor_u8(&c);
		int8_t lines = (int8_t)cursor_u8(&c);

		address += bytes;
		if (lines != NO_LINE)
			line += lines;
		if (address > at)
			return lines == NO_LINE ? first_line : line;
	}
	return first_line;
}

/* Six bits a byte, the low ones first. */
static uint64_t take_varint(struct cursor *c)
{
	uint64_t value = 0;
	uint8_t byte = 0x40;

	for (unsigned shift = 0; byte & 0x40 && cursor_left(c); shift += 6) {
		byte = cursor_u8(c);
		if (shift < 60)
			value |= (uint64_t)(byte & 0x3f) << shift;
	}
	return value;
}

static int64_t take_signed(struct cursor *c)
{
	uint64_t value = take_varint(c);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* What an entry of this kind adds to the line; false: its code has no line. */
static bool take_entry(struct cursor *c, unsigned kind, int64_t *line)
{
	int64_t delta = 0;

	if (kind <= 9) {
		cursor_skip(c, 1);
	} else if (kind <= 12) {
		delta = kind - 10;
		cursor_skip(c, 2);
	} else if (kind <= 14) {
		delta = take_signed(c);
	}
	for (unsigned i = 0; kind == 14 && i < 3; i++)
		take_varint(c);
	if (__builtin_add_overflow(*line, delta, line))
		*line = 0;
	return kind != 15;
}

/* The location table, from 3.11 on. */
static int64_t line_by_locations(struct cursor c, int64_t first_line, int64_t at)
{
	int64_t address = 0, line = first_line;

	while (at >= 0 && cursor_left(&c)) {
		uint8_t head = cursor_u8(&c);
		bool has_line;

		if (!(head & 0x80))
			break;
		has_line = take_entry(&c, head >> 3 & 15, &line);
		address += UNIT * ((head & 7) + 1);
		if (address > at)
			return has_line ? line : first_line;
	}
	return first_line;
}

int64_t python_line(unsigned minor, const unsigned char *table, size_t len, int64_t first_line,
		    int64_t at)
{
	struct cursor c = cursor_make(table, len);

	if (minor <= 9)
		return line_by_lnotab(c, first_line, at);
	if (minor == 10)
		return line_by_linetable(c, first_line, UNIT * at);
	return line_by_locations(c, first_line, at);
}

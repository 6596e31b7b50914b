/* SPDX-License-Identifier: MIT */
#include "unwind/inflate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cursor.h"

#define CODE_BITS 15 /* of the longest code */
#define LITERALS 288
#define DISTANCES 30
#define END_OF_BLOCK 256

/* What the next CODE_BITS bits mean: symbol * 16 + length of its code; 0: no code. */
struct huffman {
	uint16_t table[1 << CODE_BITS];
};

struct inflate {
	struct cursor in;
	uint64_t bits; /* read, and not yet used: the lowest come first */
	unsigned bit_count;
	unsigned char *out; /* [out_len), at in use */
	size_t out_len, at;
	bool is_bad;
	struct huffman literals, distances;
};

/* At least 56 bits, or all that are left; behind them zeroes, so that the last codes can be
 * looked up. */
static void fill_bits(struct inflate *z)
{
	if (z->bit_count > 32)
		return; /* enough for any one thing */
	if (cursor_left(&z->in) >= 8) {
		struct cursor ahead = z->in;

		z->bits |= cursor_u64(&ahead) << z->bit_count;
		z->in.at += (63 - z->bit_count) / 8;
		z->bit_count |= 56;
		return;
	}
	while (z->bit_count <= 56 && cursor_left(&z->in)) {
		z->bits |= (uint64_t)cursor_u8(&z->in) << z->bit_count;
		z->bit_count += 8;
	}
}

/* count <= 32 */
static uint32_t take_bits(struct inflate *z, unsigned count)
{
	uint32_t value;

	fill_bits(z);
	if (count > z->bit_count) {
		z->is_bad = true;
		return 0;
	}
	value = (uint32_t)(z->bits & ((UINT64_C(1) << count) - 1));
	z->bits >>= count;
	z->bit_count -= count;
	return value;
}

static unsigned take_symbol(struct inflate *z, const struct huffman *h)
{
	uint16_t entry;

	fill_bits(z);
	entry = h->table[z->bits & ((1 << CODE_BITS) - 1)];
	if (entry == 0) {
		z->is_bad = true;
		return 0;
	}
	take_bits(z, entry & 15);
	return entry >> 4;
}

static unsigned reverse(unsigned code, unsigned len)
{
	unsigned reversed = 0;

	for (; len; len--, code >>= 1)
		reversed = reversed << 1 | (code & 1);
	return reversed;
}

/* From the length of each symbol's code (0: it has none). false: more codes than there can be.
 * Fewer are allowed; what has no meaning is bad when it comes. */
static bool make_huffman(struct huffman *h, const uint8_t *lengths, unsigned count)
{
	unsigned per_length[CODE_BITS + 1] = { 0 }, next[CODE_BITS + 1], code = 0;

	for (unsigned i = 0; i < count; i++)
		per_length[lengths[i]]++;
	per_length[0] = 0;
	for (unsigned len = 1; len <= CODE_BITS; len++) {
		code = (code + per_length[len - 1]) << 1;
		next[len] = code;
		if (code + per_length[len] > 1u << len)
			return false;
	}
	memset(h, 0, sizeof *h);
	for (unsigned i = 0; i < count; i++) {
		unsigned len = lengths[i];

		if (len == 0)
			continue;
		for (unsigned at = reverse(next[len]++, len); at < 1 << CODE_BITS; at += 1u << len)
			h->table[at] = (uint16_t)(i << 4 | len);
	}
	return true;
}

static void copy_stored(struct inflate *z)
{
	const unsigned char *bytes;
	uint32_t len, check;

	take_bits(z, z->bit_count % 8); /* to the next byte */
	len = take_bits(z, 16);
	check = take_bits(z, 16);
	z->in.at -= z->bit_count / 8; /* bytes that were read ahead */
	z->bits = z->bit_count = 0;
	bytes = cursor_bytes(&z->in, len);
	if (z->is_bad || (len ^ 0xffff) != check || !bytes || len > z->out_len - z->at) {
		z->is_bad = true;
		return;
	}
	memcpy(z->out + z->at, bytes, len);
	z->at += len;
}

static void make_fixed_codes(struct inflate *z)
{
	uint8_t lengths[LITERALS];

	for (unsigned i = 0; i < LITERALS; i++)
		lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	make_huffman(&z->literals, lengths, LITERALS);
	memset(lengths, 5, DISTANCES);
	make_huffman(&z->distances, lengths, DISTANCES);
}

/* The lengths of both codes, one behind the other, themselves in a code that is in
 * z->literals. */
static void take_lengths(struct inflate *z, uint8_t *lengths, unsigned count)
{
	unsigned at = 0;

	while (at < count && !z->is_bad) {
		unsigned symbol = take_symbol(z, &z->literals), repeat = 1, value = 0;

		if (symbol < 16) {
			value = symbol;
		} else if (symbol == 16) {
			value = at ? lengths[at - 1] : 0;
			z->is_bad |= at == 0;
			repeat = 3 + take_bits(z, 2);
		} else {
			repeat = symbol == 17 ? 3 + take_bits(z, 3) : 11 + take_bits(z, 7);
		}
		if (repeat > count - at) {
			z->is_bad = true;
			return;
		}
		memset(lengths + at, (int)value, repeat);
		at += repeat;
	}
}

static void make_dynamic_codes(struct inflate *z)
{
	static const uint8_t order[] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
					 11, 4,  12, 3, 13, 2, 14, 1, 15 };
	uint8_t lengths[320] = { 0 };
	unsigned literals = take_bits(z, 5) + 257, distances = take_bits(z, 5) + 1;
	unsigned count = take_bits(z, 4) + 4;

	for (unsigned i = 0; i < count; i++)
		lengths[order[i]] = (uint8_t)take_bits(z, 3);
	if (!make_huffman(&z->literals, lengths, sizeof order)) {
		z->is_bad = true;
		return;
	}
	memset(lengths, 0, sizeof lengths);
	take_lengths(z, lengths, literals + distances);
	if (z->is_bad || !make_huffman(&z->literals, lengths, literals) ||
	    !make_huffman(&z->distances, lengths + literals, distances))
		z->is_bad = true;
}

static unsigned take_length(struct inflate *z, unsigned symbol)
{
	unsigned extra = symbol < 265 || symbol >= 285 ? 0 : (symbol - 261) / 4;

	if (symbol >= 286) {
		z->is_bad = true;
		return 0;
	}
	if (symbol < 265)
		return symbol - 254;
	if (symbol == 285)
		return 258;
	return 3 + ((4 + (symbol - 261) % 4) << extra) + take_bits(z, extra);
}

static unsigned take_distance(struct inflate *z)
{
	unsigned symbol = take_symbol(z, &z->distances);
	unsigned extra = symbol < 4 ? 0 : symbol / 2 - 1;

	if (symbol >= DISTANCES) {
		z->is_bad = true;
		return 0;
	}
	if (symbol < 4)
		return symbol + 1;
	return 1 + ((2 + symbol % 2) << extra) + take_bits(z, extra);
}

static void copy_back(struct inflate *z, unsigned symbol)
{
	unsigned len = take_length(z, symbol), distance = take_distance(z);

	if (z->is_bad || distance > z->at || len > z->out_len - z->at) {
		z->is_bad = true;
		return;
	}
	for (; len; len--, z->at++) /* it may repeat what it has just written */
		z->out[z->at] = z->out[z->at - distance];
}

static void take_block(struct inflate *z)
{
	while (!z->is_bad) {
		unsigned symbol = take_symbol(z, &z->literals);

		if (symbol == END_OF_BLOCK)
			return;
		if (symbol > END_OF_BLOCK)
			copy_back(z, symbol);
		else if (z->at < z->out_len)
			z->out[z->at++] = (unsigned char)symbol;
		else
			z->is_bad = true;
	}
}

static void take_stream(struct inflate *z)
{
	uint32_t method = cursor_u8(&z->in), flags = cursor_u8(&z->in), is_last;

	/* deflate, and no dictionary that was agreed on */
	if ((method & 15) != 8 || (method * 256 + flags) % 31 != 0 || flags & 0x20) {
		z->is_bad = true;
		return;
	}
	do {
		is_last = take_bits(z, 1);
		switch (take_bits(z, 2)) {
		case 0:
			copy_stored(z);
			break;
		case 1:
			make_fixed_codes(z);
			take_block(z);
			break;
		case 2:
			make_dynamic_codes(z);
			take_block(z);
			break;
		default:
			z->is_bad = true;
		}
	} while (!is_last && !z->is_bad);
}

int inflate_zlib(const void *in, size_t in_len, void *out, size_t out_len)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	/* cppcheck-suppress invalidFunctionArg */
	struct inflate *z = mmap(NULL, sizeof *z, PROT_READ | PROT_WRITE, flags, -1, 0);
	bool is_good;

	if (z == MAP_FAILED)
		return -ENOMEM;
	z->in = cursor_make(in, in_len);
	z->out = out;
	z->out_len = out_len;
	take_stream(z);
	is_good = !z->is_bad && z->at == out_len;
	munmap(z, sizeof *z);
	return is_good ? 0 : -EINVAL;
}

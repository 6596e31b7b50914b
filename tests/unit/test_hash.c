/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include "base/macros.h"
#include "tap.h"

#define COUNT 100000
#define BUCKETS 1024

/* Is no bucket more than twice as full as the mean? */
static bool is_even(const unsigned *buckets)
{
	for (unsigned i = 0; i < BUCKETS; i++)
		if (buckets[i] > 2 * COUNT / BUCKETS)
			return false;
	return true;
}

static void test_numbers_spread(void)
{
	static const unsigned shifts[] = { 0, 12, 32, 44 };

	for (size_t k = 0; k < ARRAY_LEN(shifts); k++) {
		unsigned low[BUCKETS] = { 0 }, high[BUCKETS] = { 0 };

		for (uint64_t i = 0; i < COUNT; i++) {
			uint64_t h = hash_number(i << shifts[k]);

			low[h % BUCKETS]++;
			high[h >> 54]++;
		}
		CHECK(is_even(low));
		CHECK(is_even(high));
	}
}

static void test_bytes_spread(void)
{
	unsigned low[BUCKETS] = { 0 };

	for (uint32_t i = 0; i < COUNT; i++)
		low[hash_bytes(&i, sizeof i) % BUCKETS]++;
	CHECK(is_even(low));
}

static void test_every_byte_and_the_length_count(void)
{
	char text[100] = { 0 };

	for (size_t len = 0; len < sizeof text; len++) {
		uint64_t whole = hash_bytes(text, len);

		CHECK(whole == hash_bytes(text, len));
		CHECK(whole != hash_bytes(text, len + 1 < sizeof text ? len + 1 : 0));
		for (size_t i = 0; i < len; i++) {
			text[i] ^= (char)0x80;
			CHECK(whole != hash_bytes(text, len));
			text[i] ^= (char)0x80;
		}
	}
}

int main(void)
{
	TAP_CASE(test_numbers_spread);
	TAP_CASE(test_bytes_spread);
	TAP_CASE(test_every_byte_and_the_length_count);
	return tap_done();
}

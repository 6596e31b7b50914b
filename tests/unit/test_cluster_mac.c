/* SPDX-License-Identifier: MIT */
#include "cluster/mac.h"

#include "base/number.h"
#include "tap.h"

/* Source: RFC 4231, test case 1 with its key padded by zeros, which HMAC does itself. */
static void test_hmac(void)
{
	struct hmac_key key = { { 0 } };
	struct envelope_mac mac = hmac_mac(&key);
	unsigned char sum[ENVELOPE_MAC];
	char text[2 * ENVELOPE_MAC + 1];
	memset(key.bytes, 0x0b, 20);
	mac.sign(mac.self, "Hi There", 8, sum);
	number_print_hex(text, sum, sizeof(sum));
	CHECK_STR(text, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	/* Test case 2. */
	memset(key.bytes, 0, sizeof(key.bytes));
	memcpy(key.bytes, "Jefe", 4);
	mac.sign(mac.self, "what do ya want for nothing?", 28, sum);
	number_print_hex(text, sum, sizeof(sum));
	CHECK_STR(text, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

/* GMAC is AES-GCM without a text. Source: the tag of Python's cryptography 38.0.4,
 * AESGCM(key).encrypt( nonce, b"", data), for a key of 32 bytes 0x01 and data of 60 bytes 0, 1,
 * ... 59. */
static void test_gmac(void)
{
	unsigned char key[ENVELOPE_MAC], data[60], sum[ENVELOPE_MAC], other[ENVELOPE_MAC];
	char text[2 * ENVELOPE_MAC + 1];
	struct envelope_mac mac;
	struct gmac *g;

	memset(key, 1, sizeof(key));
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)i;
	g = gmac_new(key);
	if (!CHECK(g != NULL))
		return;
	mac = gmac_mac(g);
	mac.sign(mac.self, data, sizeof(data), sum);
	number_print_hex(text, sum, sizeof(sum));
	CHECK_STR(text, "eedd689d5e0b7a7b412bc9e327629f3d00000000000000000000000000000000");
	for (size_t i = 0; i < sizeof(data); i++) { /* each byte counts */
		data[i] ^= 1;
		mac.sign(mac.self, data, sizeof(data), other);
		CHECK(memcmp(sum, other, sizeof(sum)) != 0);
		data[i] ^= 1;
	}
	mac.sign(mac.self, data, sizeof(data), other);
	CHECK(memcmp(sum, other, sizeof(sum)) == 0);
	gmac_free(g);
	gmac_free(NULL);
}

int main(void)
{
	struct err e;

	if (mac_open(&e) < 0) {
		printf("1..0 # SKIP %s\n", e.msg);
		return 0;
	}
	TAP_CASE(test_hmac);
	TAP_CASE(test_gmac);
	return tap_done();
}

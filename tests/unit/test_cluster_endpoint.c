/* SPDX-License-Identifier: MIT */
#include "cluster/transport/endpoint.h"

#include <errno.h>

#include "cluster/transport/ofi_address.h"
#include "tap.h"

static void test_round_trip(void)
{
	static const char *const rows[] = { "tcp:10.0.0.7:40001", "tcp:127.0.0.1:1",
					    "tcp:[::1]:65535", "tcp:[2001:db8::7]:80" };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct endpoint at;
		char text[ENDPOINT_MAX];
		struct err e = { 0 };

		if (!CHECK_INT(endpoint_parse(rows[i], &at, &e), 0))
			continue;
		endpoint_print(&at, text);
		CHECK_STR(text, rows[i]);
	}
}

static void test_hostile(void)
{
	static const char *const rows[] = {
		"",
		"tcp:",
		"tcp::",
		"tcp:10.0.0.7",
		"tcp:10.0.0.7:",
		"tcp:[]:1",
		"tcp:[::1:7",
		"tcp:[::1]",
		"tcp:localhost:80",
		"10.0.0.7:80",
		"ofi:aabb",
		"tcp:1.2.3.4:x",
		"tcp:1.2.3.4:99999999999",
		"tcp:]:1",
		"tcp:[:1",
		"tcp:1.2.3.4:-1",
		"tcp:%n%n%n:1",
	};
	char longer[4 * ENDPOINT_MAX] = "tcp:";
	struct endpoint at;
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		e.msg[0] = '\0';
		if (!CHECK_INT(endpoint_parse(rows[i], &at, &e), -EINVAL))
			fprintf(stderr, "of '%s'\n", rows[i]);
		CHECK(strstr(e.msg, "is no endpoint of TCP") != NULL);
	}
	memset(longer + 4, '1', sizeof(longer) - 7);
	memcpy(longer + sizeof(longer) - 3, ":1", 3);
	CHECK_INT(endpoint_parse(longer, &at, &e), -EINVAL);
}

static void test_choose(void)
{
	struct endpoint at;
	char text[ENDPOINT_MAX];
	struct err e = { 0 };

	CHECK_INT(endpoint_choose("127.0.0.9", &at, &e), 0);
	endpoint_print_host(&at, text);
	CHECK_STR(text, "127.0.0.9");
	if (CHECK_INT(endpoint_choose("lo", &at, &e), 0)) {
		endpoint_print_host(&at, text);
		CHECK_STR(text, "127.0.0.1");
	}
	CHECK_INT(endpoint_choose("0.0.0.0", &at, &e), -EINVAL);
	CHECK_INT(endpoint_choose("::", &at, &e), -EINVAL);
	CHECK_INT(endpoint_choose("no-such-interface", &at, &e), -EINVAL);
	CHECK(strstr(e.msg, "nor an interface") != NULL);
}

/* Key and address of the word that shows that a node lives. */
#define WORD ":0123456789abcdef:00007f0102030405"

static void test_libfabric(void)
{
	static const char *const rows[] = { "ofi:tcp+ofi_rxm:0200a0f40a4d0001" WORD,
					    "ofi:cxi:00" WORD };
	static const char *const hostile[] = {
		"",
		"ofi:",
		"ofi:cxi",
		"ofi:cxi:00",
		"ofi:cxi:00:00:00",
		"ofi" WORD,
		"ofi:" WORD,
		"ofi:cxi" WORD,
		"ofi:cxi:" WORD,
		"ofi::00" WORD,
		"ofi:cxi:0" WORD,
		"ofi:cxi:0g" WORD,
		"ofi:c;i:00" WORD,
		"ofi:cxi:00" WORD WORD,
		"ofi:cxi:00" WORD "0",
		"ofi:cxi:00:0123456789ABCDEF:0000000000000000",
		"ofi:cxi:00:0123456789abcdef.0000000000000000",
		"ofi:abcdefghijklmnopqrstuvwx:00" WORD,
		"tcp:127.0.0.1:1",
		("ofi:cxi:"
		 "0000000000000000000000000000000000000000000000000000000000000000"
		 "0000000000000000000000000000000000" WORD),
	};
	struct ofi_address a;
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[ENDPOINT_MAX];

		if (!CHECK_INT(ofi_address_parse(rows[i], &a, &e), 0))
			continue;
		ofi_address_print(&a, text);
		CHECK_STR(text, rows[i]);
	}
	CHECK_STR(a.provider, "cxi");
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++)
		CHECK_INT(ofi_address_parse(hostile[i], &a, &e), -EINVAL);
}

int main(void)
{
	TAP_CASE(test_round_trip);
	TAP_CASE(test_hostile);
	TAP_CASE(test_choose);
	TAP_CASE(test_libfabric);
	return tap_done();
}

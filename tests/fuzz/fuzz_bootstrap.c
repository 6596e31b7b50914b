/* SPDX-License-Identifier: MIT */
/*
 * Any bytes taken for what nodes learn about each other: a file of an address book, a line of PMI-1
 * and an endpoint. What is accepted is written back equal.
 */
#include <string.h>

#include "cluster/bootstrap/book.h"
#include "cluster/bootstrap/pmi1.h"
#include "cluster/transport/endpoint.h"
#include "cluster/transport/ofi_address.h"
#include "fuzz.h"

static void check_endpoint(const char *text)
{
	char first[ENDPOINT_MAX], second[ENDPOINT_MAX];
	struct endpoint at, again;
	struct err e;

	if (endpoint_parse(text, &at, &e) < 0)
		return;
	endpoint_print(&at, first);
	FUZZ_CHECK(endpoint_parse(first, &again, &e) == 0);
	endpoint_print(&again, second);
	FUZZ_CHECK(strcmp(first, second) == 0);
}

static void check_address(const char *text)
{
	struct ofi_address a;
	struct err e;
	char again[ENDPOINT_MAX];

	if (ofi_address_parse(text, &a, &e) < 0)
		return;
	ofi_address_print(&a, again);
	FUZZ_CHECK(strcmp(again, text) == 0);
}

static void check_book(struct str file)
{
	CLEANUP(buf_fini) struct buf out = { 0 };
	char text[BOOTSTRAP_TEXT];
	uint32_t size;

	if (!book_parse(file, &size, text))
		return;
	FUZZ_CHECK(strlen(text) < BOOTSTRAP_TEXT);
	book_print(&out, size, text);
	FUZZ_CHECK(out.len == file.len && memcmp(out.data, file.ptr, file.len) == 0);
	check_endpoint(text);
}

static void check_line(struct str line)
{
	char value[BOOTSTRAP_TEXT];

	if (pmi1_find(line, "value", value, sizeof(value))) {
		FUZZ_CHECK(strlen(value) < sizeof(value));
		check_endpoint(value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_fini) struct buf copy = { 0 };

	buf_put(&copy, data, size);
	buf_put(&copy, "", 1);
	FUZZ_CHECK(buf_error(&copy) == 0);
	check_book((struct str){ copy.data, size });
	check_line((struct str){ copy.data, size });
	check_endpoint(copy.data);
	check_address(copy.data);
	return 0;
}

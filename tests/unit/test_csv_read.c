/* SPDX-License-Identifier: MIT */
#include "base/csv_read.h"

#include <errno.h>

#include "base/buf.h"
#include "tap.h"

/* The records as text: cells in <>, records end with ';'. A failure is '!' and the reason. */
static const char *read_all(const char *text, size_t len)
{
	static char shown[512];
	CLEANUP(buf_fini) struct buf copy = { 0 }, out = { 0 };
	struct err e = { 0 };
	struct csv c;
	int rc;

	buf_put(&copy, text, len);
	buf_put_byte(&copy, '\0');
	csv_init(&c, copy.data, len);
	while ((rc = csv_next(&c, &e)) > 0) {
		for (size_t i = 0; i < c.count; i++) {
			CHECK_INT(c.cells[i].text[c.cells[i].len], 0);
			buf_printf(&out, "<%s>", c.cells[i].text);
		}
		buf_put_str(&out, ";");
	}
	if (rc < 0)
		buf_printf(&out, "!%s", e.msg);
	snprintf(shown, sizeof shown, "%s", out.data ? out.data : "");
	return shown;
}

static void test_records(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "\n", "<>;" },
		{ "a,b\n1,2\n", "<a><b>;<1><2>;" },
		{ "a,b\r\n1,\r\n", "<a><b>;<1><>;" },
		{ "\"a\",\"\"\n", "<a><>;" },
		{ "\"say \"\"no\"\"\",x\n", "<say \"no\"><x>;" },
		{ "\"two\nlines, one cell\"\n\"\"\"\"\n", "<two\nlines, one cell>;<\">;" },
		{ "\"a\r\nb\"\r\n", "<a\r\nb>;" },
		{ "a\rb\n", "<a\rb>;" },
		{ "a,b\n1,2", "<a><b>;!line 2: cut short: it has no end" },
		{ "a,", "!line 1: cut short: it has no end" },
		{ "\"a", "!line 1: cut short: a quote has no end" },
		{ "\"", "!line 1: cut short: a quote has no end" },
		{ "\"a\"", "!line 1: cut short: it has no end" },
		{ "\"a\"\"", "!line 1: cut short: a quote has no end" },
		{ "\"a\"b\n", "!line 1: something stands behind the quotes of a cell" },
		{ "\"a\nb\"\nx\"\n",
		  "<a\nb>;!line 3: a quote within a cell that has none at its start" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		CHECK_STR(read_all(rows[i].text, strlen(rows[i].text)), rows[i].want);
}

static void test_nul_bytes(void)
{
	CHECK_STR(read_all("a\0b,c\n", 6), "<a><c>;");
}

static void test_many_cells(void)
{
	char text[2 * CSV_MAX_CELLS + 2];
	struct err e;
	struct csv c;

	memset(text, ',', sizeof text);
	text[CSV_MAX_CELLS - 1] = '\n';
	text[CSV_MAX_CELLS] = '\0';
	csv_init(&c, text, CSV_MAX_CELLS);
	CHECK_INT(csv_next(&c, &e), 1);
	CHECK_INT(c.count, CSV_MAX_CELLS);
	memset(text, ',', sizeof text);
	text[CSV_MAX_CELLS] = '\n';
	text[CSV_MAX_CELLS + 1] = '\0';
	csv_init(&c, text, CSV_MAX_CELLS + 1);
	CHECK_INT(csv_next(&c, &e), -EINVAL);
}

int main(void)
{
	TAP_CASE(test_records);
	TAP_CASE(test_nul_bytes);
	TAP_CASE(test_many_cells);
	return tap_done();
}

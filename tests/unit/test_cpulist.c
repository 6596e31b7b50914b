/* SPDX-License-Identifier: MIT */
#include "target/cpulist.h"

#include <errno.h>

#include "base/buf.h"
#include "tap.h"

static void test_parse(void)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
	} rows[] = {
		{ "0", "0" },         { "0-3", "0 1 2 3" }, { "8,0-1,1\n", "0 1 8" },
		{ "65535", "65535" }, { "", NULL },         { "-1", NULL },
		{ "1-", NULL },       { "3-1", NULL },      { "1,", NULL },
		{ "1 2", NULL },      { "65536", NULL },    { "99999999999999999999", NULL },
		{ "x", NULL },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		CLEANUP(buf_fini) struct buf got = { 0 };
		struct cpulist list = { 0 };
		struct err e;
		int rc = cpulist_parse(rows[i].text, &list, &e);

		CHECK_INT(rc, rows[i].want ? 0 : -EINVAL);
		for (size_t j = 0; j < list.count; j++)
			buf_printf(&got, "%s%u", j ? " " : "", list.cpus[j]);
		if (rows[i].want)
			CHECK_STR(got.data, rows[i].want);
		cpulist_fini(&list);
	}
}

static void test_online(void)
{
	struct cpulist all, some;
	uint32_t missing = 0;
	struct err e;

	if (!CHECK_INT(cpulist_online(NULL, &all, &e), 0))
		return;
	CHECK(all.count > 0);
	CHECK(cpulist_within(&all, &all, &missing));
	CHECK_INT(cpulist_parse("0,65535", &some, &e), 0);
	CHECK(!cpulist_within(&some, &all, &missing));
	CHECK_INT(missing, 65535);
	cpulist_fini(&some);
	cpulist_fini(&all);
	CHECK(cpulist_online("/nowhere", &all, &e) < 0);
}

int main(void)
{
	TAP_CASE(test_parse);
	TAP_CASE(test_online);
	return tap_done();
}

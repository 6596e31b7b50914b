/* SPDX-License-Identifier: MIT */
#include "cachejob/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "tap.h"

static void test_parse(void)
{
	static const struct {
		const char *text;
		int rc;
		size_t count;
		const char *last;
	} rows[] = {
		{ "", 0, 0, NULL },          { "a", 0, 1, "a" },
		{ "a,b,a", 0, 2, "b" },      { "n-1.site,n_2", 0, 2, "n_2" },
		{ "a,,b", -EINVAL, 1, "a" }, { "-oProxyCommand=x", -EINVAL, 0, NULL },
		{ "a b", -EINVAL, 0, NULL }, { "a;rm", -EINVAL, 0, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(hosts_fini) struct hosts h = { 0 };
		struct err e = { 0 };

		if (!CHECK_INT(hosts_parse(&h, rows[i].text, &e), rows[i].rc) ||
		    !CHECK_INT(h.count, rows[i].count))
			fprintf(stderr, "row %zu\n", i);
		else if (h.count)
			CHECK_STR(h.names[h.count - 1], rows[i].last);
	}
}

static void test_file(void)
{
	CLEANUP(hosts_fini) struct hosts h = { 0 };
	char path[] = "/tmp/test_hosts-XXXXXX", self[256] = "";
	struct err e = { 0 };
	uint64_t rank = 9, count = 9;
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f || gethostname(self, sizeof self - 1) < 0)
		return;
	fprintf(f, "# hosts\n\nfirst slots=4\nfirst\n%s ofi+tcp://x\nlast\n", self);
	fclose(f);
	CHECK_INT(hosts_read(&h, path, &e), 0);
	CHECK_INT(h.count, 3);
	CHECK_INT(hosts_find_self(path, &rank, &count, &e), 0);
	CHECK_INT(rank, 1);
	CHECK_INT(count, 3);
	f = fopen(path, "we");
	if (f) {
		fputs("other\n", f);
		fclose(f);
	}
	CHECK_INT(hosts_find_self(path, &rank, &count, &e), -ENOENT);
	unlink(path);
	CHECK_INT(hosts_read(&h, path, &e), -ENOENT);
}

int main(void)
{
	TAP_CASE(test_parse);
	TAP_CASE(test_file);
	return tap_done();
}

/* SPDX-License-Identifier: MIT */
#include "perf/tablemaker.h"

#include <fcntl.h>
#include <unistd.h>

#include "tap.h"

static int ask(struct tablemaker *m, uint32_t key, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	rc = tablemaker_ask(m, key, fd);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Takes what is finished until so many came; a bit for each key that had a table. */
static unsigned take(struct tablemaker *m, unsigned count)
{
	unsigned with_table = 0;

	while (count > 0) {
		struct unwind_table *table;
		uint32_t key;

		tablemaker_wait(m);
		while (count > 0 && tablemaker_take(m, &key, &table)) {
			count--;
			if (table)
				with_table |= 1u << key;
			unwind_table_free(table);
		}
	}
	return with_table;
}

static void test_tables_come_back(void)
{
	struct tablemaker *m = tablemaker_new();

	if (!CHECK(m != NULL))
		return;
	CHECK_INT(ask(m, 0, "/proc/self/exe"), 0);
	CHECK_INT(ask(m, 1, "/etc/passwd"), 0);
	CHECK_INT(ask(m, 2, "/proc/self/exe"), 0);
	CHECK_INT(take(m, 3), 1 << 0 | 1 << 2);
	tablemaker_wait(m); /* nothing was asked: at once */
	tablemaker_free(m);
}

static void test_bad_descriptor(void)
{
	struct tablemaker *m = tablemaker_new();

	if (!CHECK(m != NULL))
		return;
	CHECK(tablemaker_ask(m, 0, -1) < 0);
	tablemaker_free(m);
}

static void test_end_with_work_left(void)
{
	struct tablemaker *m = tablemaker_new();

	if (!CHECK(m != NULL))
		return;
	for (uint32_t key = 0; key < 8; key++)
		CHECK_INT(ask(m, key, "/proc/self/exe"), 0);
	tablemaker_free(m);
}

int main(void)
{
	TAP_CASE(test_tables_come_back);
	TAP_CASE(test_bad_descriptor);
	TAP_CASE(test_end_with_work_left);
	return tap_done();
}

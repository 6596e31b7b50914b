/* SPDX-License-Identifier: MIT */
#include "perf/table_builder.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "tap.h"

static int ask(struct table_builder *m, uint32_t key, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	rc = table_builder_request(m, key, fd);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Takes what is finished until so many came; a bit for each key that had a table. */
static unsigned take(struct table_builder *m, unsigned count)
{
	unsigned with_table = 0;

	while (count > 0) {
		struct unwind_table *table;
		uint32_t key;

		table_builder_wait(m);
		while (count > 0 && table_builder_take(m, &key, &table)) {
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
	struct table_builder *m = table_builder_new();

	if (!CHECK(m != NULL))
		return;
	CHECK_INT(ask(m, 0, "/proc/self/exe"), 0);
	CHECK_INT(ask(m, 1, "/etc/passwd"), 0);
	CHECK_INT(ask(m, 2, "/proc/self/exe"), 0);
	CHECK_INT(take(m, 3), 1 << 0 | 1 << 2);
	table_builder_wait(m); /* nothing was asked: at once */
	table_builder_free(m);
}

static void test_bad_descriptor(void)
{
	struct table_builder *m = table_builder_new();

	if (!CHECK(m != NULL))
		return;
	CHECK(table_builder_request(m, 0, -1) < 0);
	table_builder_free(m);
}

static void test_end_with_work_left(void)
{
	struct table_builder *m = table_builder_new();

	if (!CHECK(m != NULL))
		return;
	for (uint32_t key = 0; key < 8; key++)
		CHECK_INT(ask(m, key, "/proc/self/exe"), 0);
	table_builder_free(m);
}

static volatile sig_atomic_t seen;

static void keep_signal(int number)
{
	seen = number;
}

/* A signal to the process reaches the thread that asks: the other would let its poll(2) sleep on.
 */
static void test_signals_stay_here(void)
{
	struct table_builder *m = table_builder_new();
	struct sigaction action = { .sa_handler = keep_signal }, old;
	sigset_t usr1, pending;

	if (!CHECK(m != NULL))
		return;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigaction(SIGUSR1, &action, &old);
	CHECK_INT(ask(m, 0, "/proc/self/exe"), 0);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	kill(getpid(), SIGUSR1);
	take(m, 1);
	CHECK_INT(seen, 0);
	sigpending(&pending);
	CHECK(sigismember(&pending, SIGUSR1));
	sigprocmask(SIG_UNBLOCK, &usr1, NULL);
	CHECK_INT(seen, SIGUSR1);
	sigaction(SIGUSR1, &old, NULL);
	table_builder_free(m);
}

int main(void)
{
	TAP_CASE(test_tables_come_back);
	TAP_CASE(test_bad_descriptor);
	TAP_CASE(test_end_with_work_left);
	TAP_CASE(test_signals_stay_here);
	return tap_done();
}

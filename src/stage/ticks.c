/* SPDX-License-Identifier: MIT */
#include "stage/ticks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool ticks_are_tsc;

static struct moment {
	uint64_t ticks;
	uint64_t ns;
} began;

/* Reads both clocks; of a few tries the one with the least time between them. */
static struct moment read_both(void)
{
	struct moment best = { 0 };
	uint64_t best_gap = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = ticks();
		uint64_t ns = clock_ns(CLOCK_MONOTONIC);
		uint64_t gap = ticks() - before;

		if (gap < best_gap) {
			best_gap = gap;
			best = (struct moment){ before + gap / 2, ns };
		}
	}
	return best;
}

/* Source: Documentation/ABI/testing/sysfs-devices-system-clocksource. */
static bool kernel_trusts_tsc(void)
{
	char name[16] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, name, sizeof name - 1);
	close(fd);
	return len == 4 && memcmp(name, "tsc\n", 4) == 0;
}

void ticks_start(void)
{
	if (began.ns)
		return;
#if defined(__x86_64__)
	ticks_are_tsc = kernel_trusts_tsc();
#endif
	began = read_both();
}

double ticks_ns(void)
{
	struct moment now;

	if (!ticks_are_tsc)
		return 1;
	do {
		now = read_both();
	} while (now.ns - began.ns < 100000);
	return (double)(now.ns - began.ns) / (double)(now.ticks - began.ticks);
}

const char *ticks_clock(void)
{
	return ticks_are_tsc ? "tsc" : "monotonic";
}

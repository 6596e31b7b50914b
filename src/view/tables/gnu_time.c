/* SPDX-License-Identifier: MIT */
#include "view/tables/gnu_time.h"

#include <unistd.h>

#include "base/clock.h"

const char gnu_time_verbose[] = "\tCommand being timed: \"%C\"\n"
				"\tUser time (seconds): %U\n"
				"\tSystem time (seconds): %S\n"
				"\tPercent of CPU this job got: %P\n"
				"\tElapsed (wall clock) time (h:mm:ss or m:ss): %E\n"
				"\tAverage shared text size (kbytes): %X\n"
				"\tAverage unshared data size (kbytes): %D\n"
				"\tAverage stack size (kbytes): %p\n"
				"\tAverage total size (kbytes): %K\n"
				"\tMaximum resident set size (kbytes): %M\n"
				"\tAverage resident set size (kbytes): %t\n"
				"\tMajor (requiring I/O) page faults: %F\n"
				"\tMinor (reclaiming a frame) page faults: %R\n"
				"\tVoluntary context switches: %w\n"
				"\tInvoluntary context switches: %c\n"
				"\tSwaps: %W\n"
				"\tFile system inputs: %I\n"
				"\tFile system outputs: %O\n"
				"\tSocket messages sent: %s\n"
				"\tSocket messages received: %r\n"
				"\tSignals delivered: %k\n"
				"\tPage size (bytes): %Z\n"
				"\tExit status: %x";

#define NS_PER_HUNDREDTH (NS_PER_S / 100)

static int64_t ns_of(struct timeval t)
{
	return (int64_t)t.tv_sec * NS_PER_S + (int64_t)t.tv_usec * 1000;
}

static void put_seconds(struct buf *to, int64_t ns)
{
	buf_printf(to, "%lld.%02lld", (long long)(ns / NS_PER_S),
		   (long long)(ns % NS_PER_S / NS_PER_HUNDREDTH));
}

static void put_clock(struct buf *to, int64_t ns)
{
	long long seconds = (long long)(ns / NS_PER_S);

	if (seconds >= 3600)
		buf_printf(to, "%lld:%02lld:%02lld", seconds / 3600, seconds % 3600 / 60,
			   seconds % 60);
	else
		buf_printf(to, "%lld:%02lld.%02lld", seconds / 60, seconds % 60,
			   (long long)(ns % NS_PER_S / NS_PER_HUNDREDTH));
}

static void put_cpu_share(struct buf *to, const struct gnu_time *t)
{
	int64_t used = ns_of(t->usage->ru_utime) + ns_of(t->usage->ru_stime);

	if (t->elapsed_ns > 0)
		buf_printf(to, "%lld%%", (long long)(100.0 * (double)used / (double)t->elapsed_ns));
	else
		buf_put_str(to, "?%");
}

/* What the kernel counts, or never counts. False: no such letter. */
static bool put_count(struct buf *to, const struct gnu_time *t, char letter)
{
	const struct rusage *u = t->usage;
	const struct {
		char letter;
		long value;
	} counts[] = {
		{ 'F', u->ru_majflt },
		{ 'R', u->ru_minflt },
		{ 'w', u->ru_nvcsw },
		{ 'c', u->ru_nivcsw },
		{ 'W', u->ru_nswap },
		{ 'I', u->ru_inblock },
		{ 'O', u->ru_oublock },
		{ 's', u->ru_msgsnd },
		{ 'r', u->ru_msgrcv },
		{ 'k', u->ru_nsignals },
		{ 'M', u->ru_maxrss },
		{ 'Z', sysconf(_SC_PAGESIZE) },
		{ 'X', 0 },
		{ 'D', 0 },
		{ 'p', 0 },
		{ 'K', 0 },
		{ 't', 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		if (counts[i].letter != letter)
			continue;
		buf_printf(to, "%ld", counts[i].value);
		return true;
	}
	return false;
}

static void put_value(struct buf *to, const struct gnu_time *t, char letter)
{
	switch (letter) {
	case '%':
		buf_put_str(to, "%");
		break;
	case 'C':
		buf_put_str(to, t->command);
		break;
	case 'E':
		put_clock(to, t->elapsed_ns);
		break;
	case 'e':
		put_seconds(to, t->elapsed_ns);
		break;
	case 'U':
		put_seconds(to, ns_of(t->usage->ru_utime));
		break;
	case 'S':
		put_seconds(to, ns_of(t->usage->ru_stime));
		break;
	case 'P':
		put_cpu_share(to, t);
		break;
	case 'x':
		buf_printf(to, "%d", t->end_signal ? 0 : t->status);
		break;
	default:
		if (!put_count(to, t, letter))
			buf_printf(to, letter ? "?%c" : "?", letter);
	}
}

static void put_escaped(struct buf *to, char letter)
{
	static const char *const texts[] = { ['t'] = "\t", ['n'] = "\n", ['\\'] = "\\" };
	size_t at = (unsigned char)letter;

	if (at < ARRAY_LEN(texts) && texts[at])
		buf_put_str(to, texts[at]);
	else
		buf_printf(to, letter ? "?\\%c" : "?\\", letter);
}

void gnu_time_put(const struct gnu_time *t, const char *format, struct buf *to)
{
	if (t->end_signal)
		buf_printf(to, "Command terminated by signal %d\n", t->end_signal);
	else if (t->status)
		buf_printf(to, "Command exited with non-zero status %d\n", t->status);
	for (const char *at = format; *at; at++) {
		if (*at != '%' && *at != '\\') {
			buf_put(to, at, 1);
			continue;
		}
		if (*at == '%')
			put_value(to, t, at[1]);
		else
			put_escaped(to, at[1]);
		if (at[1])
			at++;
	}
	buf_put_str(to, "\n");
}

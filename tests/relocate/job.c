/* SPDX-License-Identifier: MIT */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static int64_t last_ns, longest_ns;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

bool stopping(void)
{
	return stop;
}

bool going(void)
{
	const struct timespec rest = { .tv_nsec = 200000 };
	int64_t now;

	nanosleep(&rest, NULL);
	now = now_ns();
	if (last_ns && now - last_ns > longest_ns)
		longest_ns = now - last_ns;
	last_ns = now;
	return !stop;
}

void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

void make_record(char record[RECORD + 1], char lane, unsigned count)
{
	snprintf(record, RECORD + 1, "%c%014u\n", lane, count);
}

void put(int fd, char lane, unsigned *count)
{
	char record[RECORD + 1];
	ssize_t n;

	make_record(record, lane, *count);
	n = write(fd, record, RECORD);
	if (n == RECORD)
		++*count;
	else
		wrong("write: %s", n < 0 ? strerror(errno) : "short");
}

void say_records(char lane, unsigned count, const char *file)
{
	printf("records %c %u %s\n", lane, count, file);
}

void say_sum(const void *bytes, size_t len, const char *file)
{
	const unsigned char *at = bytes;
	uint64_t sum = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ at[i]) * UINT64_C(1099511628211);
	printf("sum %llx %s\n", (unsigned long long)sum, file);
}

void wrong(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	printf("wrong %s\n", text);
	fflush(stdout);
}

int must(int result, const char *what)
{
	if (result < 0) {
		wrong("%s: %s", what, strerror(errno));
		exit(1);
	}
	return result;
}

int make(const char *name, int flags)
{
	return must(open(name, flags | O_CREAT, 0644), name);
}

static const struct job_case *find(const struct job_case *cases, const char *name)
{
	for (; cases->name; cases++)
		if (strcmp(cases->name, name) == 0)
			return cases;
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction term = { .sa_handler = on_term, .sa_flags = SA_RESTART };
	const struct job_case *c = argc == 3 ? find(write_cases, argv[1]) : NULL;

	if (!c && argc == 3)
		c = find(share_cases, argv[1]);
	if (!c && argc == 3)
		c = find(other_cases, argv[1]);
	if (!c)
		return 2;
	must(chdir(argv[2]), argv[2]);
	sigaction(SIGTERM, &term, NULL);
	c->run();
	printf("gap_us %lld\n", (long long)longest_ns / 1000);
	fflush(stdout);
	return 0;
}

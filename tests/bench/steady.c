/* SPDX-License-Identifier: MIT */
/*
 * steady FILES MIB THREADS append|map: writes a record of 64 bytes every 0.3 ms, by turns to FILES
 * files (0, 1, ...) of MIB MiB together in the working directory, and knows the longest time
 * between two of them. append: O_APPEND; map: through a shared mapping. The other threads sleep. A
 * line on standard input is answered by that time in ns, and it starts anew; the end of input ends
 * it.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILES 1000
#define RECORD 64

static int fds[MAX_FILES];
static char *maps[MAX_FILES];

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void *rest(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static int make_file(int i, size_t bytes, int is_mapped)
{
	static char block[1 << 20];
	char name[16];

	snprintf(name, sizeof name, "%d", i);
	fds[i] = open(name, O_RDWR | O_CREAT | (is_mapped ? 0 : O_APPEND), 0644);
	memset(block, 'a' + i % 26, sizeof block);
	for (size_t done = 0; done < bytes;) {
		size_t len = bytes - done < sizeof block ? bytes - done : sizeof block;

		if (write(fds[i], block, len) != (ssize_t)len)
			return -1;
		done += len;
	}
	if (is_mapped)
		maps[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0);
	return maps[i] == MAP_FAILED ? -1 : 0;
}

static int write_records(int files, size_t bytes)
{
	const struct timespec wait = { 0, 300000 };
	struct pollfd input = { .fd = 0, .events = POLLIN };
	int64_t last = now_ns(), longest = 0;
	char record[RECORD];

	memset(record, 'r', sizeof record);
	for (unsigned n = 0;; n++) {
		int i = (int)(n % (unsigned)files);
		int64_t now;
		char line[16];

		if (maps[i])
			memcpy(maps[i] + (size_t)n * 4096 % (bytes - RECORD), record, RECORD);
		else if (write(fds[i], record, RECORD) != RECORD)
			return 1;
		now = now_ns();
		longest = now - last > longest ? now - last : longest;
		last = now;
		if (poll(&input, 1, 0) == 1) {
			if (read(0, line, sizeof line) <= 0)
				return 0;
			printf("%lld\n", (long long)longest);
			fflush(stdout);
			longest = 0;
			last = now_ns();
		}
		nanosleep(&wait, NULL);
	}
}

int main(int argc, char **argv)
{
	int files = argc == 5 ? atoi(argv[1]) : 0, threads = files ? atoi(argv[3]) : 0;
	size_t bytes = files ? ((size_t)atoi(argv[2]) << 20) / (size_t)files : 0;
	pthread_attr_t small;
	pthread_t thread;

	if (files < 1 || files > MAX_FILES || bytes < 4096)
		return 2;
	for (int i = 0; i < files; i++)
		if (make_file(i, bytes, strcmp(argv[4], "map") == 0) < 0)
			return 1;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread, &small, rest, NULL) != 0)
			return 1;
	puts("ready");
	fflush(stdout);
	return write_records(files, bytes);
}

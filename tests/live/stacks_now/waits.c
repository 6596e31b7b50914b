/* SPDX-License-Identifier: MIT */
/*
 * waits [FILE]: threads that wait in known functions: two for a condition, one for a pipe, one for
 * a TCP peer, one for the time; one computes; and with FILE one reads that. The first waits for a
 * line of standard input, and ends the program at its end. Prints "ready" before.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noipa))
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile unsigned long turns;
static volatile int was_woken; /* the sleep ended */
static const char *file;

static NOINLINE void wait_condition(void)
{
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&never, &lock);
}

static NOINLINE void wait_pipe(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) == 0)
		while (read(ends[0], &byte, 1) < 0)
			;
}

static NOINLINE void wait_peer(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof at;
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	char byte;

	if (bind(server, (struct sockaddr *)&at, len) == 0 && listen(server, 1) == 0 &&
	    getsockname(server, (struct sockaddr *)&at, &len) == 0 &&
	    connect(client, (struct sockaddr *)&at, len) == 0)
		while (recv(client, &byte, 1, 0) < 0)
			;
}

static NOINLINE void wait_time(void)
{
	const struct timespec day = { .tv_sec = 86400 };

	nanosleep(&day, NULL);
	was_woken = 1;
}

static NOINLINE void compute(void)
{
	for (;;)
		turns++;
}

static NOINLINE void read_file(void)
{
	char bytes[4096];
	int fd = open(file, O_RDONLY);

	while (fd >= 0 && read(fd, bytes, sizeof bytes) > 0)
		;
}

static void (*const functions[])(void) = { wait_condition, wait_condition, wait_pipe, wait_peer,
					   wait_time,      compute,        read_file };

static void *run(void *number)
{
	functions[(size_t)number]();
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	size_t count = sizeof functions / sizeof functions[0] - (argc < 2);
	pthread_t thread;
	char line[8];

	file = argc > 1 ? argv[1] : NULL;
	for (size_t i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, run, (void *)i) != 0)
			return EXIT_FAILURE;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		puts(was_woken ? "awake" : "asleep");
		fflush(stdout);
	}
	return EXIT_SUCCESS;
}

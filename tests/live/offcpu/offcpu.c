/* SPDX-License-Identifier: MIT */
/*
 * offcpu: threads that wait in known ways for known times.
 *
 * Prints "NAME TID WALL CPU WAITED LATE BEYOND": of each thread its wall clock from its making on
 * and its CPU time, and the wall clock of its waiting calls, in nanoseconds. A thread cannot see
 * its own making and end: on a busy machine it may be made up to LATE after the begin of WALL, and
 * end up to BEYOND after the end of it. usage: offcpu MILLISECONDS [NAME...]
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t length_ns;
static int pipes[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void nap(int64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&t, NULL);
}

static void spin(int64_t ns)
{
	int64_t end = now(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

/* Each returns how long its waiting calls took. */

__attribute__((noinline)) static int64_t wait_sleep(void)
{
	int64_t start = now(CLOCK_MONOTONIC);

	nap(10000000);
	return now(CLOCK_MONOTONIC) - start;
}

__attribute__((noinline)) static int64_t wait_pipe(void)
{
	int64_t start = now(CLOCK_MONOTONIC);
	char byte;

	if (read(pipes[0], &byte, 1) != 1)
		return 0;
	return now(CLOCK_MONOTONIC) - start;
}

__attribute__((noinline)) static int64_t wait_lock(void)
{
	int64_t start = now(CLOCK_MONOTONIC), waited;

	pthread_mutex_lock(&lock);
	waited = now(CLOCK_MONOTONIC) - start;
	pthread_mutex_unlock(&lock);
	return waited;
}

__attribute__((noinline)) static int64_t wait_disk(void)
{
	static char block[1 << 16];
	const char *folder = getenv("TMPDIR");
	int64_t start = now(CLOCK_MONOTONIC);
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s/offcpu.XXXXXX", folder ? folder : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		return 0;
	unlink(path);
	if (write(fd, block, sizeof block) > 0)
		fsync(fd);
	close(fd);
	return now(CLOCK_MONOTONIC) - start;
}

/* Holds the lock and feeds the pipe. */
static void *serve(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&lock);
		nap(5000000);
		pthread_mutex_unlock(&lock);
		if (write(pipes[1], "x", 1) != 1)
			break;
		nap(1000000);
	}
	return NULL;
}

/* Two such share a CPU. */
__attribute__((noinline)) static int64_t wait_turn(void)
{
	int64_t wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);

	spin(20000000);
	wall = now(CLOCK_MONOTONIC) - wall;
	cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	return wall - cpu;
}

static const struct job {
	const char *name;
	int64_t (*wait)(void);
} jobs[] = {
	{ "sleep", wait_sleep }, { "pipe", wait_pipe }, { "lock", wait_lock },
	{ "disk", wait_disk },   { "turn", wait_turn }, { "turn2", wait_turn },
};

#define JOBS (sizeof jobs / sizeof jobs[0])

static struct line {
	long tid;
	int64_t start, wall, cpu, waited;
	int64_t first, made; /* when it ran first, and when the call that made it returned */
	int64_t joined;      /* when it was seen to have ended */
} lines[JOBS];

static void *work(void *arg)
{
	struct line *line = arg;
	const struct job *job = &jobs[line - lines];
	int64_t start;

	line->first = now(CLOCK_MONOTONIC);
	pthread_setname_np(pthread_self(), job->name);
	if (job->wait == wait_turn) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(0, &one);
		sched_setaffinity(0, sizeof one, &one);
	}
	line->tid = syscall(SYS_gettid);
	pthread_barrier_wait(&ready);
	start = now(CLOCK_MONOTONIC);
	do {
		line->waited += job->wait();
		spin(2000000);
	} while (now(CLOCK_MONOTONIC) - start < length_ns);
	line->wall = now(CLOCK_MONOTONIC) - line->start;
	line->cpu = now(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static void print_line(const char *name, const struct line *line)
{
	int64_t latest = line->first < line->made ? line->first : line->made;

	printf("%s %ld %lld %lld %lld %lld %lld\n", name, line->tid, (long long)line->wall,
	       (long long)line->cpu, (long long)line->waited, (long long)(latest - line->start),
	       (long long)(line->joined - line->start - line->wall));
}

static int is_chosen(const char *name, int argc, char **argv)
{
	if (argc < 3)
		return 1;
	for (int i = 2; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[JOBS], server;
	unsigned count = 0;
	int stop = 0;

	length_ns = (argc > 1 ? atoll(argv[1]) : 1000) * 1000000;
	for (size_t i = 0; i < JOBS; i++)
		count += (unsigned)is_chosen(jobs[i].name, argc, argv);
	if (pipe(pipes) < 0 || count == 0)
		return 1;
	pthread_barrier_init(&ready, NULL, count);
	pthread_create(&server, NULL, serve, &stop);
	for (size_t i = 0; i < JOBS; i++)
		if (is_chosen(jobs[i].name, argc, argv)) {
			lines[i].start = now(CLOCK_MONOTONIC);
			pthread_create(&threads[i], NULL, work, &lines[i]);
			lines[i].made = now(CLOCK_MONOTONIC);
		}
	for (size_t i = 0; i < JOBS; i++)
		if (is_chosen(jobs[i].name, argc, argv)) {
			pthread_join(threads[i], NULL);
			lines[i].joined = now(CLOCK_MONOTONIC);
		}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(server, NULL);
	for (size_t i = 0; i < JOBS; i++)
		if (lines[i].tid)
			print_line(jobs[i].name, &lines[i]);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Stages of the default profiler, as a library would have them.
 *
 *	heap       the truth table of nested peaks; prints "STAGE PEAK DELTA" in KiB
 *	threads    two threads hold 8 MiB each at once, inside of one stage
 *	list       each way to allocate and free: all is freed at the end
 *	rss        touches 64 MiB in one stage, and gives it back in the next
 *	io         reads and writes 1 MiB
 *	wait       says "ready" inside of a stage and sleeps until it is killed
 *	handled    the same, with a handler of its own; ends with status 7 when there is a report
 *	grown      the same, and has stages after the report, which make it much longer
 *	results    prints a number that the same work always has
 *	fork       a child works, too
 *	daemon     changes its folder and closes all descriptors before it works
 *	blind      has no descriptors to look at /proc with; prints its report
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "auger/stage.h"

#define MIB ((size_t)1 << 20)

static void *volatile kept; /* so that no allocation is optimized away */

static void *take(size_t size)
{
	kept = malloc(size);
	return kept;
}

static void take_and_free(size_t size)
{
	free(take(size));
}

static void run_heap(void)
{
	void *three;

	AUGER_STAGE(auger_default, "parent");
	take_and_free(10 * MIB);
	{
		AUGER_STAGE(auger_default, "child");
		take_and_free(MIB);
	}
	{
		AUGER_STAGE(auger_default, "bigchild");
		take_and_free(20 * MIB);
	}
	three = take(3 * MIB);
	{
		AUGER_STAGE(auger_default, "freer");
		free(three);
		take_and_free(2 * MIB);
	}
	puts("parent 20480 0\nparent.child 1024 0\nparent.bigchild 20480 0\n"
	     "parent.freer 3072 -3072");
}

static pthread_barrier_t barrier;

static void *hold(void *unused)
{
	void *block;

	AUGER_STAGE(auger_default, "hold");
	pthread_barrier_wait(&barrier);
	block = take(8 * MIB);
	memset(block, 1, MIB);
	pthread_barrier_wait(&barrier);
	free(block);
	return unused;
}

static void run_threads(void)
{
	pthread_t threads[2];

	AUGER_STAGE(auger_default, "both");
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, hold, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	puts("both 16384 0");
}

static void run_list(void)
{
	void *blocks[12] = { NULL };
	size_t n = 0;

	AUGER_STAGE(auger_default, "list");
	blocks[n++] = malloc(100000);
	blocks[n++] = calloc(1000, 100);
	blocks[n++] = realloc(NULL, 100000);
	blocks[n++] = realloc(malloc(10), 100000);
	blocks[n++] = realloc(malloc(200000), 100000);
	blocks[n++] = reallocarray(NULL, 1000, 100);
	blocks[n++] = aligned_alloc(4096, 102400);
	blocks[n++] = memalign(64, 100000);
	blocks[n++] = valloc(100000);
	blocks[n++] = pvalloc(100000);
	blocks[n++] = strdup("text");
	if (posix_memalign(&blocks[n], 64, 100000) == 0)
		n++;
	{
		AUGER_STAGE(auger_default, "free");
		while (n)
			free(blocks[--n]);
		kept = malloc(50);
		kept = realloc(kept, 0); /* frees */
	}
	puts("list 1075 0\nlist.free 1075 -1075");
}

static void run_rss(void)
{
	char *pages =
		mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	{
		AUGER_STAGE(auger_default, "touch");
		memset(pages, 1, 64 * MIB);
	}
	{
		AUGER_STAGE(auger_default, "give");
		munmap(pages, 64 * MIB);
		usleep(2000);
	}
}

static void run_io(void)
{
	static char bytes[MIB];
	int in = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int out = open("/dev/null", O_WRONLY | O_CLOEXEC);

	AUGER_STAGE(auger_default, "io");
	if (read(in, bytes, MIB) != (ssize_t)MIB || write(out, bytes, MIB) != (ssize_t)MIB)
		exit(1);
	usleep(2000);
	close(in);
	close(out);
}

#define TWO_STAGES(outer, inner)           \
	AUGER_STAGE(auger_default, outer); \
	AUGER_STAGE(auger_default, inner)

/* As daemons begin: another folder, no descriptors. */
static void run_daemon(void)
{
	if (chdir("/") < 0)
		exit(1);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	{
		AUGER_STAGE(auger_default, "outer");
		TWO_STAGES("inner", "twice");
		memset(take(MIB), 1, MIB);
	}
}

static void run_blind(void)
{
	const struct rlimit none = { 3, 3 };
	struct auger_profiler *p;

	setrlimit(RLIMIT_NOFILE, &none);
	p = auger_profiler_new(AUGER_OPTS(.level = AUGER_FULL));
	{
		AUGER_STAGE(p, "work");
		memset(take(MIB), 1, MIB);
	}
	auger_profiler_write_fd(p, STDOUT_FILENO);
}

static void run_wait(void)
{
	AUGER_STAGE(auger_default, "waiting");
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

static volatile sig_atomic_t came;

static void on_term(int number)
{
	came = number;
}

/* stages: how many there are after the report. */
static void end_after_report(int stages)
{
	char name[200];
	const char *out = getenv("WORK_OUT");
	struct auger_profiler *p;
	struct stat s;

	signal(SIGTERM, on_term);
	p = auger_profiler_new(AUGER_OPTS(.out = out, .on_sigterm = 1));
	AUGER_STAGE(p, "waiting");
	puts("ready");
	fflush(stdout);
	while (!came || stat(out, &s) < 0 || s.st_size == 0)
		usleep(10000);
	for (int i = 0; i < stages; i++) {
		int len = snprintf(name, sizeof name, "%0199d", i);

		auger_stage_begin_name(p, name, (size_t)len);
		auger_stage_end_name(p, name, (size_t)len);
	}
	exit(7);
}

static void run_handled(void)
{
	end_after_report(0);
}

static void run_grown(void)
{
	end_after_report(50);
}

static void run_results(void)
{
	unsigned long sum = 0;

	AUGER_STAGE(auger_default, "all");
	for (unsigned i = 0; i < 20000; i++) {
		AUGER_STAGE(auger_default, "step");
		unsigned *numbers = malloc(100 * sizeof *numbers);

		for (unsigned k = 0; k < 100; k++)
			numbers[k] = (unsigned)(sum >> 3) + k * i;
		for (unsigned k = 0; k < 100; k++)
			sum = sum * 31 + numbers[k];
		free(numbers);
		if (i % 1000 == 0)
			printf("%u %lu\n", i, sum);
	}
}

static void run_fork(void)
{
	AUGER_STAGE(auger_default, "outer");
	if (fork() == 0) {
		AUGER_STAGE(auger_default, "child");
		take_and_free(MIB);
		exit(0);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} rows[] = {
		{ "heap", run_heap },       { "threads", run_threads }, { "list", run_list },
		{ "rss", run_rss },         { "io", run_io },           { "wait", run_wait },
		{ "handled", run_handled }, { "results", run_results }, { "fork", run_fork },
		{ "daemon", run_daemon },   { "grown", run_grown },     { "blind", run_blind },
	};

	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof buffer); /* which would be a block of a stage */
	for (size_t i = 0; argc > 1 && i < sizeof rows / sizeof rows[0]; i++) {
		if (strcmp(argv[1], rows[i].name) == 0) {
			rows[i].run();
			return 0;
		}
	}
	return 2;
}

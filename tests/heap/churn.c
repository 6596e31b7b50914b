/* SPDX-License-Identifier: MIT */
/*
 * churn THREADS [LIBRARY]: threads that allocate, check what they have written, and free, until
 * standard input ends. Then it prints "ok", or what was wrong.
 *
 * While it runs each line on standard input is answered: "held N" adds N blocks of 1000 bytes, by
 * hold(), which stay; "map N" maps N + 1 pages by map_pages(), and unmaps the second; "unnamed"
 * maps a file that has no name and no descriptor; "open" loads the library, calls its
 * churn_plugin(), and leaves it; "close" unloads it; "load" has another thread load it, whose
 * constructor answers; "thread" starts one more thread, which ends at once; "fork" forks a child
 * that allocates, as do handlers of pthread_atfork(), and a thread that has a lock which one of
 * them takes; these are not to wait for anybody. The answer is the line.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING 64
#define NEVER_INLINE __attribute__((noinline))

static bool is_over, is_wrong; /* atomic */

static size_t size_of(unsigned n)
{
	return 16 + n * 37 % 700;
}

NEVER_INLINE static unsigned char *churn(unsigned char *old, unsigned n)
{
	size_t size = size_of(n);
	unsigned char *block;

	if (old && n % 3 == 0)
		block = realloc(old, size);
	else {
		free(old);
		block = n % 5 ? malloc(size) : calloc(1, size);
	}
	if (block)
		memset(block, (int)(n & 0xff), size);
	return block;
}

static void check(const unsigned char *block, unsigned n)
{
	if (!block || block[0] != (n & 0xff) || block[size_of(n) - 1] != (n & 0xff))
		__atomic_store_n(&is_wrong, true, __ATOMIC_RELAXED);
}

static void *work(void *unused)
{
	unsigned char *ring[RING] = { NULL };
	unsigned n = 0;

	for (; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); n++) {
		unsigned char **at = &ring[n % RING];

		if (n >= RING)
			check(*at, n - RING);
		*at = churn(*at, n);
	}
	for (unsigned i = 0; i < RING; i++)
		free(ring[i]);
	return unused;
}

NEVER_INLINE static void hold(int count)
{
	static void *volatile kept;

	while (count-- > 0) {
		void **block = malloc(1000);

		if (block)
			*block = kept;
		kept = block;
	}
}

NEVER_INLINE static void map_pages(int count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, ((size_t)count + 1) * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	if (pages == MAP_FAILED || munmap(pages + page, page) < 0)
		__atomic_store_n(&is_wrong, true, __ATOMIC_RELAXED);
}

static void map_unnamed(void)
{
	int fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);

	if (fd >= 0 && (ftruncate(fd, 4096) < 0 ||
			mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED))
		__atomic_store_n(&is_wrong, true, __ATOMIC_RELAXED);
	if (fd >= 0)
		close(fd);
}

NEVER_INLINE static void *allocate_once(void *unused)
{
	void *volatile block = malloc(50);

	free(block);
	return unused;
}

NEVER_INLINE static void start_one(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, allocate_once, NULL) == 0)
		pthread_join(thread, NULL);
}

/* How often it slept for others. */
static long waits_so_far(void)
{
	struct rusage used = { 0 };

	getrusage(RUSAGE_THREAD, &used);
	return used.ru_nvcsw;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t is_held, is_forking;

static void allocate_fast(void)
{
	long before = waits_so_far();
	void *volatile block = malloc(1 << 20);

	free(block);
	block = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(block, 4096);
	if (waits_so_far() - before > 1000)
		__atomic_store_n(&is_wrong, true, __ATOMIC_RELAXED);
}

static void before_fork(void)
{
	allocate_fast();
	pthread_barrier_wait(&is_forking);
	pthread_mutex_lock(&held);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&held);
	allocate_fast();
}

static void *hold_at_fork(void *unused)
{
	pthread_mutex_lock(&held);
	pthread_barrier_wait(&is_held);
	pthread_barrier_wait(&is_forking);
	allocate_fast();
	pthread_mutex_unlock(&held);
	return unused;
}

static void fork_one(void)
{
	pthread_t holder;
	pid_t child;
	int status = 0;

	if (pthread_create(&holder, NULL, hold_at_fork, NULL) != 0)
		return;
	pthread_barrier_wait(&is_held);
	child = fork();
	if (child == 0) {
		allocate_once(NULL);
		_exit(0);
	}
	pthread_join(holder, NULL);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		__atomic_store_n(&is_wrong, true, __ATOMIC_RELAXED);
}

static void *library;

static void open_library(const char *path)
{
	void (*plugin)(void);

	library = dlopen(path, RTLD_NOW);
	*(void **)&plugin = library ? dlsym(library, "churn_plugin") : NULL;
	if (plugin)
		plugin();
	else
		__atomic_store_n(&is_wrong, true, __ATOMIC_RELAXED);
}

static void *load(void *path)
{
	dlopen(path, RTLD_NOW);
	return NULL;
}

static void start_loading(char *path)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, load, path) == 0)
		pthread_detach(thread);
}

static void answer(const char *line, char *path)
{
	int count;

	if (strcmp(line, "load\n") == 0) {
		start_loading(path);
		return;
	}
	if (sscanf(line, "held %d", &count) == 1)
		hold(count);
	else if (sscanf(line, "map %d", &count) == 1)
		map_pages(count);
	else if (strcmp(line, "open\n") == 0)
		open_library(path);
	else if (strcmp(line, "unnamed\n") == 0)
		map_unnamed();
	else if (strcmp(line, "close\n") == 0 && library)
		dlclose(library);
	else if (strcmp(line, "thread\n") == 0)
		start_one();
	else if (strcmp(line, "fork\n") == 0)
		fork_one();
	fputs(line, stdout);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t threads[64];
	char line[100];

	pthread_barrier_init(&is_held, NULL, 2);
	pthread_barrier_init(&is_forking, NULL, 2);
	pthread_atfork(before_fork, after_fork, after_fork);
	for (int i = 0; i < count && i < 64; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin))
		answer(line, argv[argc > 2 ? 2 : 0]);
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	puts(is_wrong ? "wrong" : "ok");
	return 0;
}

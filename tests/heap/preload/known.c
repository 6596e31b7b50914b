/* SPDX-License-Identifier: MIT */
/* known CASE: allocates what heap.py knows, in functions of names of their own. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define THREADS 8

static void *volatile kept[8192]; /* so that nothing is optimized away */
static volatile int sink;         /* changed behind calls, so that none is a tail call */
static char **arguments;

static NOINLINE void leak_ten(void)
{
	for (int i = 0; i < 10; i++)
		kept[i] = malloc(100);
	sink++;
}

static NOINLINE void free_all(void)
{
	for (int i = 0; i < 50; i++)
		kept[i] = malloc(200);
	for (int i = 0; i < 50; i++)
		free(kept[i]);
	sink++;
}

static int leaks(void)
{
	free_all();
	leak_ten();
	return 0;
}

static NOINLINE void *first_half(void)
{
	void *block = malloc(3000);

	sink++;
	return block;
}

static NOINLINE void *second_half(void)
{
	void *block = malloc(7000);

	sink++;
	return block;
}

static NOINLINE void *after_peak(void)
{
	void *block = malloc(9999);

	sink++;
	return block;
}

/* 10,000 bytes are the most at any time, a million times; 9,999 come later. */
static int peak(void)
{
	for (int i = 0; i < 1000000; i++) {
		void *first = first_half();
		void *second = second_half();

		free(first);
		free(second);
	}
	kept[0] = after_peak();
	return 0;
}

static void *waits(void *answer)
{
	void *volatile mine = malloc(1); /* so that it counts as a thread */

	free(mine);
	pthread_barrier_wait(answer);
	pthread_barrier_wait(answer);
	return NULL;
}

static NOINLINE void *largest(void)
{
	void *block = malloc(10000000);

	sink++;
	return block;
}

/* A block of 10,000,000 bytes beside a second thread: it is the peak after it was freed, too. */
static int large(void)
{
	pthread_barrier_t both;
	pthread_t other;

	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&other, NULL, waits, &both) != 0)
		return 1;
	pthread_barrier_wait(&both);
	free(largest());
	kept[0] = after_peak();
	pthread_barrier_wait(&both);
	return pthread_join(other, NULL);
}

static pthread_barrier_t barrier;

static NOINLINE void *in_thread(void *number)
{
	size_t size = 100000 + (size_t)number;
	void *volatile mine;

	for (int round = 0; round < 20000; round++) {
		void *volatile more = malloc(64);

		free(more);
	}
	mine = malloc(size);
	pthread_barrier_wait(&barrier);
	free(mine);
	sink++;
	return NULL;
}

/* At the barrier all have 100,000 bytes and their number. */
static int threads(void)
{
	pthread_t all[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&all[i], NULL, in_thread, (void *)i);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	return 0;
}

static NOINLINE void is_temporary(void)
{
	for (int i = 0; i < 100; i++) {
		kept[0] = malloc(10);
		free(kept[0]);
	}
	sink++;
}

/* One allocation in between is allowed, two are not. */
static NOINLINE void is_nearly_temporary(void)
{
	for (int i = 0; i < 100; i++) {
		kept[0] = malloc(20);
		kept[1] = malloc(21);
		free(kept[0]);
		free(kept[1]);
	}
	sink++;
}

static NOINLINE void is_not_temporary(void)
{
	for (int i = 0; i < 100; i++) {
		kept[0] = malloc(30);
		kept[1] = malloc(31);
		kept[2] = malloc(32);
		free(kept[0]);
		kept[3] = malloc(33);
		free(kept[1]);
		free(kept[3]);
		free(kept[2]);
	}
	sink++;
}

static int temporary(void)
{
	is_temporary();
	is_nearly_temporary();
	is_not_temporary();
	return 0;
}

static NOINLINE void grows(void)
{
	char *block = malloc(16);

	for (size_t size = 32; size <= 1 << 20; size *= 2)
		block = realloc(block, size);
	kept[0] = block;
	sink++;
}

static NOINLINE void fails(void)
{
	kept[1] = malloc(500);
	errno = 0;
	kept[2] = realloc(kept[1], SIZE_MAX / 2);
	if (kept[2] || errno != ENOMEM)
		abort();
	sink++;
}

static NOINLINE void frees_by_realloc(void)
{
	kept[2] = malloc(600);
	kept[2] = realloc(kept[2], 0);
	sink++;
}

static int reallocs(void)
{
	grows();
	fails();
	frees_by_realloc();
	return 0;
}

static void *race(void *unused)
{
	for (int i = 0; i < 100000; i++) {
		void *volatile block = malloc(1000);

		block = realloc(block, 100000);
		block = realloc(block, 10);
		free(block);
	}
	return unused;
}

/* Blocks that realloc() gives up are another thread's at once. */
static int races(void)
{
	pthread_t all[4];

	mallopt(M_ARENA_MAX, 1);
	for (int i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, race, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
	return 0;
}

static NOINLINE void dig(int depth)
{
	if (depth > 1)
		dig(depth - 1);
	else
		kept[0] = malloc(77);
	sink++;
}

static int deep(void)
{
	dig(2000);
	dig(20000);
	dig(2000);
	return 0;
}

static NOINLINE void by_malloc(void)
{
	kept[0] = malloc(1001);
	kept[1] = malloc(0);
	sink++;
}

static NOINLINE void by_calloc(void)
{
	kept[2] = calloc(2, 501);
	sink++;
}

static NOINLINE void by_realloc(void)
{
	kept[3] = realloc(NULL, 1003);
	sink++;
}

static NOINLINE void by_reallocarray(void)
{
	kept[4] = reallocarray(NULL, 4, 251);
	sink++;
}

static NOINLINE void by_posix_memalign(void)
{
	void *block = NULL;

	if (posix_memalign(&block, 64, 1005) == 0)
		kept[5] = block;
	sink++;
}

static NOINLINE void by_aligned_alloc(void)
{
	kept[6] = aligned_alloc(64, 1024);
	sink++;
}

static NOINLINE void by_memalign(void)
{
	kept[7] = memalign(64, 1007);
	sink++;
}

static NOINLINE void by_valloc(void)
{
	kept[8] = valloc(1008);
	sink++;
}

static NOINLINE void by_pvalloc(void)
{
	kept[9] = pvalloc(1009);
	sink++;
}

static NOINLINE void by_strdup(void)
{
	kept[10] = strdup("nine bytes");
	sink++;
}

static int entries(void)
{
	errno = 12345;
	by_malloc();
	by_calloc();
	by_realloc();
	by_reallocarray();
	by_posix_memalign();
	by_aligned_alloc();
	by_memalign();
	by_valloc();
	by_pvalloc();
	by_strdup();
	for (int i = 0; i < 11; i++)
		if (!kept[i] || (uintptr_t)kept[i] % (i >= 5 && i <= 7 ? 64 : 8))
			return 3;
	free(kept[6]);
	return errno == 12345 ? 0 : 4;
}

static NOINLINE void in_child(void)
{
	kept[100] = malloc(4000);
	sink++;
}

static NOINLINE void in_parent(void)
{
	kept[101] = malloc(5000);
	sink++;
}

static int run_child(pid_t child)
{
	int status;

	if (child == 0) {
		free(kept[101]);
		in_child();
		_exit(0);
	}
	return child < 0 || waitpid(child, &status, 0) != child || status;
}

static int forks(void)
{
	in_parent();
	return run_child(fork()) || run_child((pid_t)syscall(SYS_fork));
}

static void *allocate_for_ever(void *unused)
{
	for (;;) {
		void *volatile block = malloc(100 + (size_t)rand() % 1000);

		free(block);
	}
	return unused;
}

/* Children of a process whose other threads allocate. */
static int forks_in_threads(void)
{
	pthread_t thread;
	int bad = 0;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, allocate_for_ever, NULL);
	in_parent();
	for (int i = 0; i < 50 && !bad; i++)
		bad = run_child(fork());
	return bad;
}

static int execs(void)
{
	in_parent();
	execl(arguments[0], arguments[0], "leaks", (char *)NULL);
	return 9;
}

static int spawns(void)
{
	extern char **environ;
	char leaks_word[] = "leaks", *words[] = { arguments[0], leaks_word, NULL };
	pid_t child;
	int status;

	in_parent();
	if (posix_spawn(&child, arguments[0], NULL, NULL, words, environ) != 0 ||
	    waitpid(child, &status, 0) != child || status)
		return 1;
	child = vfork();
	if (child == 0) {
		execl(arguments[0], arguments[0], "leaks", (char *)NULL);
		_exit(1);
	}
	return waitpid(child, &status, 0) != child || status;
}

static int killed(void)
{
	leaks();
	return raise(SIGKILL);
}

static int aborted(void)
{
	leaks();
	abort();
}

static int ended(void)
{
	leaks();
	_exit(7);
}

static NOINLINE void *on_small_stack(void *unused)
{
	kept[0] = malloc(123);
	sink++;
	return unused;
}

static int small_stacks(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (int i = 0; i < 20; i++)
		if (pthread_create(&thread, &attr, on_small_stack, NULL) != 0 ||
		    pthread_join(thread, NULL) != 0)
			return 1;
	return 0;
}

static ucontext_t outside, inside;

static NOINLINE void on_other_stack(void)
{
	kept[0] = malloc(321);
	sink++;
}

static void coroutine(void)
{
	for (int i = 0; i < 10; i++) {
		on_other_stack();
		swapcontext(&inside, &outside);
	}
}

/* Stacks of the program's own, also ones that were heap before, or end at an unmapped page. */
static int coroutines(void)
{
	size_t size = 65536;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	leak_ten();
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	inside.uc_link = &outside;
	makecontext(&inside, coroutine, 0);
	for (int i = 0; i < 10; i++)
		swapcontext(&outside, &inside);
	leak_ten();
	return 0;
}

static NOINLINE void many_stacks(int bits)
{
	if (bits > 0x1000)
		kept[1] = malloc(1);
	else if (bits & 1)
		many_stacks(bits * 2);
	else
		many_stacks(bits * 2 + 1);
	sink++;
}

static NOINLINE void branch(int depth)
{
	if (depth == 0) {
		kept[0] = malloc(1);
		return;
	}
	branch(depth - 1);
	sink++;
	branch(depth - 1);
	sink++;
}

/* 2^13 stacks, after all descriptors were closed. */
static int closes(void)
{
	leak_ten();
	for (int fd = 3; fd < 2000; fd++)
		close(fd);
	many_stacks(1);
	branch(13);
	return 0;
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	void *volatile block = malloc((size_t)number);

	free(block);
	signals++;
}

/* Handlers that allocate while the program does not. */
static int handles(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	stack_t other = { .ss_size = 65536 };

	other.ss_sp = mmap(NULL, other.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	sigaltstack(&other, NULL);
	for (int i = 0; i < 100; i++) {
		action.sa_flags = i % 2 ? SA_ONSTACK : 0;
		sigaction(SIGUSR1, &action, NULL);
		raise(SIGUSR1);
	}
	leak_ten();
	return signals == 100 ? 0 : 1;
}

/* PLUGIN exports void *plugin_make(size_t). */
static int plugins(void)
{
	void *(*make)(size_t);

	for (int i = 0; i < 200; i++) {
		void *plugin = dlopen(arguments[2 + i % 2], RTLD_NOW | RTLD_LOCAL);

		if (!plugin)
			return 1;
		*(void **)&make = dlsym(plugin, i % 2 ? "other_make" : "plugin_make");
		kept[i] = make(48);
		dlclose(plugin);
	}
	return 0;
}

static NOINLINE void many_small(void)
{
	for (int i = 0; i < 1000000; i++) {
		kept[0] = malloc(64);
		free(kept[0]);
	}
	for (int i = 0; i < 8192; i++)
		kept[i] = malloc(5000);
	sink++;
}

static int samples(void)
{
	many_small();
	return 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} cases[] = {
	{ "leaks", leaks },
	{ "peak", peak },
	{ "large", large },
	{ "threads", threads },
	{ "temporary", temporary },
	{ "reallocs", reallocs },
	{ "races", races },
	{ "deep", deep },
	{ "entries", entries },
	{ "forks", forks },
	{ "forks_in_threads", forks_in_threads },
	{ "execs", execs },
	{ "spawns", spawns },
	{ "killed", killed },
	{ "aborted", aborted },
	{ "ended", ended },
	{ "small_stacks", small_stacks },
	{ "coroutines", coroutines },
	{ "closes", closes },
	{ "handles", handles },
	{ "plugins", plugins },
	{ "samples", samples },
};

int main(int argc, char **argv)
{
	arguments = argv;
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run();
	return 2;
}

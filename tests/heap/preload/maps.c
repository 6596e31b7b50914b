/* SPDX-License-Identifier: MIT */
/*
 * maps CASE: maps memory by functions of known sums. P is a page.
 *
 *	pieces	   keeps_ends maps 10 P and unmaps 2 in the middle;
 *		   ends_in_pieces maps 6 P, and unmaps them in 3 calls;
 *		   is_odd maps 100 bytes more than P
 *	over	   is_covered maps 8 P, of which covers maps 3 again
 *	moves	   grows: 4 P become 4000 P, and then 2 P
 *	breaks	   raises the break by 3000 bytes, and lowers it by 1000
 *	fails	   fails: an unaligned munmap, no bytes, one that is too large to grow
 *	temporary  is_temporary maps and unmaps P 100 times
 *	blocks	   allocates 100 blocks of 1 MiB, which malloc maps
 *	threads	   creates 4 threads with stacks of 1 MiB and guards of P, and one
 *		   with a stack of its own; the first stays
 *	races	   4 threads map 3 P 20000 times and unmap them in pieces, while
 *		   each other's addresses come and go
 *	blocked	   a munmap() that waits for another thread (userfaultfd) does not
 *		   keep that one from mapping
 *	forks	   in_parent maps 7 P; the child unmaps them, and maps 5
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static size_t page;
static volatile int sink;
static int status; /* of the program: 1 when something is not as it was asked for */

static void want(int is_right)
{
	if (!is_right)
		__atomic_store_n(&status, 1, __ATOMIC_RELAXED);
}

static void *map_at(void *at, size_t len, int more)
{
	void *pages =
		mmap(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);

	want(pages != MAP_FAILED);
	return pages;
}

NOINLINE static char *keeps_ends(void)
{
	char *pages = map_at(NULL, 10 * page, 0);

	want(munmap(pages + 4 * page, 2 * page) == 0);
	return pages;
}

NOINLINE static void ends_in_pieces(void)
{
	char *pages = map_at(NULL, 6 * page, 0);

	want(munmap(pages + 2 * page, page + 1) == 0);
	want(munmap(pages, 2 * page) == 0);
	want(munmap(pages + 4 * page, 2 * page) == 0);
	sink++;
}

NOINLINE static void is_odd(void)
{
	map_at(NULL, page + 100, 0);
	sink++;
}

static void pieces(void)
{
	keeps_ends();
	ends_in_pieces();
	is_odd();
}

NOINLINE static char *is_covered(void)
{
	char *pages = map_at(NULL, 8 * page, 0);

	sink++;
	return pages;
}

NOINLINE static void covers(char *pages)
{
	want(map_at(pages + 2 * page, 3 * page, MAP_FIXED) == pages + 2 * page);
	sink++;
}

static void over(void)
{
	covers(is_covered());
}

NOINLINE static void grows(void)
{
	char *pages = map_at(NULL, 4 * page, 0);

	pages = mremap(pages, 4 * page, 4000 * page, MREMAP_MAYMOVE);
	want(pages != MAP_FAILED);
	want(mremap(pages, 4000 * page, 2 * page, 0) == pages);
}

NOINLINE static void breaks(void)
{
	char *before = sbrk(0);

	want(sbrk(3000) == before);
	want(brk(before + 2000) == 0);
	want(sbrk(0) == before + 2000);
}

NOINLINE static void fails(void)
{
	char *pages = map_at(NULL, 2 * page, 0);

	want(munmap(pages + 1, page) < 0);
	want(munmap(pages, 0) < 0);
	want(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	want(mremap(pages, 2 * page, SIZE_MAX / 2, MREMAP_MAYMOVE) == MAP_FAILED);
}

NOINLINE static void is_temporary(void)
{
	for (int i = 0; i < 100; i++)
		want(munmap(map_at(NULL, page, 0), page) == 0);
}

NOINLINE static void blocks(void)
{
	for (int i = 0; i < 100; i++)
		want(malloc(1 << 20) != NULL);
}

static pthread_barrier_t all_there;

static void *wait_once(void *unused)
{
	pthread_barrier_wait(&all_there);
	return unused;
}

static void *wait_long(void *unused)
{
	pthread_barrier_wait(&all_there);
	pause();
	return unused;
}

NOINLINE static void creates(pthread_t *thread, const pthread_attr_t *a, int is_first)
{
	want(pthread_create(thread, a, is_first ? wait_long : wait_once, NULL) == 0);
	sink++;
}

static void threads(void)
{
	static _Alignas(4096) char own[65536];
	pthread_t made[5];
	pthread_attr_t a;

	pthread_barrier_init(&all_there, NULL, 6);
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 1 << 20);
	pthread_attr_setguardsize(&a, page);
	for (int i = 0; i < 4; i++)
		creates(&made[i], &a, i == 0);
	pthread_attr_setstack(&a, own, sizeof own);
	creates(&made[4], &a, 0);
	pthread_barrier_wait(&all_there);
	for (int i = 1; i < 5; i++)
		pthread_join(made[i], NULL);
}

NOINLINE static void *race(void *unused)
{
	for (int i = 0; i < 20000; i++) {
		char *pages = map_at(NULL, 3 * page, 0);

		pages[page] = 1;
		want(munmap(pages + page, page) == 0);
		if (i % 2)
			want(map_at(pages + 2 * page, page, MAP_FIXED) == pages + 2 * page);
		want(munmap(pages + 2 * page, page) == 0);
		want(munmap(pages, page) == 0);
	}
	return unused;
}

static void races(void)
{
	pthread_t made[4];

	for (int i = 0; i < 4; i++)
		want(pthread_create(&made[i], NULL, race, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(made[i], NULL);
}

/* -1: not allowed here. */
static int watch_unmaps(char *pages, size_t len)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_EVENT_UNMAP };
	struct uffdio_register range = { .range = { (uintptr_t)pages, len },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 &&
	    (ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &range) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

NOINLINE static void *waits_to_unmap(void *pages)
{
	want(munmap(pages, 4 * page) == 0);
	return NULL;
}

/* How often it slept for others. */
static long waits_so_far(void)
{
	struct rusage used;

	want(getrusage(RUSAGE_THREAD, &used) == 0);
	return used.ru_nvcsw;
}

static void blocked(void)
{
	char *pages = map_at(NULL, 4 * page, 0), *more;
	int fd = watch_unmaps(pages, 4 * page);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct uffd_msg message;
	pthread_t thread;
	long before;

	if (fd < 0)
		return;
	want(pthread_create(&thread, NULL, waits_to_unmap, pages) == 0);
	want(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
	before = waits_so_far();
	more = map_at(NULL, 2 * page, 0);
	want(munmap(more, 2 * page) == 0);
	want(waits_so_far() - before < 1000);
	want(read(fd, &message, sizeof message) == sizeof message);
	pthread_join(thread, NULL);
	close(fd);
}

NOINLINE static char *in_parent(void)
{
	char *pages = map_at(NULL, 7 * page, 0);

	sink++;
	return pages;
}

NOINLINE static void in_child(char *pages)
{
	want(munmap(pages, 7 * page) == 0);
	map_at(NULL, 5 * page, 0);
	sink++;
}

static void forks(void)
{
	char *pages = in_parent();
	pid_t child = fork();
	int ended = 0;

	if (child == 0) {
		in_child(pages);
		_exit(status);
	}
	want(child > 0 && waitpid(child, &ended, 0) == child && ended == 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "pieces", pieces },   { "over", over },       { "moves", grows },
		      { "breaks", breaks },   { "fails", fails },     { "temporary", is_temporary },
		      { "blocks", blocks },   { "threads", threads }, { "races", races },
		      { "blocked", blocked }, { "forks", forks } };

	page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	return status;
}

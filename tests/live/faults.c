/* SPDX-License-Identifier: MIT */
/*
 * faults: touches known numbers of pages in each kind of memory, and says where they are.
 *
 * "NAME START END PAGES" of each; NAME is also that of the function that touches them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* No tail calls: each function is on the stack. */
#define STAY() __asm__ volatile("")

#define PAGE ((size_t)4096)

static char bss[300 * PAGE];

__attribute__((noinline)) static void touch(const char *name, volatile char *start, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		start[i * PAGE] = 1;
	printf("%s %lu %lu %zu\n", name, (unsigned long)start,
	       (unsigned long)(start + pages * PAGE), pages);
}

static char *map(size_t pages, int flags, int fd)
{
	char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (memory == MAP_FAILED) {
		perror("faults: mmap");
		exit(1);
	}
	madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
	return memory;
}

__attribute__((noinline)) static void touch_anon(void)
{
	touch("anon", map(700, MAP_PRIVATE | MAP_ANONYMOUS, -1), 700);
	STAY();
}

__attribute__((noinline)) static void touch_shared(void)
{
	touch("shared", map(400, MAP_SHARED | MAP_ANONYMOUS, -1), 400);
	STAY();
}

__attribute__((noinline)) static void touch_heap(void)
{
	char *memory = sbrk((intptr_t)(501 * PAGE));

	memory += PAGE - (unsigned long)memory % PAGE;
	madvise(memory, 500 * PAGE, MADV_NOHUGEPAGE);
	touch("heap", memory, 500);
	STAY();
}

__attribute__((noinline)) static void touch_stack(void)
{
	char memory[200 * PAGE];

	touch("stack", memory, 200);
}

static void *run_thread(void *unused)
{
	char memory[150 * PAGE];

	touch("thread", memory, 150);
	return unused;
}

__attribute__((noinline)) static void touch_file(const char *name, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)(100 * PAGE)) < 0) {
		perror(path);
		exit(1);
	}
	touch(name, map(100, MAP_SHARED, fd), 100);
	unlink(path);
	close(fd);
}

/* argv: a file, and one of shared memory */
int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3)
		return 2;
	/* large pages would be one fault for many */
	madvise(bss + PAGE - (unsigned long)bss % PAGE, sizeof bss - PAGE, MADV_NOHUGEPAGE);
	touch("bss", bss, 300);
	touch_anon();
	touch_shared();
	touch_heap();
	touch_stack();
	pthread_create(&thread, NULL, run_thread, NULL);
	pthread_join(thread, NULL);
	touch_file("file", argv[1]);
	touch_file("shm", argv[2]);
	return 0;
}

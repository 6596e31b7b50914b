/* SPDX-License-Identifier: MIT */
/*
 * answer: a program that knows what it allocates, by function.
 *
 *	leak	10 blocks of 1,000 bytes, never freed; by a wrapper, xmalloc
 *	hold	64 blocks of 16,384 bytes, all held at once: the peak; then freed
 *	temporary	500 blocks of 48 bytes, each freed at once
 *	grow	a block that a realloc moves to 100,000 bytes while hold's are held, then freed
 *
 * Arguments, in turn: "wait" prints "ready" at the peak and waits for a line of input; "exit=N"
 *ends with status N; "kill=N" by signal N; "child" does all of it in a child, too; "exec" executes
 *itself with the arguments behind; "eat" allocates and fills blocks of 1 MiB as long as it can, and
 *prints a line after each.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif

static void *volatile sink; /* so that no allocation is optimized away */

KEEP static void *xmalloc(size_t size)
{
	void *volatile block = malloc(size); /* no tail call */

	return block;
}

KEEP static void leak(void)
{
	for (int i = 0; i < 10; i++)
		sink = xmalloc(1000);
}

KEEP static void hold(void **blocks)
{
	for (int i = 0; i < 64; i++)
		blocks[i] = malloc(16384);
}

KEEP static void temporary(void)
{
	for (int i = 0; i < 500; i++) {
		sink = malloc(48);
		free(sink);
	}
}

KEEP static void *grow(void)
{
	void *block = malloc(100), *behind;

	sink = malloc(32); /* behind it, so that it cannot grow in place */
	behind = sink;
	block = realloc(block, 100000);
	free(behind);
	return block;
}

/* With a system call where a stream would allocate. */
static void wait_for_line(void)
{
	char c;

	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		_exit(99);
	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		;
}

KEEP static void work(int is_waiting)
{
	void *blocks[64], *block;

	leak();
	temporary();
	hold(blocks);
	block = grow();
	if (is_waiting)
		wait_for_line();
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
	free(block);
}

KEEP static void eat(void)
{
	void *block;

	while ((block = malloc(1 << 20)) != NULL) {
		memset(block, 1, 1 << 20);
		sink = block;
		if (write(STDOUT_FILENO, "\n", 1) != 1)
			return;
	}
}

int main(int argc, char **argv)
{
	int status = 0, number = 0, is_waiting = 0, is_parent = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "exec") == 0) {
			char *const *rest = argv + i;

			execv("/proc/self/exe", rest);
			return 98;
		}
		if (strcmp(argv[i], "eat") == 0)
			eat();
		is_waiting |= strcmp(argv[i], "wait") == 0;
		is_parent |= strcmp(argv[i], "child") == 0;
		if (strncmp(argv[i], "exit=", 5) == 0)
			status = atoi(argv[i] + 5);
		if (strncmp(argv[i], "kill=", 5) == 0)
			number = atoi(argv[i] + 5);
	}
	if (is_parent) {
		pid_t child = fork();

		if (child == 0) {
			work(0);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	work(is_waiting);
	if (number)
		raise(number);
	return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * trees SEED: random trees of calls that allocate, with frames of changing size, and locals full of
 * return addresses that were valid once. Recorded by a library that walks each stack twice.
 */
#include <alloca.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define DEPTH_MAX 60

typedef void visit(int depth);

static visit plain, roomy, wide, framed, aligned, jumping;
static visit *const visits[] = { plain, roomy, wide, framed, plain, roomy, wide, framed };

static uint64_t state;
static volatile int sink;
static void *volatile block;
static jmp_buf back;

static unsigned random_below(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(state >> 33) % n;
}

static void allocate(void)
{
	block = malloc(random_below(200));
	free(block);
}

static void go_on(int depth)
{
	unsigned calls = random_below(3);

	if (random_below(3) == 0)
		allocate();
	for (unsigned i = 0; i < calls && depth < DEPTH_MAX; i++)
		visits[random_below(8)](depth + 1);
	if (random_below(4) == 0)
		allocate();
	if (random_below(200) == 0)
		aligned(depth);
	if (random_below(400) == 0)
		jumping(depth);
}

static NOINLINE void plain(int depth)
{
	go_on(depth);
	sink++;
}

/* What is here was written by other calls at another depth. */
static NOINLINE void roomy(int depth)
{
	volatile uint64_t words[37];

	words[random_below(37)] = (uintptr_t)__builtin_return_address(0);
	go_on(depth);
	sink += (int)words[0];
}

static NOINLINE void wide(int depth)
{
	size_t size = 16 + random_below(500);
	char *text = alloca(size);

	memset(text, 0, size / 2);
	go_on(depth);
	sink += text[0];
}

/* Room of no fixed size: found by the frame pointer. */
static NOINLINE void framed(int depth)
{
	char *text = alloca(1 + random_below(3000));

	go_on(depth);
	go_on(depth + 5);
	sink += text == NULL;
}

static NOINLINE void aligned(int depth)
{
	_Alignas(64) volatile char room[64];

	room[0] = 1;
	allocate();
	if (depth < DEPTH_MAX)
		plain(depth + 20);
	sink += room[0];
}

static NOINLINE void jumping(int depth)
{
	if (depth > 40)
		longjmp(back, 1);
	sink++;
}

int main(int argc, char **argv)
{
	volatile int i = 0;

	state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	setjmp(back);
	while (i++ < 300)
		visits[random_below(8)](0);
	return 0;
}

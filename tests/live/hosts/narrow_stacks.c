/* SPDX-License-Identifier: MIT */
/*
 * narrow_stacks: a program of i386 without a C library and without frame pointers: gcc -m32 -O2
 * -fomit-frame-pointer -nostdlib -static -fno-pie. Half of the time it is in work() below inner(),
 * middle() and outer(), half in a signal handler that interrupted inner(), which the kernel makes
 * return by its vdso; and it sleeps in rest(). It exits with 5.
 */
#define NOINLINE __attribute__((noinline))

enum {
	SIGUSR1 = 10,
	SYS_exit = 1,
	SYS_getpid = 20,
	SYS_kill = 37,
	SYS_sigaction = 67,
	SYS_nanosleep = 162
};

struct sigaction {
	void (*handler)(int);
	unsigned long mask, flags;
	void (*restorer)(void);
};

static volatile int sink;

static int call(int number, int a, long b, long c)
{
	int ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return ret;
}

static NOINLINE void work(void)
{
	for (int i = 0; i < 4000000; i++)
		sink++;
}

static NOINLINE void handler(int number)
{
	work();
	sink += number;
}

static NOINLINE int inner(int n)
{
	volatile int room[40];

	room[n % 40] = n;
	call(SYS_kill, call(SYS_getpid, 0, 0, 0), SIGUSR1, 0);
	work();
	return room[n % 40] + sink;
}

static NOINLINE int middle(int n)
{
	return n > 3 ? middle(n - 1) + sink : inner(n) + 1;
}

static NOINLINE void rest(void)
{
	const long time[] = { 0, 2000000 };

	sink += call(SYS_nanosleep, (int)time, 0, 0);
}

static NOINLINE int outer(int n)
{
	return middle(n) + sink;
}

__attribute__((used)) static void begin(void)
{
	static struct sigaction action = { handler, 0, 0, 0 };

	call(SYS_sigaction, SIGUSR1, (long)&action, 0);
	for (int i = 0; i < 60; i++) {
		sink += outer(8);
		rest();
	}
	call(SYS_exit, 5, 0, 0);
}

__asm__(".globl _start\n.type _start, @function\n_start:\n.cfi_startproc\n.cfi_undefined eip\n"
	"call begin\nhlt\n.cfi_endproc\n.size _start, .-_start\n");

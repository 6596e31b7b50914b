/* SPDX-License-Identifier: MIT */
/*
 * jit MS: works MS milliseconds in code that it makes at run time, and names it in a perf map.
 * Prints "made_up_function NANOSECONDS".
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

typedef void made(void);

#if defined(__x86_64__)
/* push %rbp; mov %rsp,%rbp; mov $100000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9, 0xa0, 0x86, 0x01,
				      0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3 };
#endif

static NOINLINE int64_t call_made(made *function, int64_t ns)
{
	int64_t start = cpu_ns();

	while (cpu_ns() - start < ns)
		function();
	return cpu_ns() - start;
}

int main(int argc, char **argv)
{
	int64_t ns = (argc > 1 ? atol(argv[1]) : 200) * INT64_C(1000000);
	union {
		void *bytes;
		made *function;
	} at = { .bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0) };
	char path[64];
	FILE *f;

	if (at.bytes == MAP_FAILED)
		return 1;
	memcpy(at.bytes, code, sizeof code);
	if (mprotect(at.bytes, 4096, PROT_READ | PROT_EXEC) != 0)
		return 1;
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f)
		return 1;
	fprintf(f, "%lx %zx made_up_function\n", (unsigned long)at.bytes, sizeof code);
	fclose(f);
	printf("made_up_function %lld\n", (long long)call_made(at.function, ns));
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * jit MS [FOLDER]: works MS milliseconds in code that it makes at run time, and names it in a perf
 * map, or in FOLDER in a jitdump, as the specification has it. Prints "made_up_function
 * NANOSECONDS".
 */
#include <stdbool.h>
#include <stdint.h>
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

static bool write_perf_map(const void *at)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f)
		return false;
	fprintf(f, "%lx %zx made_up_function\n", (unsigned long)at, sizeof code);
	return fclose(f) == 0;
}

/* Maps a page of it as code: so recorders learn of the file. */
static bool write_jitdump(const void *at, const char *folder)
{
	static const char name[] = "made_up_function";
	const uint64_t start = (uintptr_t)at;
	const uint32_t header[10] = { 0x4a695444, 1, sizeof header };
	const uint32_t load[4] = { 0, sizeof load + 8 + 32 + sizeof name + sizeof code };
	const uint32_t ids[2] = { (uint32_t)getpid(), (uint32_t)getpid() };
	const uint64_t where[4] = { start, start, sizeof code, 1 };
	char path[4096];
	FILE *f;
	bool is_mapped;

	snprintf(path, sizeof path, "%s/jit-%d.dump", folder, (int)getpid());
	f = fopen(path, "w+");
	if (!f)
		return false;
	is_mapped =
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) != MAP_FAILED;
	fwrite(header, sizeof header, 1, f);
	fwrite(load, sizeof load, 1, f);
	fwrite(ids, sizeof ids, 1, f);
	fwrite(where, sizeof where, 1, f);
	fwrite(name, sizeof name, 1, f);
	fwrite(code, sizeof code, 1, f);
	return fclose(f) == 0 && is_mapped;
}

int main(int argc, char **argv)
{
	int64_t ns = (argc > 1 ? atol(argv[1]) : 200) * INT64_C(1000000);
	union {
		void *bytes;
		made *function;
	} at = { .bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0) };

	if (at.bytes == MAP_FAILED)
		return 1;
	memcpy(at.bytes, code, sizeof code);
	if (mprotect(at.bytes, 4096, PROT_READ | PROT_EXEC) != 0)
		return 1;
	if (!(argc > 2 ? write_jitdump(at.bytes, argv[2]) : write_perf_map(at.bytes)))
		return 1;
	printf("made_up_function %lld\n", (long long)call_made(at.function, ns));
	return 0;
}

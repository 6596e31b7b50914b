/* SPDX-License-Identifier: MIT */
/*
 * matrices: a molecular-modeling start-up reduced to its memory behavior.
 *
 * Two dozen three-dimensional matrices of doubles, 8 MB each, get their first values. Every
 * first touch of a page is a page fault, so that half of the time is the kernel's: on top of
 * initprm in a flame graph. The last phase only computes.
 *
 * usage: matrices [ROUNDS [huge]]
 *
 * ROUNDS: default 6; each gives the memory back and starts anew. huge: in huge pages as long as the
 * machine has some (vm.nr_hugepages), and in small ones when copies of the program have taken them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define SIDE ((size_t)100)
#define CELLS (SIDE * SIDE * SIDE)
#define MATRICES 24
#define PARAMETER_MATRICES 18 /* first written by initprm, the rest by kvdw */

static double *matrices[MATRICES];

#define HUGE_PAGE ((size_t)2 << 20)

static size_t matrix_bytes(void)
{
	return (CELLS * sizeof(double) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

static void *map_matrix(int huge)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *memory = MAP_FAILED;

	if (huge)
		memory = mmap(NULL, matrix_bytes(), PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, -1,
			      0);
	if (memory == MAP_FAILED) {
		memory = mmap(NULL, matrix_bytes(), PROT_READ | PROT_WRITE, flags, -1, 0);
		if (memory == MAP_FAILED) {
			perror("matrices: mmap");
			exit(1);
		}
		/* the same small pages everywhere, whatever the machine's default */
		madvise(memory, matrix_bytes(), MADV_NOHUGEPAGE);
	}
	return memory;
}

/* The last first: what there is of huge pages goes to kvdw's, then to initprm's. */
static void map_matrices(int huge)
{
	for (size_t m = MATRICES; m-- > 0;)
		matrices[m] = map_matrix(huge);
}

static void unmap_matrices(void)
{
	for (size_t m = 0; m < MATRICES; m++)
		munmap(matrices[m], matrix_bytes());
}

__attribute__((always_inline)) static inline void fill(size_t first, size_t last, double value)
{
	for (size_t i = 0; i < CELLS; i++)
		for (size_t m = first; m < last; m++)
			matrices[m][i] = value;
}

__attribute__((noinline)) static void initprm(void)
{
	fill(0, PARAMETER_MATRICES, 0.5);
}

__attribute__((noinline)) static void kvdw(void)
{
	fill(PARAMETER_MATRICES, MATRICES, 0.25);
}

__attribute__((noinline)) static double energy(void)
{
	double sum = 0;

	for (int pass = 0; pass < 4; pass++)
		for (size_t i = 0; i < CELLS; i++)
			sum += matrices[0][i] * matrices[MATRICES - 1][i];
	return sum;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 6;
	int huge = argc > 2 && strcmp(argv[2], "huge") == 0;
	struct rusage usage;
	double sum = 0;

	for (int i = 0; i < rounds; i++) {
		map_matrices(huge);
		initprm();
		kvdw();
		sum += energy();
		unmap_matrices();
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("energy %.1f, %ld minor page faults\n", sum, usage.ru_minflt);
	return 0;
}

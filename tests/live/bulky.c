/* SPDX-License-Identifier: MIT */
/*
 * bulky: runs in its first pages for two minutes. Its unwinding tables lie between a megabyte of
 * constants and one of data.
 */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "spin.h"

#define BULK ((size_t)1 << 20)

static const char before[BULK] __attribute__((used)) = { 1 };
static char after[BULK] __attribute__((used)) = { 1 };

static NOINLINE int64_t hot(void)
{
	return spin(1000000);
}

int main(void)
{
	alarm(120); /* nobody waits for it */
	puts("runs");
	fflush(stdout);
	while (hot() > 0)
		;
	return 0;
}

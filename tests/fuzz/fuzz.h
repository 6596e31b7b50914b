/* SPDX-License-Identifier: MIT */
/*
 * fuzz: what the fuzz targets share.
 *
 * A target is one file fuzz_X.c with LLVMFuzzerTestOneInput and a corpus of real and of
 * extreme inputs in corpus/X. With libFuzzer it searches; in every other build replay.c runs
 * it over its corpus once. A target ends the program when its property does not hold.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Always returns 0, as libFuzzer wants it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that must hold for every input. */
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

static inline void fuzz_fail(const char *file, int line, const char *text)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
	abort();
}

#endif

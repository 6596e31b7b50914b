/* SPDX-License-Identifier: MIT */
/*
 * kernel: where the kernel's code was at the time of a recording, and whether the running kernel's
 * symbols fit it.
 *
 * Another boot may load a kernel of the same build id at another address; then addresses are
 * relocated to where it is at present. Modules at other addresses, and other kernels, keep their
 * addresses and get no names from the running kernel.
 *
 * Source: tools/perf/Documentation/perf.data-file-format.txt; proc(5), /proc/modules.
 */
#ifndef PERF_KERNEL_H
#define PERF_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "model/profile.h"
#include "perf/code_address.h"
#include "perf/record.h"

/* What is known of the kernel of a recording. */
struct kernel_id {
	const unsigned char *build_id; /* [0..build_id_len) */
	size_t build_id_len;           /* 0: unknown */
	const char *release, *host;    /* "6.1.0-18-amd64", "node1"; "": unknown */
};

struct kernel;

/* root: "" or a folder that has proc/ and sys/. NULL: out of memory. */
struct kernel *kernel_new(struct profile *p, const struct kernel_id *id,
			  const char *root) MUST_CHECK;
void kernel_free(struct kernel *k);

/* An MMAP record of the kernel, a module. 0 or -ENOMEM. */
int kernel_add_map(struct kernel *k, const struct record_mmap *m) MUST_CHECK;
/* Code that came or went: BPF programs, trampolines. 0 or -ENOMEM. */
int kernel_add_symbol(struct kernel *k, const struct record_ksymbol *s) MUST_CHECK;

struct code_address kernel_locate(struct kernel *k, uint64_t address);

#endif

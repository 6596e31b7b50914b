/* SPDX-License-Identifier: MIT */
/*
 * akaros: traces of the sampling profiler of Akaros, and of `auger control`.
 *
 * Read are both forms that its kernel had. Until October 2015, what the file kpoprofile
 * gives: 64-bit words, little-endian, without a header, of each sample
 *
 *	0xee | 1 | 0 (16 bits) | core (16) | 0 (8) | N (8)     from the top bit down
 *	nanoseconds since the start of the machine
 *	N addresses: of the interrupted code, then return addresses, the caller first
 *
 * in blocks of one core each; older records {pc, nanoseconds | k, k addresses} in between are
 * read, too. And from then on records "type size bytes" (akaros_records.h). What is damaged is
 * skipped to the next whole sample and logged by LOG_WARN.
 *
 * The types are samples/count and cpu/nanoseconds. A trace does not have its period: it is the
 * median of the times between samples of one core. Cores that differ keep their own, and the
 * profile has no period then. The core is the label "cpu". Addresses from 2^63 on are in the
 * mapping AKAROS_KERNEL; those of processes are in none unless the trace has it. Address 0
 * is a frame "[null]".
 *
 * Written is the older form: of each sample as many records as it counts, at even times.
 *
 * Source: kern/src/oprofile/cpu_buffer.c, tools/profile/op2.go and
 * kern/include/ros/profiler_records.h of github.com/brho/akaros, 2014 to 2016.
 */
#ifndef FORMAT_AKAROS_AKAROS_H
#define FORMAT_AKAROS_AKAROS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "format/akaros/trace.h"
#include "format/format.h"
#include "model/profile.h"

extern const struct format format_akaros;

/* Appends a sample of the older form. pcs: [count], at most AKAROS_MAX_FRAMES. */
void akaros_put_sample(struct buf *out, uint32_t core, uint64_t ns, const uint64_t *pcs,
		       size_t count);

bool akaros_detect(const unsigned char *data, size_t len);

/* -EINVAL: bytes that hold no sample at all. */
int akaros_read(struct profile *p, const unsigned char *data, size_t len, struct err *e) MUST_CHECK;

/* -EINVAL: a value is negative. -EOVERFLOW: it would be of more than AKAROS_MAX_BYTES. */
#define AKAROS_MAX_BYTES ((uint64_t)256 << 20)
int akaros_write(const struct profile *p, struct buf *out, struct err *e) MUST_CHECK;

/*
 * What op2, the converter of 2014, makes of a trace, word for word but for the order of the
 * stacks, which it leaves to chance: addresses cut to 32 bits, the period in nanoseconds
 * where microseconds belong. -EINVAL: no sample, where op2 divides by zero.
 */
int akaros_op2(const unsigned char *data, size_t len, struct buf *out, struct err *e) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * akaros_records: the traces of Akaros from October 2015 on.
 *
 * A stream of records, each LEB128 type, LEB128 size, and so many bytes, packed, little-endian:
 *
 *	1 kernel sample   [info 8] ns 8 [pid 4] core 2 n 2 pcs 8n
 *	2 user sample     [info 8] ns 8 pid 4 core 2 n 2 pcs 8n
 *	3 mapping         ns 8 address 8 size 8 offset 8 pid 4 path NUL
 *	4 new process     ns 8 pid 4 path NUL
 *
 * Fields in brackets came with later revisions. No record states its revision; the size identifies
 * it. Other types are skipped.
 */
#ifndef FORMAT_AKAROS_RECORDS_H
#define FORMAT_AKAROS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"
#include "model/profile.h"

bool akaros_records_detect(const unsigned char *data, size_t len);

int akaros_records_read(struct profile *p, const unsigned char *data, size_t len,
			struct err *e) MUST_CHECK;

#endif

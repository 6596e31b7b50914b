/* SPDX-License-Identifier: MIT */
/*
 * procio: what a process read and wrote, and the memory that it had.
 *
 * Source: proc(5), /proc/PID/io and status.
 */
#ifndef TARGET_PROCIO_H
#define TARGET_PROCIO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* In bytes and calls; with the children that were waited for. */
struct procio {
	bool has_value;
	int64_t read_chars, write_chars; /* by read(2) and write(2), from wherever */
	int64_t read_calls, write_calls;
	int64_t read_bytes, write_bytes; /* from and to storage; written: made dirty */
};

/* process: "self" or its number. Returns how many bytes were read for it: of our own, they count
 * from the next time on. 0: it is not told. */
int64_t procio_read(const char *process, struct procio *ret);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * job: CASE DIRECTORY
 * A program that works with files of DIRECTORY in one of many ways until SIGTERM, and then tells
 * what must be there: "records LANE COUNT FILE" (each record of the lane, in order, is in the
 * file), "sum HEX FILE" (of all its bytes), "gap_us N" (the longest time it did not get on), and
 * "wrong REASON" for what it saw itself. Says "ready" when it is under way.
 */
#ifndef TESTS_RELOCATE_JOB_H
#define TESTS_RELOCATE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD 16 /* bytes: the lane, 14 digits, a newline */

struct job_case {
	const char *name;
	void (*run)(void);
};
extern const struct job_case write_cases[], share_cases[], other_cases[]; /* end with NULL */

bool going(void); /* until SIGTERM; also notes the time, and rests a little */
bool stopping(void);
void ready(void); /* once, when all is set up */

/* Writes the next record of a lane, of which *count are written. */
void put(int fd, char lane, unsigned *count);
void make_record(char record[RECORD + 1], char lane, unsigned count);

void say_records(char lane, unsigned count, const char *file);
void say_sum(const void *bytes, size_t len, const char *file);
void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A failed call ends the job. */
int must(int result, const char *what);
int make(const char *name, int flags); /* open with O_CREAT, or end */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * job: CASE DIRECTORY. Works with files of DIRECTORY in one of many ways until SIGTERM.
 *
 * At its end it prints what must exist: "records LANE COUNT FILE" (FILE has each record of the
 * lane, in order), "sum HEX FILE" (of all bytes), "gap_us N" (the longest time without progress),
 * and "wrong REASON" for errors that it saw. It prints "ready" when it has started.
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

bool going(void); /* false after SIGTERM; also measures gaps, and sleeps briefly */
bool stopping(void);
void ready(void); /* call once, after the setup */

/* Writes the next record of a lane, which has *count records. */
void put(int fd, char lane, unsigned *count);
void make_record(char record[RECORD + 1], char lane, unsigned count);

void say_records(char lane, unsigned count, const char *file);
void say_sum(const void *bytes, size_t len, const char *file);
void wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A failed call ends the job. */
int must(int result, const char *what);
int make(const char *name, int flags); /* opens with O_CREAT, or ends the job */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * answers: what storage said a user may do with a file, for as long as that is valid.
 *
 * An answer is for one set of credentials and one version of one file: after a change of its
 * permissions its ctime is another. The table has a fixed size, of which only what was used takes
 * memory: at most 1.2 MiB, and the credentials. An answer may be forgotten at any time.
 *
 * Any thread may call all functions but answers_new and answers_free.
 */
#ifndef CACHEFS_RIGHTS_ANSWERS_H
#define CACHEFS_RIGHTS_ANSWERS_H

#include <stdint.h>
#include <sys/stat.h>

#include "cachefs/rights/credentials.h"

#define ANSWERS_MAX 16384

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

struct answers;

struct answers *answers_new(void) MUST_CHECK; /* NULL: out of memory */
void answers_free(struct answers *t);         /* NULL is allowed */

/* wanted: R_OK, W_OK and X_OK of access(2). now_ns: CLOCK_MONOTONIC. */
enum answer answers_find(struct answers *t, const struct credentials *who, const struct stat *attr,
			 int wanted, int64_t now_ns) MUST_CHECK;

/* All of wanted was granted; or not all of it, which tells nothing of its parts. */
void answers_put(struct answers *t, struct credentials *who, const struct stat *attr, int wanted,
		 bool is_granted, int64_t expires_ns);

void answers_clear(struct answers *t); /* NULL is allowed */

#endif

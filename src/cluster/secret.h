/* SPDX-License-Identifier: MIT */
/*
 * secret: the secret of a job, which its nodes prove to each other.
 *
 * Who has the secret belongs to the job, so a file with it must be of this process's user and
 * readable by nobody else.
 */
#ifndef CLUSTER_SECRET_H
#define CLUSTER_SECRET_H

#include <stddef.h>

#include "base/err.h"
#include "base/macros.h"

#define SECRET_BYTES 32

struct secret {
	unsigned char bytes[SECRET_BYTES];
};

/* Overwrites it: not optimized away. */
void secret_fini(struct secret *s);

/* A new one. -errno: the kernel has no random bytes. */
int secret_make(struct secret *ret, struct err *e) MUST_CHECK;

/* -EACCES: it is a link, another user's, or others may read it; -EINVAL: not 32 bytes. */
int secret_load(const char *path, struct secret *ret, struct err *e) MUST_CHECK;

/* Writes a new one to a new file of mode 0600; -EEXIST. */
int secret_create(const char *path, struct err *e) MUST_CHECK;

/* Random bytes for nonces and epochs. -errno. */
int secret_random(void *ret, size_t len) MUST_CHECK;

#endif

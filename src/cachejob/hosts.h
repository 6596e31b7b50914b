/* SPDX-License-Identifier: MIT */
/* hosts: the hosts of a job in their order, from a list or from a launcher's file. */
#ifndef CACHEJOB_HOSTS_H
#define CACHEJOB_HOSTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

#define HOSTS_NAME_MAX 255

/* Each once. All zero: none. */
struct hosts {
	char **names; /* [count]; owned */
	size_t count, cap;
};
void hosts_fini(struct hosts *h);

/* -EINVAL: a name has other characters than letters, digits, '.', '-' and '_', or begins with a
 * '-'; -ENOMEM. A name that is there already is not added again. */
int hosts_add(struct hosts *h, const char *name, size_t len, struct err *e) MUST_CHECK;

/* "a,b,c". */
int hosts_parse(struct hosts *h, const char *text, struct err *e) MUST_CHECK;

/* A file with the name first in each line, as of PBS_NODEFILE, Open MPI's hostfile, and Copper's
 * address book; empty lines and those with '#' are skipped. */
int hosts_read(struct hosts *h, const char *path, struct err *e) MUST_CHECK;

/* The position of this host in the file, by its name up to the first '.', and how many there are.
 * -ENOENT: it is not in it. */
int hosts_find_self(const char *path, uint64_t *ret_rank, uint64_t *ret_count,
		    struct err *e) MUST_CHECK;

#endif

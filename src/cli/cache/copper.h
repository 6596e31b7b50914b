/* SPDX-License-Identifier: MIT */
/* copper: command lines that were written for Copper's cu_fuse, in our own words. */
#ifndef CLI_CACHE_COPPER_H
#define CLI_CACHE_COPPER_H

#include "base/err.h"

struct copper {
	int argc;
	char **argv;      /* [argc], NULL behind; owned, and the words, too */
	const char *view; /* of -vpath; NULL: none */
};

/* Words that are not Copper's stay as they are. Fails with wrong usage when a value lacks. */
int copper_words(int argc, char **argv, struct copper *ret, struct err *e) MUST_CHECK;
void copper_fini(struct copper *c);

#endif

/* SPDX-License-Identifier: MIT */
/* copper: translates command lines of Copper's cu_fuse into our options. */
#ifndef CLI_CACHE_COPPER_H
#define CLI_CACHE_COPPER_H

#include <stdbool.h>

#include "base/err.h"

struct copper {
	int argc;
	char **argv;       /* [argc], followed by NULL; owned, with its strings */
	const char *view;  /* the value of -vpath; NULL: none */
	const char *hosts; /* the value of -facility_address_book; NULL: none */
	bool is_copper;    /* a word of theirs came that is not also libfuse's */
};

/* Other words stay as they are. Wrong usage: a value is missing. */
int copper_translate(int argc, char **argv, struct copper *ret, struct err *e) MUST_CHECK;
void copper_fini(struct copper *c);

#endif

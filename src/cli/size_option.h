/* SPDX-License-Identifier: MIT */
/* size_option: a number of bytes as the value of an option: "512M", "64k". */
#ifndef CLI_SIZE_OPTION_H
#define CLI_SIZE_OPTION_H

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

/* Powers of 1024; 0 is allowed. option: its long name. Else wrong usage. */
int size_option_parse(const char *option, const char *text, uint64_t *ret,
		      struct err *e) MUST_CHECK;

#endif

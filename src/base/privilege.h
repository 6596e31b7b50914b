/* SPDX-License-Identifier: MIT */
/* privilege: the capabilities and limits of this process. */
#ifndef BASE_PRIVILEGE_H
#define BASE_PRIVILEGE_H

#include <stdint.h>

/* Its effective capabilities, as bits; all where they cannot be read. Source: capabilities(7). */
uint64_t privilege_capabilities(void);

/* It may have as many open files as its hard limit has. */
void privilege_raise_open_files(void);

#endif

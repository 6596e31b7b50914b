/* SPDX-License-Identifier: MIT */
/* privilege: the capabilities of this process. */
#ifndef BASE_PRIVILEGE_H
#define BASE_PRIVILEGE_H

#include <stdint.h>

/* Its effective capabilities, as bits; all where they cannot be read. Source: capabilities(7). */
uint64_t privilege_capabilities(void);

#endif

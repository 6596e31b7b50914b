/* SPDX-License-Identifier: MIT */
/* limits: what bounds the work on a hostile name, in all manglings. */
#ifndef SYMBOL_DEMANGLE_LIMITS_H
#define SYMBOL_DEMANGLE_LIMITS_H

#include <stddef.h>

#define DEMANGLE_MAX ((size_t)1 << 16) /* bytes of a readable name */

#endif

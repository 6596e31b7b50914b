/* SPDX-License-Identifier: MIT */
/* limits: bounds on the work for a hostile name, in all manglings. */
#ifndef SYMBOL_DEMANGLE_LIMITS_H
#define SYMBOL_DEMANGLE_LIMITS_H

#include <stddef.h>

#define DEMANGLE_MAX ((size_t)1 << 16) /* bytes of a readable name */

#endif

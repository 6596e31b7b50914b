/* SPDX-License-Identifier: MIT */
/* macros: macros for every file. None of them returns, jumps or changes its arguments. */
#ifndef BASE_MACROS_H
#define BASE_MACROS_H

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CLEANUP(fn) __attribute__((cleanup(fn))) /* run fn(&var) when var leaves its scope */

#endif

/* SPDX-License-Identifier: MIT */
/* macros: those that every file of the library may use. */
#ifndef STAGE_MACROS_H
#define STAGE_MACROS_H

#define EXPORT __attribute__((visibility("default")))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MUST_CHECK __attribute__((warn_unused_result))
#define CLEANUP(fn) __attribute__((cleanup(fn))) /* run fn(&var) when var leaves its scope */
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* For fields that one thread writes while reporting threads read them. The order makes the odd
 * count of a change visible before the change itself. */
#define LOAD_ACQUIRE(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define STORE_RELEASE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

#endif

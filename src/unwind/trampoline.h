/* SPDX-License-Identifier: MIT */
/*
 * trampoline: the unwinding rule of code that CPython copies for each function when it is run with
 * -X perf. No table describes it; all code of such a mapping is copies of one template.
 *
 * Source: CPython 3.12 to 3.14, Python/asm_trampoline.S, of x86-64.
 */
#ifndef UNWIND_TRAMPOLINE_H
#define UNWIND_TRAMPOLINE_H

#include <stddef.h>

#include "unwind/rule.h"

#define UNWIND_TRAMPOLINE_BYTES 32 /* of a template, at most */

/* bytes: [0..len), where a mapping of code begins. The rule behind the call in a trampoline,
 * static; NULL: it is other code. */
const struct unwind_rule *unwind_trampoline_rule(const unsigned char *bytes, size_t len);

#endif

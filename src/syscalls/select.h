/* SPDX-License-Identifier: MIT */
/*
 * select: which calls are reported: by name and class, as strace's -e trace=, and by outcome.
 * Source: strace(1).
 */
#ifndef SYSCALLS_SELECT_H
#define SYSCALLS_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"
#include "syscalls/names.h"

/* All zero: all calls. */
struct syscall_selection {
	bool has_names, is_failed; /* is_failed: only those that failed */
	int64_t longer_ns;         /* only those that took longer; 0: all */
	bool names[SYSCALL_NAMES], names_32[SYSCALL_NAMES];
};

/*
 * words: names and classes (%file, %desc, %network, %process, %memory, %signal, %ipc), separated by
 * commas; "!" before them: all others. Added to what is selected. -EINVAL: no such name.
 */
int syscall_select(struct syscall_selection *s, const char *words, struct err *e) MUST_CHECK;

bool syscall_is_selected_name(const struct syscall_selection *s, uint32_t nr);
/* error: errno, 0: none. ns: how long it took; negative: unknown, which is not longer. */
bool syscall_is_selected(const struct syscall_selection *s, uint32_t nr, int32_t error, int64_t ns);

#endif

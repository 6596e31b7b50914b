/* SPDX-License-Identifier: MIT */
/*
 * kallsyms: names for kernel addresses, of the kernel itself, its modules and BPF programs.
 *
 * Source: proc(5), /proc/kallsyms: "ADDRESS TYPE NAME[\t[MODULE]]"; the kernel gives 0 for
 * all addresses to those it does not trust (kernel.kptr_restrict).
 */
#ifndef SYMBOL_KALLSYMS_H
#define SYMBOL_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

struct kernel_symbol {
	const char *name;   /* NULL: none */
	const char *module; /* "ext4", "bpf"; NULL: the kernel itself */
};

/* wanted: [count], ascending, no two equal. ret: [count], pointing into text, which the
 * caller ends with buf_fini. -EACCES when the kernel hides its addresses; else fails as
 * text_load does. */
int kallsyms_find(const char *path, const uint64_t *wanted, size_t count, struct buf *text,
		  struct kernel_symbol *ret, struct err *e) MUST_CHECK;

#endif

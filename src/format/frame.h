/* SPDX-License-Identifier: MIT */
/* frame: the names that writers of other formats give to code with and without a symbol. */
#ifndef FORMAT_FRAME_H
#define FORMAT_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/strtab.h"
#include "model/profile.h"

/* The name of a function for people, else that of the symbol table; may be empty. */
struct str frame_function_name(const struct profile *p, uint32_t function);

/* Appends what code of this mapping is called when its function is not known:
 * "[libc.so.6]", "[kernel.kallsyms]", "[unknown]". */
void frame_put_module_name(const struct profile *p, uint32_t mapping, struct buf *out);

/* Does that line of l, or l when it has none, have a name of its own? */
bool frame_has_name(const struct profile *p, const struct location *l, uint32_t line);

/* Appends the name of a line of l, [0..line_count), or of l when it has none. */
void frame_put_name(const struct profile *p, const struct location *l, uint32_t line,
		    struct buf *out);

#endif

/* SPDX-License-Identifier: MIT */
/* sacct_field: the fields of a line of "sacct -P", separated by '|'. Source: sacct(1), Slurm 22.05.
 */
#ifndef USAGE_SLURM_SACCT_FIELD_H
#define USAGE_SLURM_SACCT_FIELD_H

#include <stdbool.h>
#include <string.h>

#include "base/str.h"

/* Takes the next field off *line; false: no more. *is_over starts as false. */
static inline bool sacct_next_field(struct str *line, bool *is_over, struct str *ret)
{
	const char *bar;

	if (*is_over)
		return false;
	bar = line->len ? memchr(line->ptr, '|', line->len) : NULL;
	*is_over = !bar;
	*ret = (struct str){ line->ptr, bar ? (size_t)(bar - line->ptr) : line->len };
	line->ptr += ret->len + (bar != NULL);
	line->len -= ret->len + (bar != NULL);
	return true;
}

#endif

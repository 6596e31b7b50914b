/* SPDX-License-Identifier: MIT */
/* stack_text: adds a sample to a profile by the text of its stack, "main;work;leaf". */
#ifndef TESTS_UNIT_STACK_TEXT_H
#define TESTS_UNIT_STACK_TEXT_H

#include <string.h>

#include "model/profile.h"

static inline void add_stack(struct profile *p, const char *folded, int64_t value)
{
	uint32_t node = 0;

	while (*folded) {
		size_t len = strcspn(folded, ";");

		node = profile_push(p, node, profile_name_location(p, folded, len));
		folded += len + (folded[len] == ';');
	}
	profile_add(p, node, 0, &value);
}

#endif

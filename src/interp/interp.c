/* SPDX-License-Identifier: MIT */
#include "interp/interp.h"

enum interp_kind interp_kind_of(const struct interp_file *f, uint64_t address)
{
	size_t low = 0, high = f->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->count && f->ranges[low].start <= address ? f->ranges[low].kind
								 : INTERP_OTHER;
}

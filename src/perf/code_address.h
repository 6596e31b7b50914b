/* SPDX-License-Identifier: MIT */
/* code_address: an address of code as the profile knows it: in a mapping, or only by a name. */
#ifndef PERF_CODE_ADDRESS_H
#define PERF_CODE_ADDRESS_H

#include <stdint.h>

struct code_address {
	uint32_t mapping; /* id */
	uint64_t address; /* as struct mapping defines it */
	uint32_t name;    /* string id, not 0: only a name, mapping and address are 0 */
};

#endif

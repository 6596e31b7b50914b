/* SPDX-License-Identifier: MIT */
#include "unwind/rule.h"

#include <elf.h>
#include <stddef.h>

#include "base/macros.h"

static const struct unwind_arch arches[] = {
	{ EM_X86_64,
	  8,
	  UNWIND_X86_SP,
	  { UNWIND_X86_RA, UNWIND_X86_BP, UNWIND_X86_BX },
	  true,
	  UINT32_MAX << 12 | 1U << UNWIND_X86_BX | 1U << UNWIND_X86_BP,
	  UINT64_MAX },
	{ EM_386,
	  4,
	  UNWIND_I386_SP,
	  { UNWIND_I386_RA, UNWIND_I386_BP, UNWIND_I386_BX },
	  true,
	  1U << UNWIND_I386_BX | 1U << UNWIND_I386_BP | 3U << 6, /* and esi, edi */
	  UINT32_MAX },
	/* x19 as the second one is as good as any: no code is known to need one. Addresses have
	 * 48 bits; above is the signature of pointer authentication, if any, so the CFI that
	 * says whether there is one need not be followed. */
	{ EM_AARCH64,
	  8,
	  UNWIND_ARM64_SP,
	  { UNWIND_ARM64_LR, UNWIND_ARM64_FP, 19 },
	  false,
	  UINT32_MAX << 19,
	  (UINT64_C(1) << 48) - 1 },
};

const struct unwind_arch *unwind_arch_of(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_LEN(arches); i++)
		if (arches[i].machine == machine)
			return &arches[i];
	return NULL;
}

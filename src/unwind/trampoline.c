/* SPDX-License-Identifier: MIT */
#include "unwind/trampoline.h"

#include <string.h>

#include "base/macros.h"

#define ENDBR64 "\xf3\x0f\x1e\xfa"

/* sub $8, %rsp; call *%rcx; add $8, %rsp; ret */
#define WORD "\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3"
/* push %rbp; mov %rsp, %rbp; call *%rcx; pop %rbp; ret */
#define FRAME "\x55\x48\x89\xe5\xff\xd1\x5d\xc3"

/* One word lies between sp and the return address. */
static const struct unwind_rule with_word = {
	.cfa = UNWIND_CFA_SP,
	.save = { [UNWIND_RA] = UNWIND_SAVE_AT_CFA },
	.offset = 16,
	.at = { [UNWIND_RA] = -8 },
};

/* It is rbp. */
static const struct unwind_rule with_frame = {
	.cfa = UNWIND_CFA_SP,
	.save = { [UNWIND_RA] = UNWIND_SAVE_AT_CFA, [UNWIND_FP] = UNWIND_SAVE_AT_CFA },
	.offset = 16,
	.at = { [UNWIND_RA] = -8, [UNWIND_FP] = -16 },
};

static const struct {
	const char *code;
	size_t len;
	const struct unwind_rule *rule;
} templates[] = {
	{ WORD, sizeof WORD - 1, &with_word },
	{ ENDBR64 WORD, sizeof ENDBR64 WORD - 1, &with_word },
	{ FRAME, sizeof FRAME - 1, &with_frame },
	{ ENDBR64 FRAME, sizeof ENDBR64 FRAME - 1, &with_frame },
};

const struct unwind_rule *unwind_trampoline_rule(const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(templates); i++)
		if (len >= templates[i].len &&
		    memcmp(bytes, templates[i].code, templates[i].len) == 0)
			return templates[i].rule;
	return NULL;
}

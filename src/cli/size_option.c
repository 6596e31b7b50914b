/* SPDX-License-Identifier: MIT */
#include "cli/size_option.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int size_option_parse(const char *option, const char *text, uint64_t *ret, struct err *e)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	char *end;
	unsigned long long value;
	unsigned shift = 0;

	errno = 0;
	value = strtoull(text, &end, 10);
	suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
	if (suffix) {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		end++;
	}
	if (errno || *end || text[0] < '0' || text[0] > '9' || value > UINT64_MAX >> shift)
		return err_usage(e, "--%s: '%s' is not a size, such as 512M", option, text);
	*ret = value << shift;
	return 0;
}
